package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/internal/leak"
)

// Session is a connection between two ends that have greeted each other. One goroutine at a time may Swap; the rest may
// be called from any.
type Session struct {
	wire        wire
	timeout     time.Duration
	peer        Identity
	common      []Offer // what both ends can use; the first is agreed on
	credentials *Credentials
	handle      leak.Handle
	closed      atomic.Bool

	swapping sync.Mutex
	round    uint32 // of the last swap; guarded by swapping
	broken   error  // what ended the session; guarded by swapping
}

// Credentials is what the kernel knows of a peer on a Unix socket.
type Credentials struct {
	Process int32 // its process id, when it connected
	User    uint32
	Group   uint32
}

// side says which end of a connection this is, because the listener's order of providers counts.
type side bool

const (
	dialling  side = false
	listening side = true
)

// open greets the peer and makes a session of the connection, or closes it.
func open(ctx context.Context, conn net.Conn, options *prepared, which side) (*Session, error) {
	raw := conn
	conn, err := options.secure(ctx, conn, which)
	switch {
	case err != nil && which == listening:
		return nil, errors.Join(err, ignoreClosed(wire{raw}.linger())) // package tls has told the peer what is wrong
	case err != nil:
		return nil, errors.Join(err, ignoreClosed(raw.Close()))
	}
	s := &Session{wire: wire{conn}, timeout: options.Timeout}
	if err := s.greet(ctx, &options.greeting, which); err != nil {
		return nil, err
	}
	s.credentials = credentials(raw)
	s.handle = leak.Opened("connect session")
	return s, nil
}

// secure wraps the connection in TLS if that is asked for.
func (p *prepared) secure(ctx context.Context, conn net.Conn, which side) (net.Conn, error) {
	if p.TLS == nil {
		return conn, nil
	}
	secured := tls.Client(conn, p.TLS)
	if which == listening {
		secured = tls.Server(conn, p.TLS)
	}
	if err := secured.HandshakeContext(ctx); err != nil {
		err = explain(ctx, err)
		return nil, fmt.Errorf("TLS handshake: %w%s", err, otherwise(err))
	}
	return secured, nil
}

// otherwise is a guess for a handshake that has not ended in a word about certificates.
func otherwise(err error) string {
	var nonsense tls.RecordHeaderError
	if errors.As(err, &nonsense) || errors.Is(err, ErrPeerGone) || errors.Is(err, ErrSilent) {
		return "; does the peer speak TLS, and know our certificate authority?"
	}
	return ""
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// greet says who we are, hears who the peer is, and agrees on a provider.
func (s *Session) greet(ctx context.Context, mine *greeting, which side) error {
	var theirs greeting
	err := s.wire.exchange(ctx, mine.encode(), func() (err error) {
		theirs, err = readGreeting(s.wire.conn)
		return err
	})
	if err == nil {
		s.peer = theirs.identity
		err = s.agree(mine, &theirs, which)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrVersion), errors.Is(err, ErrMalformed):
		_ = s.wire.linger() // the peer shall see our greeting, and know what is wrong
	default:
		_ = s.wire.conn.Close()
	}
	if errors.Is(err, ErrPeerGone) {
		err = fmt.Errorf("%w before it said who it is%s", err, s.tlsHint())
	}
	return err
}

// tlsHint is for a plain end: one that expects TLS leaves without a word.
func (s *Session) tlsHint() string {
	if _, ok := s.TLS(); ok {
		return ""
	}
	return "; does it want TLS?"
}

func (s *Session) agree(mine, theirs *greeting, which side) error {
	listener, dialler := theirs, mine
	if which == listening {
		listener, dialler = mine, theirs
	}
	s.common = common(listener, dialler)
	if len(s.common) == 0 && len(mine.offers)+len(theirs.offers) > 0 {
		return fmt.Errorf("%w with %v: this end offers %s; the peer offers %s", ErrNoCommonProvider, theirs.identity,
			describe(mine.offers), describe(theirs.offers))
	}
	return nil
}

// Peer is who the other end says it is.
func (s *Session) Peer() Identity { return s.peer }

// Agreed is the provider that both ends use, with limits that hold for both: the smaller numbers, the longer timeout.
func (s *Session) Agreed() Offer {
	if len(s.common) == 0 {
		return Offer{} // neither end offers anything
	}
	return s.common[0]
}

