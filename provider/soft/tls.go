package soft

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// checkTLS refuses a configuration with which the two ends would not know each other.
func checkTLS(c *tls.Config) error {
	switch {
	case c == nil:
		return nil
	case len(c.Certificates) == 0 && c.GetCertificate == nil:
		return errors.New("TLS without a certificate of its own: set Certificates, both ends must show one")
	case c.ClientCAs == nil && c.RootCAs == nil:
		return errors.New("TLS without certificates to trust: set RootCAs, and ClientCAs if those are others")
	case c.InsecureSkipVerify && c.VerifyConnection == nil && c.VerifyPeerCertificate == nil:
		return errors.New("TLS with InsecureSkipVerify would trust everybody: remove it, or verify by yourself")
	}
	return nil
}

// mutualTLS is the device's configuration with what it may not leave open.
func mutualTLS(c *tls.Config) *tls.Config {
	c = c.Clone()
	c.ClientAuth = tls.RequireAndVerifyClientCert
	if c.ClientCAs == nil {
		c.ClientCAs = c.RootCAs
	}
	if c.MinVersion == 0 {
		c.MinVersion = tls.VersionTLS13
	}
	return c
}

// serveTLS makes c the server's end of TLS, if the device wants that.
func (d *Device) serveTLS(c net.Conn) (net.Conn, error) {
	if d.config.TLS == nil {
		return c, nil
	}
	t := tls.Server(&transport{Conn: c}, mutualTLS(d.config.TLS))
	if err := t.Handshake(); err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return t, nil
}

// dialTLS makes c the client's end of TLS, if the device wants that. The peer must be who its address says.
func (d *Device) dialTLS(ctx context.Context, c net.Conn, a address) (net.Conn, error) {
	if d.config.TLS == nil {
		return c, nil
	}
	config := mutualTLS(d.config.TLS)
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(a.tcp)
		if err != nil {
			return nil, fmt.Errorf("TLS: the name of %s is not known: set ServerName", a.tcp)
		}
		config.ServerName = host
	}
	t := tls.Client(&transport{Conn: c}, config)
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return t, nil
}

// takePipe takes the socket of a connection into our own hands.
func takePipe(c net.Conn, timeout time.Duration) (pipe, int, error) {
	t, secure := c.(*tls.Conn)
	below := c
	if secure {
		below = t.NetConn().(*transport).Conn
	}
	fd, err := takeSocket(below, timeout)
	if err != nil {
		return nil, 0, err
	}
	s := &socket{fd: fd}
	if !secure {
		return s, fd, nil
	}
	under := t.NetConn().(*transport)
	under.socket = s
	return &tlsPipe{conn: t, under: under}, fd, nil
}

// transport is what TLS runs over: first a blocking connection, for the handshake, then a socket that never blocks.
// Package tls can be told that there is nothing to read, but not that there is no room to write: so what the socket does
// not take is kept, and package tls is not called before that has gone.
type transport struct {
	net.Conn
	socket *socket // nil during the handshake
	kept   []byte  // ciphertext that the socket has not taken
	piece  [1]iovec
}

// maxSecret is how much plaintext is encrypted ahead of the socket.
const maxSecret = 256 << 10

func (t *transport) Read(b []byte) (int, error) {
	if t.socket == nil {
		return t.Conn.Read(b)
	}
	t.piece[0] = iovecOf(b)
	n, errno := t.socket.readv(t.piece[:])
	switch {
	case errno == eagain:
		return 0, wouldBlock{}
	case errno != 0:
		return 0, errno
	case n == 0 && len(b) > 0:
		return 0, io.EOF
	}
	return n, nil
}

func (t *transport) Write(b []byte) (int, error) {
	if t.socket == nil {
		return t.Conn.Write(b)
	}
	t.kept = append(t.kept, b...)
	return len(b), nil
}

// flush writes what was kept, and reports whether all has gone.
func (t *transport) flush() (bool, syscall.Errno) {
	done := 0
	for done < len(t.kept) {
		t.piece[0] = iovecOf(t.kept[done:])
		n, errno := t.socket.writev(t.piece[:])
		if errno != 0 {
			t.kept = t.kept[:copy(t.kept, t.kept[done:])]
			return false, errno
		}
		done += n
	}
	t.kept = t.kept[:0]
	return true, 0
}

// wouldBlock is the error after which package tls lets us try again.
type wouldBlock struct{}

func (wouldBlock) Error() string   { return "would block" }
func (wouldBlock) Timeout() bool   { return true }
func (wouldBlock) Temporary() bool { return true }

// tlsPipe is a pipe that encrypts. It copies every byte, and package tls allocates.
type tlsPipe struct {
	conn  *tls.Conn
	under *transport
}

// readv reads records until there are no more: what package tls holds decrypted, the kernel does not know of.
func (t *tlsPipe) readv(into []iovec) (total int, errno syscall.Errno) {
	for i := range into {
		for b := into[i].bytes(); len(b) > 0; {
			n, err := t.conn.Read(b)
			total += n
			b = b[n:]
			if err != nil {
				return total, t.failure(total, err)
			}
		}
	}
	return total, 0
}

// failure is the error of a read.
func (t *tlsPipe) failure(total int, err error) syscall.Errno {
	switch {
	case errors.Is(err, wouldBlock{}):
		return ifNothing(total, eagain)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return 0
	case errors.Is(err, syscall.ECONNRESET):
		return ifNothing(total, syscall.ECONNRESET)
	}
	return ifNothing(total, syscall.EPROTO)
}

// writev encrypts a part, and goes on when the socket has taken that.
func (t *tlsPipe) writev(from []iovec) (total int, errno syscall.Errno) {
	for i := range from {
		for b := from[i].bytes(); len(b) > 0; {
			if clean, errno := t.under.flush(); !clean {
				return total, ifNothing(total, errno)
			}
			n, err := t.conn.Write(b[:min(len(b), maxSecret)])
			total += n
			b = b[n:]
			if err != nil {
				return total, ifNothing(total, syscall.EPROTO)
			}
		}
	}
	t.clean()
	return total, 0
}

// ifNothing is the error of a call that has moved total bytes: if it moved some, the next call will say.
func ifNothing(total int, errno syscall.Errno) syscall.Errno {
	if total > 0 {
		return 0
	}
	return errno
}

func (t *tlsPipe) clean() bool {
	clean, errno := t.under.flush()
	return clean || errno != 0 && errno != eagain // the next write will say what is wrong
}

func (t *tlsPipe) finish() {
	_ = t.conn.CloseWrite()
	t.clean()
	t.under.socket.finish()
}

func (t *tlsPipe) close() { t.under.socket.close() }
