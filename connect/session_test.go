package connect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/verbs"
	"github.com/weft-fabric/weft/verbs/driver"
)

func skipWithoutIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no IPv6: ", err)
	}
	l.Close()
}

func TestAddressFamilies(t *testing.T) {
	families := map[string]string{"IPv4": "127.0.0.1:0", "IPv6": "[::1]:0", "name": "localhost:0",
		"file": "unix:" + socketPath(t), "abstract": fmt.Sprintf("unix:@weft-test-%d", os.Getpid())}
	for name, address := range families {
		t.Run(name, func(t *testing.T) {
			if name == "IPv6" {
				skipWithoutIPv6(t)
			}
			testFamily(t, address)
		})
	}
}

func testFamily(t *testing.T, address string) {
	a, b := meet(t, address, Options{Name: "alice", Version: "v1"}, Options{Name: "bob", Version: "v2"})
	host, _ := os.Hostname()
	wantAlice := Identity{Name: "alice", Version: "v1", Host: host, User: uint32(os.Getuid()), Process: uint32(os.Getpid())}
	if b.Peer() != wantAlice || a.Peer().Name != "bob" || a.Peer().Version != "v2" {
		t.Errorf("the peers are %v and %v", a.Peer(), b.Peer())
	}
	for _, s := range []*Session{a, b} {
		known, ok := s.Credentials()
		if ok != strings.HasPrefix(address, "unix:") {
			t.Errorf("credentials on %s: %v", address, ok)
		}
		if ok && (int(known.Process) != os.Getpid() || int(known.User) != os.Getuid() || int(known.Group) != os.Getgid()) {
			t.Errorf("the kernel says %+v", known)
		}
		if _, ok := s.TLS(); ok {
			t.Error("there is TLS that nobody asked for")
		}
	}
	if a.LocalAddr().String() != b.RemoteAddr().String() {
		t.Errorf("one end is at %v, the other sees it at %v", a.LocalAddr(), b.RemoteAddr())
	}
	atA, atB := mustSwap(t, a, b, Card{Note: []byte("from alice")}, Card{Note: []byte("from bob")})
	if string(atA.Note) != "from bob" || string(atB.Note) != "from alice" {
		t.Errorf("swapped %q and %q", atA.Note, atB.Note)
	}
}

// TestLargestCards: neither end can write all before the other reads, on any socket.
func TestLargestCards(t *testing.T) {
	full := Card{Step: strings.Repeat("s", maxText), Addresses: make([]verbs.Address, MaxAddresses),
		Spans: make([]verbs.RemoteSpan, MaxSpans), Note: make([]byte, MaxNote)}
	for i := range full.Addresses {
		full.Addresses[i] = verbs.Address(fmt.Sprintf("%0*d", maxAddress, i))
	}
	for i := range full.Spans {
		full.Spans[i] = verbs.RemoteSpan{Address: uint64(i) << 32, Length: 1 << 31, Key: uint64(i) * 0x9e3779b97f4a7c15}
	}
	if n := len(full.appendTo(nil)); n != maxCard {
		t.Errorf("the largest card has %d bytes, maxCard is %d", n, maxCard)
	}
	for _, address := range []string{"127.0.0.1:0", "unix:" + socketPath(t)} {
		a, b := meet(t, address, Options{}, Options{})
		for range 2 {
			atA, atB := mustSwap(t, a, b, full, full)
			if !reflect.DeepEqual(atA, full) || !reflect.DeepEqual(atB, full) {
				t.Error("a card changed on its way")
			}
		}
	}
}

func TestTheLimitOfAddressesIsTheDrivers(t *testing.T) {
	if maxAddress != driver.MaxAddress {
		t.Errorf("maxAddress is %d, the driver's %d", maxAddress, driver.MaxAddress)
	}
}

func TestSwapRefusesWhatIsOverTheLimit(t *testing.T) {
	a, b := meet(t, "127.0.0.1:0", Options{}, Options{})
	for want, card := range map[string]Card{
		"16385 addresses":     {Addresses: make([]verbs.Address, MaxAddresses+1)},
		"65537 spans":         {Spans: make([]verbs.RemoteSpan, MaxSpans+1)},
		"65537 bytes of note": {Note: make([]byte, MaxNote+1)},
		"the step has 129":    {Step: strings.Repeat("s", maxText+1)},
		"not printable":       {Step: "\x1b[2J"},
		"address 1 has 0":     {Addresses: []verbs.Address{"a", ""}},
		"address 0 has 513":   {Addresses: []verbs.Address{verbs.Address(make([]byte, maxAddress+1))}},
		"span 0 of":           {Spans: []verbs.RemoteSpan{{Address: 1 << 63, Length: 1 << 63}}},
	} {
		_, err := a.Swap(testContext(t), card)
		if !errors.Is(err, ErrArgument) {
			t.Errorf("%s: %v", want, err)
		}
		mustContain(t, err, want)
	}
	mustSwap(t, a, b, Card{}, Card{}) // the session does not suffer
}

