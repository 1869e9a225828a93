package connect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/internal/leak"
	"github.com/weft-fabric/weft/internal/pause"
)

// maxPending is how many clients of a listener may be greeting, or wait for Accept. More wait in the system's queue.
const maxPending = 128

// Listener waits for peers. Its methods may be called from any goroutine.
type Listener struct {
	listener net.Listener
	remove   func() // takes the socket's file away
	options  *prepared
	handle   leak.Handle
	once     sync.Once // closing

	ctx     context.Context // ends with Close, or when listening fails; its cause says why
	cancel  context.CancelCauseFunc
	ready   chan *Session // greeted
	pending chan struct{} // a slot for each client; its capacity is maxPending
	runs    sync.WaitGroup
	telling sync.Mutex // one OnRefused at a time
}

// Listen waits for peers at an address: "host:port", "[ipv6]:port", "unix:/path" or "unix:@abstract". Port 0 is a free one,
// see Address. The file of a Unix socket whose process has died is replaced. An address that is taken is
// syscall.EADDRINUSE.
func Listen(ctx context.Context, address string, options Options) (*Listener, error) {
	l, err := listen(ctx, address, options)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	l.start()
	return l, nil
}

// ListenOn is Listen with a listener that is there already, one that shares a port with others for instance. It is the
// Listener's from now on, also if ListenOn fails.
func ListenOn(listener net.Listener, options Options) (*Listener, error) {
	if listener == nil {
		return nil, fmt.Errorf("listen: the listener is nil: %w", ErrArgument)
	}
	l, err := listenOn(listener, options)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", text(listener.Addr()), errors.Join(err, ignoreClosed(listener.Close())))
	}
	l.start()
	return l, nil
}

func listenOn(listener net.Listener, options Options) (*Listener, error) {
	l, err := newListener(options)
	if err != nil {
		return nil, err
	}
	if l.options.mustStay() && !isLocal(listener.Addr()) {
		return nil, errExposed
	}
	l.listener, l.remove = listener, func() {}
	return l, nil
}

func (l *Listener) start() {
	l.handle = leak.Opened("connect listener")
	l.runs.Add(1)
	go l.runAccept()
}

func listen(ctx context.Context, address string, options Options) (*Listener, error) {
	if ctx == nil {
		return nil, fmt.Errorf("the context is nil: %w", ErrArgument)
	}
	l, err := newListener(options)
	if err != nil {
		return nil, err
	}
	where, err := parseTarget(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := bound(ctx, l.options.Timeout)
	defer cancel()
	if l.options.mustStay() {
		if where, err = where.loopbackOnly(ctx); err != nil {
			return nil, err
		}
	}
	l.listener, l.remove, err = where.listen(ctx)
	return l, err
}

// newListener is a listener without a socket.
func newListener(options Options) (*Listener, error) {
	checked, err := options.prepare()
	if err != nil {
		return nil, err
	}
	if options.TLS != nil && len(options.TLS.Certificates) == 0 && options.TLS.GetCertificate == nil && options.TLS.GetConfigForClient == nil {
		return nil, fmt.Errorf("Options.TLS has no certificate: %w", ErrArgument)
	}
	l := &Listener{options: checked, ready: make(chan *Session), pending: make(chan struct{}, maxPending)}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	return l, nil
}

// mustStay reports whether a listener must not be reached from other hosts.
func (p *prepared) mustStay() bool { return p.TLS == nil && !p.Plain }

// listen opens the socket. The returned function takes its file away.
func (t target) listen(ctx context.Context) (net.Listener, func(), error) {
	if t.path() != "" {
		return listenFile(ctx, t.path())
	}
	listener, err := new(net.ListenConfig).Listen(ctx, t.network, t.address)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w: stop what listens there, or choose another address", syscall.EADDRINUSE)
	}
	return listener, func() {}, err
}

// Address is where the listener waits, as Dial takes it.
func (l *Listener) Address() string { return text(l.listener.Addr()) }

// Accept returns the next peer that has greeted. It waits until ctx ends; the timeout of Options is for the peers. Peers
// that are turned away are no error: see Options.OnRefused. A peer that had to wait may have left: its first Swap says so.
// Accept fails with ErrClosed after Close.
func (l *Listener) Accept(ctx context.Context) (*Session, error) {
	if ctx == nil {
		return nil, fmt.Errorf("accept on %s: the context is nil: %w", l.Address(), ErrArgument)
	}
	select {
	case s := <-l.ready:
		return s, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("accept on %s: %w", l.Address(), context.Cause(ctx))
	case <-l.ctx.Done():
		return nil, fmt.Errorf("accept on %s: %w", l.Address(), context.Cause(l.ctx))
	}
}

// runAccept takes clients in, one slot each. Close stops it and waits for it.
func (l *Listener) runAccept() {
	defer l.runs.Done()
	for l.takeSlot() {
		conn, err := l.listener.Accept()
		if err != nil {
			<-l.pending
			l.stumble(err)
			continue
		}
		l.runs.Add(1)
		go l.runGreet(conn)
	}
}

// takeSlot waits for room for one more client. It returns false when the listener has ended.
func (l *Listener) takeSlot() bool {
	select {
	case l.pending <- struct{}{}:
		return l.ctx.Err() == nil
	case <-l.ctx.Done():
		return false
	}
}

// stumble waits a moment after an error that will pass, and ends the listener after any other.
func (l *Listener) stumble(err error) {
	err = fmt.Errorf("accept on %s: %w", l.Address(), err)
	if l.ctx.Err() != nil {
		return
	}
	for _, passing := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errors.Is(err, passing) {
			l.refused(err)
			_ = pause.For(l.ctx, 50*time.Millisecond)
			return
		}
	}
	l.cancel(err)
}

// runGreet greets one client and holds it ready for Accept. Close stops it and waits for it; by itself it ends with the
// timeout of the greeting, or when Accept takes the session.
func (l *Listener) runGreet(conn net.Conn) {
	defer l.runs.Done()
	defer func() { <-l.pending }()
	ctx, cancel := context.WithTimeout(l.ctx, l.options.Timeout)
	defer cancel()
	s, err := open(ctx, conn, l.options, listening)
	if err != nil {
		l.refused(fmt.Errorf("%s: %w", client(conn), err))
		return
	}
	select {
	case l.ready <- s:
	case <-l.ctx.Done():
		_ = s.Close()
	}
}

// client names a client that did not get to say who it is. Those on Unix sockets have no address.
func client(conn net.Conn) string {
	if address := conn.RemoteAddr().String(); address != "" && address != "@" {
		return "client " + address
	}
	return "a client"
}

func (l *Listener) refused(err error) {
	if l.options.OnRefused == nil || l.ctx.Err() != nil {
		return
	}
	l.telling.Lock()
	defer l.telling.Unlock()
	l.options.OnRefused(err)
}

// Close ends the listener, and sessions that nobody has accepted. Sessions that Accept has returned go on. A second Close
// does nothing.
func (l *Listener) Close() (err error) {
	l.once.Do(func() {
		l.cancel(ErrClosed)
		l.remove()
		err = ignoreClosed(l.listener.Close())
		l.runs.Wait()
		l.handle.Closed()
	})
	return err
}
