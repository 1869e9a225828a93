package hook

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

func countedRig(t testing.TB) (*rig, *Counter) {
	var counter *Counter
	r := newRig(t, func(d driver.Device) driver.Device {
		d.(*fake).locks = 100
		d, counter = Count(d)
		return d
	})
	return r, counter
}

func TestCounts(t *testing.T) {
	r, counter := countedRig(t)
	before := counter.Snapshot()
	if before.Operations.Of(driver.OpConnect) != 2 || before.Requests != 0 || before.Locks != 0 {
		t.Errorf("after connecting: %+v", before)
	}
	r.receive(1, 2)
	r.post(r.a, r.request(3, driver.OpSend, 0), r.request(4, driver.OpWrite, driver.Quiet),
		r.request(5, driver.OpWrite, 0))
	bad := r.request(6, driver.OpRead, 0)
	bad.Remote.Key = 77
	r.post(r.a, bad)
	r.poll()
	r.poll()
	r.queue.(driver.Waiter).Wake()
	if err := r.queue.(driver.Waiter).Wait(0, 0); err != nil {
		t.Fatal(err)
	}
	r.fake.locks += 9
	want := Counts{Requests: 4, Doorbells: 2, Receives: 2, ReceiveDoorbells: 1, Polls: 2, EmptyPolls: 1, Waits: 1,
		Wakes: 1, Locks: 9}
	want.Operations[driver.OpSend], want.Bytes[driver.OpSend] = 1, 8
	want.Operations[driver.OpWrite], want.Bytes[driver.OpWrite] = 2, 16
	want.Operations[driver.OpRead], want.Bytes[driver.OpRead] = 1, 8
	want.Operations[driver.OpReceive], want.Bytes[driver.OpReceive] = 2, 8 // one of them flushed
	want.Completions[driver.OK], want.Completions[driver.RemoteAccess] = 3, 1
	want.Completions[driver.Flushed] = 1
	if got := counter.Snapshot().Sub(before); got != want {
		t.Errorf("counted\n%+v, want\n%+v", got, want)
	}
}

func TestCountsOnlyWhatWasTaken(t *testing.T) {
	r, counter := countedRig(t)
	r.fake.pairs[r.a.Number()].full = true
	n, err := r.a.Post([]driver.Request{r.request(1, driver.OpWrite, 0), r.request(2, driver.OpWrite, 0)})
	if n != 1 || err == nil || counter.Snapshot().Requests != 1 {
		t.Errorf("took %d (%v), counted %d", n, err, counter.Snapshot().Requests)
	}
}

func TestCountsSurviveClose(t *testing.T) {
	r, counter := countedRig(t)
	before := counter.Snapshot()
	closeAll(t, r.a, r.b, r.queue)
	if err := r.queue.Close(); err != nil { // a second Close must not add twice
		t.Fatal(err)
	}
	if got := counter.Snapshot(); got != before {
		t.Errorf("after Close %+v, before %+v", got, before)
	}
}

func TestUnknownWordsAreCounted(t *testing.T) {
	s := &shard{}
	s.completions([]driver.Completion{{Op: 200, Status: 200}})
	if s.cells[cellOperations].Load() != 1 || s.cells[cellCompletions+statusCount-1].Load() != 1 {
		t.Error("an unknown operation and status were not counted")
	}
}

func TestCountsAsText(t *testing.T) {
	r, counter := countedRig(t)
	r.post(r.a, r.request(1, driver.OpWrite, 0))
	r.poll()
	text := counter.Snapshot().String()
	for _, want := range []string{"Write", "Connect", "OK", "doorbells", "1 requests"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "Read") || strings.Contains(text, "Flushed") {
		t.Errorf("rows of zeros in\n%s", text)
	}
}

func TestCountsAsJSON(t *testing.T) {
	c := Counts{Doorbells: 2}
	c.Operations[driver.OpWrite], c.Operations[driver.OpRead] = 3, 4
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"operations":{"Write":3,"Read":4},"bytes":{},"requests":0,"doorbells":2,"receives":0,` +
		`"receive_doorbells":0,"polls":0,"empty_polls":0,"completions":{},"waits":0,"wakes":0,"locks":0}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

// TestSnapshotMeanwhile is for the race detector; the sums say that nothing got lost.
func TestSnapshotMeanwhile(t *testing.T) {
	const rounds = 1000
	r, counter := countedRig(t)
	waker := r.queue.(driver.Waiter) // the one thing that any goroutine may use
	var wg sync.WaitGroup
	wg.Go(func() {
		for range rounds {
			counter.Snapshot()
			waker.Wake()
		}
	})
	list := []driver.Request{r.request(1, driver.OpWrite, 0)}
	into := make([]driver.Completion, 4)
	for range rounds {
		r.a.Post(list)
		r.queue.Poll(into)
	}
	wg.Wait()
	if got := counter.Snapshot(); got.Requests != rounds || got.Wakes != rounds {
		t.Errorf("counted %d requests and %d wakes, want %d each", got.Requests, got.Wakes, rounds)
	}
}

// roundTrip returns a function that posts, receives and polls, with what it needs made beforehand.
func roundTrip(r *rig) func() {
	list := []driver.Request{r.request(1, driver.OpWrite, 0), r.request(2, driver.OpSend, 0)}
	receives := []driver.Receive{{Tag: 3, Span: span(r.theirs, 0, 8)}}
	into := make([]driver.Completion, 8)
	return func() {
		r.b.PostReceive(receives)
		r.a.Post(list)
		if n, _ := r.queue.Poll(into); n != 3 {
			panic(n)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	for name, hook := range hooks {
		if n := testing.AllocsPerRun(100, roundTrip(newRig(t, hook))); n != 0 {
			t.Errorf("%s: %v allocations for a round trip", name, n)
		}
	}
}

// BenchmarkRoundTrip shows what a hook costs: compare with bare.
func BenchmarkRoundTrip(b *testing.B) {
	bare := func(d driver.Device) driver.Device { return d }
	for _, c := range []struct {
		name string
		hook func(driver.Device) driver.Device
	}{{"bare", bare}, {"count", hooks["count"]}, {"trace", hooks["trace"]}, {"fault", hooks["fault"]}} {
		b.Run(c.name, func(b *testing.B) {
			trip := roundTrip(newRig(b, c.hook))
			b.ReportAllocs()
			for b.Loop() {
				trip()
			}
		})
	}
}
