package lan

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var key = []byte("a key for these tests")

// start opens a resolver on the loopback interface.
func start(t *testing.T, config Config) *Resolver {
	t.Helper()
	config.Interface = "lo"
	if !config.Open && config.Key == nil {
		config.Key = key
	}
	if config.Lease == 0 {
		config.Lease = 300 * time.Millisecond
	}
	r, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func node(n byte) wire.ID { return wire.RandomID([15]byte{n}) }

func named(name string, n byte) find.Record {
	return find.Record{Service: wire.NameID(name), Name: name, Node: node(n), At: []string{"host:7471"}}
}

func member(name string, n byte) find.Record {
	r := named(name, n)
	r.Service = wire.GroupID(name)
	return r
}

func claimed(t *testing.T, r *Resolver, record find.Record) find.Claim {
	t.Helper()
	c, err := r.Claim(t.Context(), record)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// group is a group of a test's own, so that tests do not hear each other, nor those of another process.
func group(n byte) Config { return Config{Group: place(n, os.Getpid())} }

func place(n byte, process int) string {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{239, 255, byte(process >> 14), n}), 1<<14|uint16(process)).String()
}

func TestWhoHasJustBegunToListenFindsByAsking(t *testing.T) {
	c := claimed(t, start(t, group(1)), named("kv", 1))
	late := start(t, group(1))
	records, err := late.Find(t.Context(), wire.NameID("kv"))
	if want := c.Record(); err != nil || len(records) != 1 || !records[0].Equal(&want) {
		t.Fatalf("found %v, %v", records, err)
	}
	if _, err := start(t, group(1)).Claim(t.Context(), named("kv", 2)); !errors.Is(err, find.ErrTaken) {
		t.Error(err)
	}
}

func TestAGroupIsAllWhoJoined(t *testing.T) {
	a, b := start(t, group(2)), start(t, group(2))
	var both sync.WaitGroup
	both.Go(func() { claimed(t, a, member("g", 1)) })
	both.Go(func() { claimed(t, b, member("g", 2)) })
	both.Wait()
	if records, err := start(t, group(2)).Find(t.Context(), wire.GroupID("g")); len(records) != 2 || err != nil {
		t.Errorf("found %v, %v", records, err)
	}
	for n := 0; n != 2; { // when the other's announcement has arrived
		records, err := a.Find(t.Context(), wire.GroupID("g"))
		if n = len(records); err != nil {
			t.Fatal(err)
		}
	}
	if records, err := start(t, group(2)).List(t.Context()); len(records) != 2 || err != nil {
		t.Errorf("listed %v, %v", records, err)
	}
}

func TestWhoHasAnotherKeyIsNotHeard(t *testing.T) {
	var log strings.Builder
	var mu sync.Mutex
	config := group(5)
	config.Log = slog.New(slog.NewTextHandler(locked{&mu, &log}, nil))
	a := start(t, config)
	other := group(5)
	other.Key = []byte("another key of the same kind")
	open := group(5)
	open.Open = true
	for _, config := range []Config{other, open} {
		claimed(t, start(t, config), named("kv", 2))
	}
	if _, err := a.Find(t.Context(), wire.NameID("kv")); !errors.Is(err, find.ErrNotFound) {
		t.Error(err)
	}
	claimed(t, a, named("kv", 1))
	mu.Lock()
	defer mu.Unlock()
	if n := strings.Count(log.String(), errKey.Error()); n != 1 {
		t.Errorf("the log says it %d times:\n%s", n, log.String())
	}
}

// locked is a writer with a lock.
type locked struct {
	mu *sync.Mutex
	to *strings.Builder
}

func (l locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(b)
}

