package connect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestSilentClientsBlockNobody: with fewer than maxPending of them, others get in at once.
func TestSilentClientsBlockNobody(t *testing.T) {
	l := listenFor(t, "127.0.0.1:0", Options{Timeout: patience})
	for range maxPending - 1 {
		rawDial(t, l)
	}
	meetAt(t, l, Options{})
}

// TestPendingClientsAreBounded: one more than maxPending is not even greeted, until a slot is free.
func TestPendingClientsAreBounded(t *testing.T) {
	l := listenFor(t, "127.0.0.1:0", Options{Timeout: patience})
	silent := rawDial(t, l)
	for range maxPending - 1 {
		rawDial(t, l)
	}
	_, err := Dial(context.Background(), l.Address(), Options{Timeout: 50 * time.Millisecond})
	checkSilent(t, err)
	silent.Close()
	done := make(chan error, 1)
	go func() {
		s, err := Dial(testContext(t), l.Address(), Options{Name: "patient"})
		if err == nil {
			err = s.Close()
		}
		done <- err
	}()
	for name := ""; name != "patient"; { // the one that did not wait may come first
		s, err := l.Accept(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		name = s.Peer().Name
		s.Close()
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestMoreSilentClientsThanSlots: they lose their slots by the timeout, and others get in.
func TestMoreSilentClientsThanSlots(t *testing.T) {
	l := listenFor(t, "127.0.0.1:0", Options{Timeout: 50 * time.Millisecond})
	for range 2 * maxPending {
		rawDial(t, l)
	}
	for {
		s, err := Dial(testContext(t), l.Address(), Options{})
		if err == nil {
			s.Close()
			return
		}
		if !errors.Is(err, ErrPeerGone) && !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
	}
}

// stumbling is a listener that fails before it works.
type stumbling struct {
	net.Listener
	failures []error
}

func (s *stumbling) Accept() (net.Conn, error) {
	if len(s.failures) == 0 {
		return s.Listener.Accept()
	}
	err := s.failures[0]
	s.failures = s.failures[1:]
	return nil, err
}

func listenStumbling(t *testing.T, seen refusals, failures ...error) *Listener {
	t.Helper()
	l, err := listen(testContext(t), "127.0.0.1:0", Options{OnRefused: func(err error) { seen <- err }})
	if err != nil {
		t.Fatal(err)
	}
	l.listener = &stumbling{l.listener, failures}
	l.start()
	t.Cleanup(func() { l.Close() })
	return l
}

func TestAcceptGoesOnWhenFilesRunOut(t *testing.T) {
	seen := newRefusals()
	l := listenStumbling(t, seen, syscall.EMFILE, syscall.ECONNABORTED)
	meetAt(t, l, Options{})
	mustContain(t, seen.next(t), "too many open files")
	mustContain(t, seen.next(t), "connection abort")
}

func TestAcceptSaysWhyItEnded(t *testing.T) {
	l := listenStumbling(t, newRefusals(), errPlanned)
	if _, err := l.Accept(testContext(t)); !errors.Is(err, errPlanned) {
		t.Errorf("a listener that broke: %v", err)
	}
}

func TestClientsThatNobodyAccepts(t *testing.T) {
	l := listenFor(t, "127.0.0.1:0", Options{})
	s, err := Dial(testContext(t), l.Address(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Swap(testContext(t), Card{}); !errors.Is(err, ErrPeerGone) {
		t.Errorf("a session that was not accepted: %v", err)
	}
	if _, err := l.Accept(testContext(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("accept on a closed listener: %v", err)
	}
}

func TestAcceptedSessionsOutliveTheListener(t *testing.T) {
	l := listenFor(t, "unix:"+socketPath(t), Options{})
	a, b := meetAt(t, l, Options{})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	mustSwap(t, a, b, Card{}, Card{})
}

func TestCancel(t *testing.T) {
	l := listenFor(t, "127.0.0.1:0", Options{Timeout: patience})
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := l.Accept(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled accept: %v", err)
	}
	connected := make(chan struct{})
	address := rawListen(t, func(conn net.Conn) {
		close(connected)
		_, _ = conn.Read(make([]byte, 1<<16))
		_, _ = conn.Read(make([]byte, 1)) // until the dialler leaves
	})
	ctx, cancel = context.WithCancel(context.Background())
	go func() {
		<-connected
		cancel()
	}()
	err := inTime(t, func() error {
		_, err := Dial(ctx, address, Options{Timeout: forever})
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled dial: %v", err)
	}
}

func TestNobodyListens(t *testing.T) {
	for address, want := range map[string]error{"unix:" + socketPath(t): syscall.ENOENT, deafPort(t): syscall.ECONNREFUSED} {
		_, err := Dial(testContext(t), address, Options{})
		if !errors.Is(err, want) {
			t.Errorf("dial %s: %v", address, err)
		}
		mustContain(t, err, address, "start the other end first")
		_, err = Dial(context.Background(), address, Options{Wait: true, Timeout: 500 * time.Millisecond})
		if !errors.Is(err, want) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("dial and wait %s: %v", address, err)
		}
	}
}

// Who has waited hears that nobody listened, also if the time was up in the middle of a try.
func TestNobodyListensToTheEnd(t *testing.T) {
	address := "unix:" + socketPath(t)
	var all sync.WaitGroup
	for i := range 500 {
		all.Go(func() {
			within := 550*time.Millisecond + time.Duration(i)*100*time.Microsecond
			if _, err := Dial(context.Background(), address, Options{Wait: true, Timeout: within}); !errors.Is(err, syscall.ENOENT) {
				t.Errorf("within %v: %v", within, err)
			}
		})
	}
	all.Wait()
}

// deafPort returns an address that is taken, so that nobody else can listen there, and at which nobody listens.
func deafPort(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
}

func TestWaitForTheListener(t *testing.T) {
	address := "unix:" + socketPath(t)
	done := make(chan error, 1)
	go func() {
		s, err := Dial(testContext(t), address, Options{Wait: true})
		if err == nil {
			err = s.Close()
		}
		done <- err
	}()
	time.Sleep(20 * time.Millisecond) // let it fail a few times; if it does not, nothing is lost
	listenFor(t, address, Options{})
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAddressInUse(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "unix:" + socketPath(t), fmt.Sprintf("unix:@weft-test-in-use-%d", os.Getpid())} {
		first := listenFor(t, address, Options{})
		_, err := Listen(testContext(t), first.Address(), Options{})
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("listen on %s twice: %v", address, err)
		}
		mustContain(t, err, "choose another")
		meetAt(t, first, Options{}) // it did not suffer
	}
}

// leaveStale makes the socket file of a process that died.
func leaveStale(t *testing.T, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
}

func TestStaleSocket(t *testing.T) {
	path := socketPath(t)
	leaveStale(t, path)
	l := listenFor(t, "unix:"+path, Options{})
	meetAt(t, l, Options{})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Close left the socket behind: %v", err)
	}
}

func TestAnotherFileIsNotTouched(t *testing.T) {
	path := socketPath(t)
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Listen(testContext(t), "unix:"+path, Options{})
	mustContain(t, err, "no socket")
	if kept, err := os.ReadFile(path); string(kept) != "precious" {
		t.Errorf("the file is %q now: %v", kept, err)
	}
}

func TestASuccessorsSocketIsNotRemoved(t *testing.T) {
	path := socketPath(t)
	l := listenFor(t, "unix:"+path, Options{})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	successor := listenFor(t, "unix:"+path, Options{})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	meetAt(t, successor, Options{})
}

// TestOneSuccessor: of many that start at once on a stale socket, one wins, and it keeps it.
func TestOneSuccessor(t *testing.T) {
	for range 20 {
		path := socketPath(t)
		leaveStale(t, path)
		var all sync.WaitGroup
		won := make(chan *Listener, 8)
		for range cap(won) {
			all.Go(func() {
				l, err := Listen(testContext(t), "unix:"+path, Options{})
				if err == nil {
					won <- l
				} else if !errors.Is(err, syscall.EADDRINUSE) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(won) != 1 {
			t.Fatalf("%d listen at one path", len(won))
		}
		l := <-won
		meetAt(t, l, Options{})
		l.Close()
	}
}

func TestPlainBeyondLoopback(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		_, err := Listen(testContext(t), address, Options{})
		if !errors.Is(err, ErrArgument) {
			t.Errorf("listen on %s without TLS: %v", address, err)
		}
		mustContain(t, err, address, "Options.TLS", "Options.Plain")
	}
	meet(t, "127.0.0.1:0", Options{}, Options{Plain: true})
	listenFor(t, "0.0.0.0:0", Options{Plain: true})
}

func TestBadArguments(t *testing.T) {
	ctx := testContext(t)
	for _, address := range []string{"", "host", "127.0.0.1:http", "127.0.0.1:65536", "::1:80", "unix:", "unix:@",
		"unix:/" + strings.Repeat("p", maxPath), "unix:/a\x00b"} {
		_, err := Dial(ctx, address, Options{})
		_, err2 := Listen(ctx, address, Options{})
		if !errors.Is(err, ErrArgument) || !errors.Is(err2, ErrArgument) {
			t.Errorf("address %q: %v, %v", address, err, err2)
		}
	}
	for _, options := range []Options{{Timeout: -1}, {Name: "\x00"}, {Version: strings.Repeat("v", maxText+1)},
		{Offers: make([]Offer, maxOffers+1)}, {Offers: []Offer{{}}}, {Offers: []Offer{{Provider: "x", Reach: 9}}},
		{Offers: []Offer{{Provider: "x", PeerTimeout: -1}}}} {
		_, err := Dial(ctx, "127.0.0.1:1", options)
		_, err2 := Listen(ctx, "127.0.0.1:0", options)
		if !errors.Is(err, ErrArgument) || !errors.Is(err2, ErrArgument) {
			t.Errorf("options %+v: %v, %v", options, err, err2)
		}
	}
	if _, err := Listen(ctx, "unix:"+t.TempDir()+"/no/such/directory", Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
}

//nolint:staticcheck // a nil context is what this is about
func TestNilContext(t *testing.T) {
	l := listenFor(t, "127.0.0.1:0", Options{})
	a, _ := meetAt(t, l, Options{})
	_, err1 := Dial(nil, l.Address(), Options{})
	_, err2 := Listen(nil, "127.0.0.1:0", Options{})
	_, err3 := l.Accept(nil)
	_, err4 := a.Swap(nil, Card{})
	_, err5 := a.Join(nil, nil, nil, Card{})
	err6 := Pair(nil, nil, nil, nil)
	for i, err := range []error{err1, err2, err3, err4, err5, err6} {
		if !errors.Is(err, ErrArgument) {
			t.Errorf("call %d with a nil context: %v", i+1, err)
		}
	}
}