func TestManyRounds(t *testing.T) {
	a, b := meet(t, "127.0.0.1:0", Options{}, Options{})
	for i := range 200 {
		step := Card{Step: fmt.Sprint(i)}
		mustSwap(t, a, b, step, step)
	}
}

func TestOutOfStep(t *testing.T) {
	a, b := meet(t, "127.0.0.1:0", Options{}, Options{})
	atA, atB := swapBoth(t, a, b, Card{Step: "ready"}, Card{Step: "done"})
	for _, err := range []error{atA.err, atB.err} {
		if !errors.Is(err, ErrOutOfStep) {
			t.Errorf("different steps gave %v", err)
		}
		mustContain(t, err, `"ready"`, `"done"`)
	}
}

func TestCloseWith(t *testing.T) {
	a, b := meet(t, "127.0.0.1:0", Options{}, Options{})
	large := Card{Note: make([]byte, MaxNote), Spans: make([]verbs.RemoteSpan, MaxSpans)}
	done := make(chan error, 1)
	go func() { done <- a.CloseWith(errors.New("no memory left\x1b[2J" + strings.Repeat("!", 2*maxGoodbye))) }()
	_, err := b.Swap(testContext(t), large)
	if !errors.Is(err, ErrGaveUp) || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("the peer gave up, but Swap says %q", err)
	}
	mustContain(t, err, "no memory left [2J!!!")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, again := b.Swap(testContext(t), Card{}); again == nil || again.Error() != err.Error() {
		t.Errorf("a broken session says %v, then %v", err, again)
	}
	if _, err := a.Swap(testContext(t), Card{}); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed session swaps: %v", err)
	}
}

func TestClose(t *testing.T) {
	a, b := meet(t, "127.0.0.1:0", Options{}, Options{})
	done := make(chan error, 1)
	go func() {
		_, err := a.Swap(testContext(t), Card{})
		done <- err
	}()
	if _, err := readCard(b.wire.conn, 1); err != nil { // now a waits
		t.Fatal(err)
	}
	if _, err := a.Swap(testContext(t), Card{}); !errors.Is(err, ErrBusy) {
		t.Errorf("a second swap at once: %v", err)
	}
	for range 2 {
		if err := a.CloseWith(errors.New("bye")); err != nil {
			t.Error(err)
		}
	}
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Errorf("a swap on a session that closes: %v", err)
	}
	if _, err := b.Swap(testContext(t), Card{}); !errors.Is(err, ErrPeerGone) {
		t.Errorf("a swap with a peer that closed: %v", err)
	}
}

func TestCancelSwap(t *testing.T) {
	a, b := meet(t, "127.0.0.1:0", Options{Timeout: forever}, Options{})
	ctx, cancel := context.WithCancelCause(context.Background())
	reason := errors.New("interrupted")
	go func() {
		_, _ = readCard(b.wire.conn, 1)
		cancel(reason)
	}()
	err := inTime(t, func() error {
		_, err := a.Swap(ctx, Card{})
		return err
	})
	if !errors.Is(err, reason) {
		t.Errorf("a cancelled swap: %v", err)
	}
	if _, err := b.Swap(testContext(t), Card{}); !errors.Is(err, ErrPeerGone) {
		t.Errorf("the peer of a cancelled swap: %v", err)
	}
}

// TestThousandSessions: many clients at once, each with a few rounds.
func TestThousandSessions(t *testing.T) {
	const clients = 1000
	l := listenFor(t, "127.0.0.1:0", Options{Timeout: patience})
	ctx := testContext(t)
	var all sync.WaitGroup
	defer all.Wait()
	for i := range clients {
		all.Go(func() {
			s, err := Dial(ctx, l.Address(), Options{Name: fmt.Sprint(i)})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			checkEcho(t, s, fmt.Sprint(i))
		})
	}
	var accepted []*Session
	for range clients {
		s, err := l.Accept(ctx)
		if err != nil {
			t.Error(err)
			break
		}
		accepted = append(accepted, s)
	}
	for _, s := range accepted { // only now, so that all are open at once
		all.Go(func() {
			defer s.Close()
			checkEcho(t, s, s.Peer().Name)
		})
	}
}

func checkEcho(t *testing.T, s *Session, text string) {
	for range 3 {
		card, err := s.Swap(testContext(t), Card{Note: []byte(text)})
		if err != nil || string(card.Note) != text {
			t.Errorf("session %s: %q, %v", text, card.Note, err)
			return
		}
	}
}
