package find

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/wire"
)

// hands is a clock that is set by hand.
type hands struct{ now atomic.Int64 }

func (h *hands) Now() clock.Time      { return clock.Time(h.now.Load()) }
func (h *hands) pass(d time.Duration) { h.now.Add(int64(d)) }

// table is a resolver that knows what it is told, and answers when it is let.
type table struct {
	Watchers
	name string

	mu      sync.Mutex
	records map[wire.ID][]Record
	err     error
	asked   map[wire.ID]int
	gates   map[wire.ID]chan struct{} // who asks for the ID waits for a word here
	entered chan wire.ID              // who waits at a gate says so
}

func newTable(name string, records ...Record) *table {
	t := &table{name: name, records: map[wire.ID][]Record{}, asked: map[wire.ID]int{}, gates: map[wire.ID]chan struct{}{},
		entered: make(chan wire.ID)}
	t.set(records...)
	return t
}

func (t *table) set(records ...Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.records)
	for _, r := range records {
		t.records[r.Service] = append(t.records[r.Service], r)
	}
}

func (t *table) gate(id wire.ID) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gates[id] = make(chan struct{})
	return t.gates[id]
}

func (t *table) count(id wire.ID) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked[id]
}

func (t *table) Find(ctx context.Context, id wire.ID) ([]Record, error) {
	t.mu.Lock()
	t.asked[id]++
	gate, records, err := t.gates[id], t.records[id], t.err
	t.mu.Unlock()
	if gate != nil {
		t.entered <- id
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if err == nil && len(records) == 0 {
		err = ErrNotFound
	}
	return records, err
}

func (t *table) List(context.Context) (all []Record, err error) {
	for _, records := range t.records {
		all = append(all, records...)
	}
	return all, t.err
}

func (t *table) Name() string { return t.name }
func (t *table) Claim(context.Context, Record) (Claim, error) {
	return nil, errors.New("nothing to claim here")
}
func (t *table) Close() error { return nil }

// rig is a cache with a clock that is set by hand.
func rig(t *testing.T, size int, resolvers ...Resolver) (*Cache, *hands) {
	time := &hands{}
	c := NewCache(CacheConfig{Clock: time, Size: size, Timeout: 1e15}, resolvers...)
	t.Cleanup(func() { c.Close(); c.Close() })
	return c, time
}

// found fails the test unless the cache finds just this.
func found(t *testing.T, c *Cache, id wire.ID, epochs ...uint64) {
	t.Helper()
	records, err := c.Find(t.Context(), id)
	if len(epochs) == 0 && !errors.Is(err, ErrNotFound) {
		t.Fatalf("found %v, %v", records, err)
	}
	var got []uint64
	for _, r := range records {
		got = append(got, r.Epoch)
	}
	if fmt.Sprint(got) != fmt.Sprint(epochs) {
		t.Fatalf("found epochs %v, %v; want %v", got, err, epochs)
	}
}

func asked(t *testing.T, r *table, id wire.ID, times int) {
	t.Helper()
	if n := r.count(id); n != times {
		t.Fatalf("%s was asked %d times for %v, want %d", r.name, n, id, times)
	}
}

func TestARecordIsBelievedUntilItExpires(t *testing.T) {
	kv := named("kv", 1, 1)
	r := newTable("table", kv)
	c, time := rig(t, 0, r)
	found(t, c, kv.Service, 1)
	time.pass(30e9 - 1)
	found(t, c, kv.Service, 1)
	asked(t, r, kv.Service, 1)
	time.pass(1)
	found(t, c, kv.Service, 1)
	asked(t, r, kv.Service, 2)
}

func TestThatThereIsNoneIsBelievedForAQuarterOfASecond(t *testing.T) {
	r := newTable("table")
	c, time := rig(t, 0, r)
	kv := named("kv", 1, 1)
	found(t, c, kv.Service)
	r.set(kv)
	time.pass(250e6 - 1)
	found(t, c, kv.Service)
	asked(t, r, kv.Service, 1)
	time.pass(1)
	found(t, c, kv.Service, 1)
}

func TestTheFirstResolverThatKnowsAServiceIsBelieved(t *testing.T) {
	kv := named("kv", 1, 1)
	first, second, third := newTable("first"), newTable("second", kv), newTable("third", named("kv", 9, 9))
	c, _ := rig(t, 0, first, second, third)
	found(t, c, kv.Service, 1)
	asked(t, first, kv.Service, 1)
	asked(t, third, kv.Service, 0)
}

func TestAGroupIsWhatAllResolversKnowOfIt(t *testing.T) {
	first, second := newTable("first", member("g", 1, 1), member("g", 2, 2)), newTable("second", member("g", 5, 2), member("g", 3, 3))
	c, _ := rig(t, 0, first, second)
	found(t, c, wire.GroupID("g"), 1, 5, 3)
	all, err := c.List(t.Context())
	if len(all) != 3 || err != nil {
		t.Errorf("listed %v, %v", all, err)
	}
}

func TestMembersWhoseProcessIsNotKnownAreToldApartByTheirAddress(t *testing.T) {
	a, b := member("g", 0, 1), member("g", 0, 2)
	a.Node, b.Node, b.At = wire.ID{}, wire.ID{}, []string{"other:1"}
	c, _ := rig(t, 0, newTable("table", a, b))
	found(t, c, a.Service, 0, 0)
}

func TestAResolverThatFailsHidesNoOther(t *testing.T) {
	kv := named("kv", 1, 1)
	first, second := newTable("first"), newTable("second", kv)
	first.err = errors.New("the wire is cut")
	c, _ := rig(t, 0, first, second)
	found(t, c, kv.Service, 1)
	_, err := c.Find(t.Context(), wire.NameID("none"))
	if !errors.Is(err, ErrNotFound) || !errors.Is(err, first.err) || !strings.Contains(err.Error(), "first: the wire") {
		t.Error(err)
	}
	found(t, c, wire.NameID("none"))
	asked(t, second, wire.NameID("none"), 2)
	if all, err := c.List(t.Context()); len(all) != 1 || !errors.Is(err, first.err) {
		t.Errorf("listed %v, %v", all, err)
	}
}

func TestHalfAGroupIsNotBelievedForLong(t *testing.T) {
	first, second := newTable("first", member("g", 1, 1)), newTable("second")
	second.err = errors.New("the wire is cut")
	c, time := rig(t, 0, first, second)
	found(t, c, wire.GroupID("g"), 1)
	time.pass(250e6)
	found(t, c, wire.GroupID("g"), 1)
	asked(t, first, wire.GroupID("g"), 2)
}

func TestForgetDropsWhatIsNotNewer(t *testing.T) {
	kv := named("kv", 5, 1)
	r := newTable("table", kv)
	c, _ := rig(t, 0, r)
	found(t, c, kv.Service, 5)
	c.Forget(kv.Service, 4)
	found(t, c, kv.Service, 5)
	asked(t, r, kv.Service, 1)
	c.Forget(kv.Service, 5)
	found(t, c, kv.Service, 5)
	asked(t, r, kv.Service, 2)
	c.Forget(kv.Service, 1<<64-1)
	found(t, c, kv.Service, 5)
	asked(t, r, kv.Service, 3)
}

func TestOnlyAHigherEpochIsLearned(t *testing.T) {
	r := newTable("table", named("kv", 5, 1), member("g", 5, 1))
	c, _ := rig(t, 0, r)
	kv, g := wire.NameID("kv"), wire.GroupID("g")
	found(t, c, kv, 5)
	c.Learn(named("kv", 4, 2))
	c.Learn(named("kv", 5, 2))
	found(t, c, kv, 5)
	c.Learn(named("kv", 6, 2))
	c.Learn(Record{Service: kv, Epoch: 99})
	found(t, c, kv, 6)
	asked(t, r, kv, 1)

	c.Learn(member("g", 9, 9)) // one member is not the group
	found(t, c, g, 5)
	c.Learn(member("g", 9, 9))
	c.Learn(member("g", 6, 1))
	found(t, c, g, 6, 9)

	c.Learn(named("new", 1, 1))
	found(t, c, wire.NameID("new"), 1)
	asked(t, r, wire.NameID("new"), 0)
}

func TestAChangeIsLookedUpAgain(t *testing.T) {
	kv := wire.NameID("kv")
	r := newTable("table")
	c, _ := rig(t, 0, r)
	found(t, c, kv)
	for epoch, what := range []What{Came, Moved} {
		now := named("kv", uint64(epoch+1), 1)
		r.set(now)
		r.Tell(Change{what, now})
		found(t, c, kv, now.Epoch)
	}
	r.set()
	r.Tell(Change{Gone, named("kv", 2, 1)})
	found(t, c, kv)
}

func TestWhatWasNotAskedForLongestGoesFirst(t *testing.T) {
	var services []Record
	for i := range 4 {
		services = append(services, named(fmt.Sprint("s", i), 1, 1))
	}
	r := newTable("table", services...)
	c, _ := rig(t, 3, r)
	for _, i := range []int{0, 1, 2, 0, 3} { // 3 takes the place of 1
		found(t, c, services[i].Service, 1)
	}
	if n := c.known.recent.Len(); n != 3 || len(c.known.entries) != 3 {
		t.Errorf("%d remembered, %d in order", len(c.known.entries), n)
	}
	for i, times := range []int{1, 2, 2, 1} { // 1 takes the place of 2, and 2 that of 3, which comes last here and is not asked for
		if i < 3 {
			found(t, c, services[i].Service, 1)
		}
		asked(t, r, services[i].Service, times)
	}
}

// find asks in a goroutine, and returns where the answer will be.
func find(ctx context.Context, c *Cache, id wire.ID) chan error {
	answer := make(chan error, 1)
	go func() {
		_, err := c.Find(ctx, id)
		answer <- err
	}()
	return answer
}

// waiting waits until so many wait for the lookup of an ID.
func waiting(t *testing.T, c *Cache, id wire.ID, n int) {
	t.Helper()
	for t.Context().Err() == nil {
		c.mu.Lock()
		l := c.lookups[id]
		there := l != nil && l.waiting == n
		c.mu.Unlock()
		if there {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestManyWhoAskForOneIDAskOnce(t *testing.T) {
	kv, other := named("kv", 1, 1), named("other", 1, 1)
	r := newTable("table", kv, other)
	gate := r.gate(kv.Service)
	c, _ := rig(t, 0, r)
	impatient, cancel := context.WithCancel(t.Context())
	answers := []chan error{find(t.Context(), c, kv.Service), find(t.Context(), c, kv.Service), find(impatient, c, kv.Service)}
	<-r.entered
	waiting(t, c, kv.Service, 3)
	found(t, c, other.Service, 1) // a slow lookup holds nobody else up
	cancel()
	if err := <-answers[2]; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up was told %v", err)
	}
	close(gate)
	for _, answer := range answers[:2] {
		if err := <-answer; err != nil {
			t.Error(err)
		}
	}
	asked(t, r, kv.Service, 1)
}

func TestALookupThatNobodyWaitsForEnds(t *testing.T) {
	kv := named("kv", 1, 1)
	r := newTable("table", kv)
	r.gate(kv.Service)
	c, _ := rig(t, 0, r)
	ctx, cancel := context.WithCancel(t.Context())
	answer := find(ctx, c, kv.Service)
	<-r.entered
	cancel()
	<-answer
	c.runs.Wait()
	if len(c.lookups) != 0 {
		t.Errorf("%d lookups are left", len(c.lookups))
	}
}

func TestWhatChangedDuringALookupIsNotKept(t *testing.T) {
	for name, happens := range map[string]func(*Cache, *table){
		"forgotten": func(c *Cache, _ *table) { c.Forget(wire.NameID("kv"), 1) },
		"changed":   func(_ *Cache, r *table) { r.Tell(Change{Moved, named("kv", 2, 2)}) },
		"learned":   func(c *Cache, _ *table) { c.Learn(named("kv", 2, 2)) },
	} {
		t.Run(name, func(t *testing.T) {
			kv := named("kv", 1, 1)
			r := newTable("table", kv)
			gate := r.gate(kv.Service)
			c, _ := rig(t, 0, r)
			answer := find(t.Context(), c, kv.Service)
			<-r.entered
			happens(c, r)
			r.set(named("kv", 2, 2))
			close(gate)
			if err := <-answer; err != nil {
				t.Error(err)
			}
			r.mu.Lock()
			delete(r.gates, kv.Service)
			r.mu.Unlock()
			found(t, c, kv.Service, 2)
		})
	}
}

func TestCloseEndsWhoWaits(t *testing.T) {
	kv := named("kv", 1, 1)
	r := newTable("table", kv)
	r.gate(kv.Service)
	c, _ := rig(t, 0, r)
	answer := find(t.Context(), c, kv.Service)
	<-r.entered
	c.Close()
	if err := <-answer; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := c.Find(t.Context(), kv.Service); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestALookupEndsWithItsTimeout(t *testing.T) {
	kv := named("kv", 1, 1)
	r := newTable("table", kv)
	r.gate(kv.Service)
	c := NewCache(CacheConfig{Timeout: time.Millisecond}, r)
	defer c.Close()
	answer := find(t.Context(), c, kv.Service)
	<-r.entered
	if err := <-answer; !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

func TestWhatIsRememberedIsFoundWithoutAllocation(t *testing.T) {
	kv := named("kv", 1, 1)
	c, _ := rig(t, 0, newTable("table", kv))
	found(t, c, kv.Service, 1)
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { _, _ = c.Find(ctx, kv.Service) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
