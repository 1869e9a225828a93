package connect

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// patience bounds what should end by itself: a hang fails, a slow machine does not.
const patience = time.Minute

// forever is a timeout for what must end by something else.
const forever = time.Hour

// inTime returns what f does, and fails if f hangs.
func inTime(t *testing.T, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		t.Fatal("it hangs")
		return nil
	}
}

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// refusals collects what a listener says to OnRefused.
type refusals chan error

func newRefusals() refusals { return make(refusals, 64) }

func (r refusals) next(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r:
		return err
	case <-time.After(patience):
		t.Fatal("the listener refused nobody")
		return nil
	}
}

func listenFor(t testing.TB, address string, options Options) *Listener {
	t.Helper()
	l, err := Listen(testContext(t), address, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// meet makes a session between two ends with these options.
func meet(t testing.TB, address string, listener, dialler Options) (accepted, dialled *Session) {
	t.Helper()
	return meetAt(t, listenFor(t, address, listener), dialler)
}

func meetAt(t testing.TB, l *Listener, dialler Options) (accepted, dialled *Session) {
	t.Helper()
	ctx := testContext(t)
	dialled, err := Dial(ctx, l.Address(), dialler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialled.Close() })
	if accepted, err = l.Accept(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close() })
	return accepted, dialled
}

// swapped is what one end's Swap returned.
type swapped struct {
	card Card
	err  error
}

// swapBoth swaps at both ends at once.
func swapBoth(t testing.TB, a, b *Session, cardA, cardB Card) (atA, atB swapped) {
	t.Helper()
	ctx := testContext(t)
	done := make(chan swapped, 1)
	go func() {
		card, err := b.Swap(ctx, cardB)
		done <- swapped{card, err}
	}()
	atA.card, atA.err = a.Swap(ctx, cardA)
	return atA, <-done
}

func mustSwap(t testing.TB, a, b *Session, cardA, cardB Card) (atA, atB Card) {
	t.Helper()
	resultA, resultB := swapBoth(t, a, b, cardA, cardB)
	if resultA.err != nil || resultB.err != nil {
		t.Fatalf("swap: %v, %v", resultA.err, resultB.err)
	}
	return resultA.card, resultB.card
}

// rawDial connects without greeting.
func rawDial(t testing.TB, l *Listener) net.Conn {
	t.Helper()
	conn, err := net.Dial(l.listener.Addr().Network(), l.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return conn
}

// rawListen runs serve with the first connection to the address it returns.
func rawListen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		serve(conn)
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

// rawPeer is a session whose other end is a bare connection that has greeted well.
func rawPeer(t *testing.T) (*Session, net.Conn) {
	t.Helper()
	l := listenFor(t, "127.0.0.1:0", Options{Timeout: patience})
	conn := rawDial(t, l)
	if _, err := conn.Write((&greeting{}).encode()); err != nil {
		t.Fatal(err)
	}
	s, err := l.Accept(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if _, err := readGreeting(conn); err != nil {
		t.Fatal(err)
	}
	return s, conn
}

func socketPath(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "s")
}

func mustContain(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}