func TestNoiseAndRepetitionDoNoHarm(t *testing.T) {
	config := group(6)
	config.Log = slog.New(slog.DiscardHandler)
	a := start(t, config)
	c := claimed(t, a, named("kv", 1))
	noise, err := net.Dial("udp4", a.sockets.own.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer noise.Close()
	higher := named("kv", 2)
	higher.Epoch = find.MaxEpoch
	old := packet{kind: tell, sender: [16]byte{9}, number: 1, sent: 1, lease: time.Second, records: []find.Record{higher}}
	fresh := named("fresh", 2)
	once := packet{kind: tell, sender: [16]byte{9}, number: 2, sent: time.Now().UnixNano(), lease: minLease, records: []find.Record{fresh}}
	for _, b := range [][]byte{nil, []byte("hello"), bytes.Repeat([]byte{0x57}, 1400), old.seal(key), once.seal(nil), once.seal(key)} {
		noise.Write(b)
	}
	if _, err := a.Find(t.Context(), fresh.Service); err != nil {
		t.Error(err)
	}
	for a.knows(fresh.Service) {
		time.Sleep(time.Millisecond)
	}
	noise.Write(once.seal(key)) // again, with a mark behind it
	mark := packet{kind: tell, sender: [16]byte{9}, number: 3, sent: time.Now().UnixNano(), lease: time.Second,
		records: []find.Record{named("mark", 2)}}
	noise.Write(mark.seal(key))
	for !a.knows(wire.NameID("mark")) {
		time.Sleep(time.Millisecond)
	}
	if a.knows(fresh.Service) || c.Err() != nil {
		t.Errorf("what was repeated was believed, or %v", c.Err())
	}
}

func (r *Resolver) knows(id wire.ID) bool {
	records, _, _ := r.known(id)
	return len(records) > 0
}

func TestWhoIsSupersededIsTold(t *testing.T) {
	a := start(t, group(7))
	c := claimed(t, a, named("kv", 1))
	higher := named("kv", 2)
	higher.Epoch = c.Record().Epoch + 1
	other := packet{kind: tell, sender: [16]byte{9}, number: 1, sent: time.Now().UnixNano(), lease: time.Second, records: []find.Record{higher}}
	conn, err := net.Dial("udp4", a.sockets.own.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.Write(other.seal(key))
	if <-c.Done(); !errors.Is(c.Err(), find.ErrSuperseded) || c.ValidUntil() > clock.Real.Now() {
		t.Error(c.Err())
	}
}

func TestGivingUpAClaimWithdrawsIt(t *testing.T) {
	config := group(8)
	config.Lease = time.Hour
	a := start(t, config)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := a.Claim(ctx, named("kv", 1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if a.mu.Lock(); len(a.machine.mine) != 0 {
		t.Error("it is still claimed")
	}
	a.mu.Unlock()
}

func TestCloseEndsEverything(t *testing.T) {
	config := group(9)
	a := start(t, config)
	c := claimed(t, a, named("kv", 1))
	waits := make(chan error)
	go func() {
		_, err := a.Claim(t.Context(), named("other", 1))
		waits <- err
	}()
	a.Close()
	if <-c.Done(); !errors.Is(c.Err(), find.ErrClosed) {
		t.Error(c.Err())
	}
	_, claimed := a.Claim(t.Context(), named("kv", 1))
	_, found := a.Find(t.Context(), wire.NameID("kv"))
	_, listed := a.List(t.Context())
	for _, err := range []error{<-waits, claimed, found, listed, c.Withdraw(t.Context())} {
		if err != nil && !errors.Is(err, find.ErrClosed) {
			t.Error(err)
		}
	}
}

func TestBadSettingsAreRefusedWithAReason(t *testing.T) {
	for want, config := range map[string]Config{
		"there is no key":           {},
		"leave one of them out":     {Key: key, Open: true},
		"it needs 16":               {Key: []byte("short")},
		"not an IPv4 multicast":     {Open: true, Group: "10.0.0.1:7487"},
		"[ff02::1]:7487 is not":     {Open: true, Group: "[ff02::1]:7487"},
		"239.1.1.1:0 is not":        {Open: true, Group: "239.1.1.1:0"},
		`group "nonsense"`:          {Open: true, Group: "nonsense"},
		"a lease of 1ms":            {Open: true, Lease: time.Millisecond},
		"a lease of 20.5ms":         {Open: true, Lease: 20500 * time.Microsecond},
		"a window of 1ns":           {Open: true, Window: 1},
		"interface nowhere0: route": {Open: true, Interface: "nowhere0"},
	} {
		if r, err := Open(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
			if r != nil {
				r.Close()
			}
		}
	}
}

func TestARecordThatFitsIntoNoDatagramIsRefused(t *testing.T) {
	a := start(t, group(10))
	large := named("kv", 1)
	for range 5 {
		large.At = append(large.At, strings.Repeat("a", 255))
	}
	if _, err := a.Claim(t.Context(), large); !errors.Is(err, find.ErrRecord) || !strings.Contains(err.Error(), "leave some addresses out") {
		t.Error(err)
	}
}