// Others are what both ends could use instead, the best first, if what was agreed on turns out not to lead to the peer.
// Both ends see the same.
func (s *Session) Others() []Offer {
	if len(s.common) == 0 {
		return nil
	}
	return slices.Clone(s.common[1:])
}

// Credentials is what the kernel knows of the peer, if the session runs over a Unix socket.
func (s *Session) Credentials() (Credentials, bool) {
	if s.credentials == nil {
		return Credentials{}, false
	}
	return *s.credentials, true
}

// TLS is what the handshake has established, the peer's certificates among it, if the session uses TLS.
func (s *Session) TLS() (tls.ConnectionState, bool) {
	if secured, ok := s.wire.conn.(*tls.Conn); ok {
		return secured.ConnectionState(), true
	}
	return tls.ConnectionState{}, false
}

// LocalAddr is this end of the connection: an address at which the peer can reach this host.
func (s *Session) LocalAddr() net.Addr { return s.wire.conn.LocalAddr() }

// RemoteAddr is the peer's end of the connection.
func (s *Session) RemoteAddr() net.Addr { return s.wire.conn.RemoteAddr() }

func (s *Session) String() string { return "session with " + s.peer.String() }

// Swap gives mine to the peer and returns the peer's card, when both ends have called it: so it is a barrier too. It ends
// at the deadline of ctx, or after Options.Timeout if ctx has none. Any error but ErrArgument and ErrBusy ends the session.
func (s *Session) Swap(ctx context.Context, mine Card) (Card, error) {
	if ctx == nil {
		return Card{}, s.fail("swap: the context is nil: %w", ErrArgument)
	}
	if err := mine.check(); err != nil {
		return Card{}, s.fail("swap: %w: %w", err, ErrArgument)
	}
	if !s.swapping.TryLock() {
		return Card{}, s.fail("swap: %w", ErrBusy)
	}
	defer s.swapping.Unlock()
	if s.broken != nil {
		return Card{}, s.broken
	}
	theirs, err := s.swap(ctx, mine)
	if err == nil {
		return theirs, nil
	}
	if s.closed.Load() {
		err = ErrClosed // whatever the connection says then
	}
	s.broken = s.fail("swap %d%s: %w", s.round, quoted(mine.Step), err)
	s.part(err)
	return Card{}, s.broken
}

func (s *Session) swap(ctx context.Context, mine Card) (theirs Card, err error) {
	ctx, cancel := bound(ctx, s.timeout)
	defer cancel()
	s.round++
	err = s.wire.exchange(ctx, cardFrame(s.round, &mine), func() (err error) {
		theirs, err = readCard(s.wire.conn, s.round)
		return err
	})
	if err == nil && theirs.Step != mine.Step {
		err = fmt.Errorf("%w: this end swaps %q, the peer %q", ErrOutOfStep, mine.Step, theirs.Step)
	}
	return theirs, err
}

// part ends the session after an error. A peer that sent nonsense is told.
func (s *Session) part(err error) {
	if errors.Is(err, ErrMalformed) {
		_ = s.close(func() error { return s.wire.goodbye(err.Error()) })
		return
	}
	_ = s.Close()
}

func (s *Session) fail(format string, args ...any) error {
	return fmt.Errorf("%v: %w", s, fmt.Errorf(format, args...))
}

func quoted(step string) string {
	if step == "" {
		return ""
	}
	return fmt.Sprintf(" (%q)", step)
}

// Close ends the session. A Swap under way fails, here with ErrClosed and at the peer with ErrPeerGone. A second Close
// does nothing.
func (s *Session) Close() error { return s.close(s.wire.conn.Close) }

// CloseWith ends the session and tells the peer why: its Swap, under way or the next one, fails with ErrGaveUp and this
// reason. It waits up to a second for the peer to take it. While this end swaps, and with a nil reason, it is Close.
func (s *Session) CloseWith(reason error) error {
	if reason == nil || !s.swapping.TryLock() {
		return s.Close()
	}
	defer s.swapping.Unlock()
	return s.close(func() error { return s.wire.goodbye(reason.Error()) })
}

func (s *Session) close(end func() error) error {
	if s.closed.Swap(true) {
		return nil
	}
	s.handle.Closed()
	return end()
}
