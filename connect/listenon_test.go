package connect

import (
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/weft-fabric/weft/internal/oneport"
)

// listenOnFor has a listener await peers for the length of a test.
func listenOnFor(t *testing.T, below net.Listener, options Options) *Listener {
	t.Helper()
	l, err := ListenOn(below, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := below.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the listener that was given is not closed: %v", err)
		}
	})
	return l
}

func TestSessionsThroughAPortOfSeveral(t *testing.T) {
	port, err := oneport.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { port.Close() })
	ours := newAuthority(t)
	for name, options := range map[string][2]Options{
		"plain": {{}, {}},
		"tls":   {{TLS: ours.config(t, "alice", ours)}, {TLS: ours.config(t, "bob", ours)}},
	} {
		below, err := port.Listener(name)
		if err != nil {
			t.Fatal(err)
		}
		l := listenOnFor(t, below, options[0])
		options[1].Preface = oneport.Preface(name)
		a, b := meetAt(t, l, options[1])
		mustSwap(t, a, b, Card{Step: name}, Card{Step: name})
	}
	_, err = Dial(testContext(t), port.Addr().String(), Options{Preface: oneport.Preface("nobody")})
	if !errors.Is(err, ErrPeerGone) {
		t.Error(err)
	}
}

func TestListenOnRefuses(t *testing.T) {
	if _, err := ListenOn(nil, Options{}); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
	for at, options := range map[string]Options{"0.0.0.0:0": {}, "127.0.0.1:0": {TLS: &tls.Config{}}} {
		below, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ListenOn(below, options); !errors.Is(err, ErrArgument) {
			t.Error(at, err)
		}
		if _, err := below.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("it is not closed: %v", err)
		}
	}
}

// A peer whose certificate is not accepted hears so: its connection is not cut before it has.
func TestWhoIsRejectedHearsSo(t *testing.T) {
	ours, others := newAuthority(t), newAuthority(t)
	below, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	watched := &watchedListener{Listener: below}
	l := listenOnFor(t, watched, Options{TLS: ours.config(t, "alice", ours)})
	bare := ours.config(t, "bob", ours)
	bare.Certificates = nil
	for _, config := range []*tls.Config{others.config(t, "bob", ours), bare} {
		_, err := Dial(testContext(t), l.Address(), Options{TLS: config})
		if !errors.Is(err, ErrRejected) {
			t.Error(err)
		}
	}
	_, err = Dial(testContext(t), l.Address(), Options{TLS: ours.config(t, "bob", others)})
	if err == nil || errors.Is(err, ErrRejected) {
		t.Errorf("%v: it is this end that does not accept the other", err)
	}
	if n := watched.cut.Load(); n > 0 {
		t.Errorf("%d connections were cut", n)
	}
}

// watchedListener counts connections that are closed both ways at once.
type watchedListener struct {
	net.Listener
	cut atomic.Int32
}

func (l *watchedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &watchedConn{TCPConn: c.(*net.TCPConn), cut: &l.cut}, nil
}

type watchedConn struct {
	*net.TCPConn
	cut    *atomic.Int32
	halved bool
}

func (c *watchedConn) CloseWrite() error {
	c.halved = true
	return c.TCPConn.CloseWrite()
}

func (c *watchedConn) Close() error {
	if !c.halved {
		c.cut.Add(1)
	}
	return c.TCPConn.Close()
}
