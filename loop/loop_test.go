package loop

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs"
)

func TestEachMachineGetsItsOwn(t *testing.T) {
	r := newRig(t, Config{})
	machines, ports := make([]recorder, 100), make([]Port, 100)
	for i := range machines {
		var err error
		ports[i], err = r.Add(&machines[i])
		check(t, err)
	}
	for i := range machines {
		r.complete(t, ports[i].Tag(uint64(i)<<40|7))
	}
	for total := 0; total < len(machines); {
		n, err := r.Turn()
		check(t, err)
		if n == 0 {
			t.Fatalf("%d of %d completions came", total, len(machines))
		}
		total += n
	}
	for i := range machines {
		if got := machines[i].seen; len(got) != 1 || got[0].Tag != verbs.Tag(i)<<40|7 {
			t.Errorf("machine %d saw %+v", i, got)
		}
	}
}

func TestTimersFireInOrder(t *testing.T) {
	for at, want := range map[clock.Time]string{999: "[]", 1000: "[0]", 1010: "[0 10 10]", 1050: "[0 10 10 20 30 50]"} {
		r := newRig(t, Config{})
		var m recorder
		port, err := r.Add(&m)
		check(t, err)
		for _, d := range []int{50, 10, 30, 10, 0, 20} {
			port.After(time.Duration(d), uint64(d))
		}
		if got := r.Next(); got != 1000 {
			t.Errorf("the next timer is at %v", got)
		}
		r.fake.device.now = at
		_, err = r.Turn()
		check(t, err)
		fired := []int{}
		for _, c := range m.seen {
			fired = append(fired, int(c.Tag))
		}
		if fmt.Sprint(fired) != want {
			t.Errorf("at %v: %v fired, want %s", at, fired, want)
		}
	}
}

// A timer that sets another for now must not keep the turn from ending.
func TestATimerCannotHoldTheTurn(t *testing.T) {
	r := newRig(t, Config{})
	var m recorder
	port, err := r.Add(&m)
	check(t, err)
	m.then = func() { port.After(0, 1) }
	port.After(0, 1)
	for i := range 3 {
		if n, err := r.Turn(); n != 1 || err != nil {
			t.Fatalf("turn %d: %d, %v", i, n, err)
		}
	}
}

func TestFromInsideStepItIsBusy(t *testing.T) {
	r := newRig(t, Config{})
	b, err := NewBlocking(r.Loop)
	check(t, err)
	var inner []error
	m := &recorder{then: func() {
		_, failed := r.Turn()
		inner = append(inner, failed, r.Run(context.Background()), r.Start())
		_, failed = b.Start(func(verbs.Tag) error { return nil })
		inner = append(inner, failed)
		_, failed = b.Wait(context.Background(), &Pending{})
		inner = append(inner, failed, r.Close())
	}}
	port, err := r.Add(m)
	check(t, err)
	r.complete(t, port.Tag(0))
	_, err = r.Turn()
	check(t, err)
	for i, err := range inner {
		if !errors.Is(err, ErrBusy) {
			t.Errorf("call %d from inside Step: %v", i, err)
		}
	}
	if len(inner) != 6 {
		t.Errorf("%d calls were made", len(inner))
	}
}

func TestATagOfNobodyIsAnError(t *testing.T) {
	r := newRig(t, Config{})
	var m recorder
	port, err := r.Add(&m)
	check(t, err)
	for name, tag := range map[string]verbs.Tag{"raw": 5, "unknown owner": port.Tag(0) + 7<<valueBits} {
		r.complete(t, tag)
		if _, err := r.Turn(); !errors.Is(err, ErrNoMachine) {
			t.Errorf("%s tag: %v", name, err)
		}
	}
}

// The Port of a machine that was removed does nothing any more, even if another machine has its number.
func TestARemovedPortIsNoPlace(t *testing.T) {
	r := newRig(t, Config{})
	var gone, heir recorder
	old, err := r.Add(&gone)
	check(t, err)
	old.Remove()
	old.After(0, 1)
	turn(t, r)
	for range MaxMachines - 1 {
		_, err = r.Add(&recorder{})
		check(t, err)
	}
	port, err := r.Add(&heir)
	check(t, err)
	if port.owner != old.owner {
		t.Fatalf("the number is %d, want that of the first, %d", port.owner, old.owner)
	}
	old.After(0, 1)
	old.Remove()
	port.After(0, 2)
	turn(t, r)
	if len(gone.seen) != 0 || len(heir.seen) != 1 || heir.seen[0].Tag != 2 {
		t.Errorf("the removed machine saw %v, the one with its number %v", gone.seen, heir.seen)
	}
}

func turn(t *testing.T, r *rig) {
	t.Helper()
	_, err := r.Turn()
	check(t, err)
}

// A removed machine's timers go with it, and nobody else's.
func TestRemovedMachinesHaveNoTimers(t *testing.T) {
	r := newRig(t, Config{})
	var gone, stays recorder
	out, err := r.Add(&gone)
	check(t, err)
	in, err := r.Add(&stays)
	check(t, err)
	for i := range 10 {
		out.After(time.Duration(10-i), 1)
		in.After(time.Duration(10-i), uint64(10-i))
	}
	out.Remove()
	out.Remove()
	out.After(0, 1)
	r.fake.device.now += 100
	_, err = r.Turn()
	check(t, err)
	if len(gone.seen) != 0 || len(stays.seen) != 10 {
		t.Fatalf("the removed one saw %d, the other %d of 10", len(gone.seen), len(stays.seen))
	}
	for i, c := range stays.seen {
		if c.Tag != verbs.Tag(i+1) {
			t.Errorf("timer %d was set for %d", i, c.Tag)
		}
	}
}

// The order within a turn that ARCHITECTURE promises: mailbox, completions, timers, scanners.
func TestOrderOfATurn(t *testing.T) {
	r := newRig(t, Config{})
	var order []string
	m := &recorder{}
	m.then = func() { order = append(order, m.seen[len(m.seen)-1].Op.String()) }
	port, err := r.Add(m)
	check(t, err)
	_, err = r.Add(scanFunc(func() { order = append(order, "scan") }))
	check(t, err)
	port.After(0, 1)
	r.complete(t, port.Tag(2))
	check(t, r.Do(func() { order = append(order, "mail") }))
	_, err = r.Turn()
	check(t, err)
	if got := strings.Join(order, " "); got != "mail MemoryAccess Timer scan" {
		t.Errorf("the turn went: %s", got)
	}
}

// A busy queue must not keep timers and the mailbox waiting.
func TestBatchBoundsATurn(t *testing.T) {
	r := newRig(t, Config{Batch: 5})
	var m recorder
	port, err := r.Add(&m)
	check(t, err)
	for range 100 {
		r.complete(t, port.Tag(0))
	}
	for range 3 {
		before := len(m.seen)
		_, err := r.Turn()
		check(t, err)
		if took := len(m.seen) - before; took != 5 {
			t.Errorf("a turn took %d completions, the batch is 5", took)
		}
	}
	for len(r.fake.ready) > 0 {
		_, err := r.Turn()
		check(t, err)
	}
}

// Do is the one call that every goroutine may make at any time.
func TestDoFromManyGoroutines(t *testing.T) {
	r := newRig(t, Config{Waiting: Polling()})
	check(t, r.Start())
	const callers, calls = 4, 500
	ran, all := 0, make(chan struct{})
	var done sync.WaitGroup
	for range callers {
		done.Go(func() {
			for range calls {
				for errors.Is(r.Do(func() {
					if ran++; ran == callers*calls {
						close(all)
					}
				}), ErrFull) {
					runtime.Gosched()
				}
			}
		})
	}
	done.Wait()
	<-all
}

func TestMachinesAreLimitedAndNumbersReused(t *testing.T) {
	r := newRig(t, Config{})
	var last Port
	for range MaxMachines {
		var err error
		last, err = r.Add(&recorder{})
		check(t, err)
	}
	if _, err := r.Add(&recorder{}); !errors.Is(err, ErrFull) {
		t.Errorf("machine number %d: %v", MaxMachines+1, err)
	}
	last.Remove()
	_, err := r.Add(&recorder{})
	check(t, err)
	if _, err := r.Add(nil); !errors.Is(err, ErrArgument) {
		t.Errorf("no machine: %v", err)
	}
}

func TestDoRunsOnTheLoopAndWakes(t *testing.T) {
	r := newRig(t, Config{Mailbox: 2})
	var ran []int
	check(t, r.Do(func() {
		ran = append(ran, 1)
		check(t, r.Do(func() { ran = append(ran, 3) })) // next turn
	}))
	check(t, r.Do(func() { ran = append(ran, 2) }))
	if err := r.Do(func() {}); !errors.Is(err, ErrFull) {
		t.Errorf("the third of two: %v", err)
	}
	if !r.fake.woken.Load() {
		t.Error("Do did not wake the loop")
	}
	for want := 2; want <= 3; want++ {
		_, err := r.Turn()
		check(t, err)
		if fmt.Sprint(ran) != fmt.Sprint([]int{1, 2, 3}[:want]) {
			t.Errorf("ran %v", ran)
		}
	}
}

func TestCloseRunsWhatDoAccepted(t *testing.T) {
	r := newRig(t, Config{})
	ran := false
	check(t, r.Do(func() { ran = true }))
	check(t, r.Close())
	if !ran {
		t.Error("Do accepted a function, and Close dropped it")
	}
}

func TestWaitingPolicies(t *testing.T) {
	for _, c := range []struct {
		policy Waiting
		want   func(spin time.Duration) bool
	}{
		{Waiting{}, func(s time.Duration) bool { return s == DefaultSpin }},
		{Sleeping(), func(s time.Duration) bool { return s == 0 }},
		{Hybrid(time.Millisecond), func(s time.Duration) bool { return s == time.Millisecond }},
		{Polling(), func(s time.Duration) bool { return s > time.Hour }},
	} {
		r := newRig(t, Config{Waiting: c.policy})
		port, err := r.Add(&recorder{})
		check(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		r.fake.onWait = cancel
		port.After(0, 1) // activity
		check(t, r.Run(ctx))
		if len(r.fake.waits) == 0 || !c.want(r.fake.waits[0].spin) {
			t.Errorf("%+v waited as %+v", c.policy, r.fake.waits)
		}
	}
}

// After activity a hybrid loop spins, and the longer nothing happens the less is left of it.
func TestHybridSpinsLessWhenIdle(t *testing.T) {
	r := newRig(t, Config{Waiting: Hybrid(time.Millisecond)})
	port, err := r.Add(&recorder{})
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	port.After(0, 1)
	r.fake.onWait = func() {
		r.fake.device.now += clock.Time(400 * time.Microsecond)
		if len(r.fake.waits) >= 4 {
			cancel()
		}
	}
	check(t, r.Run(ctx))
	want := []time.Duration{1000, 600, 200, 0}
	for i, w := range want {
		if r.fake.waits[i].spin != w*time.Microsecond {
			t.Errorf("wait %d spins %v, want %v µs", i, r.fake.waits[i].spin, int(w))
		}
	}
}

// A hybrid loop whose pauses are long gives up spinning, and takes it up again when they have become short. One that spins no
// longer than an awakening takes never gives up.
func TestHybridSpinsWhereItHelps(t *testing.T) {
	for _, spin := range []time.Duration{time.Millisecond, DefaultSpin} {
		r := newRig(t, Config{Waiting: Hybrid(spin)})
		port, err := r.Add(&recorder{})
		check(t, err)
		for _, phase := range []struct {
			pause time.Duration
			spins bool
		}{{100 * time.Microsecond, true}, {600 * time.Microsecond, spin == DefaultSpin}, {100 * time.Microsecond, true}, {time.Hour, spin == DefaultSpin}} {
			for range 50 {
				port.After(0, 1)
				_, err := r.Turn()
				check(t, err)
				check(t, r.wait())
				r.fake.device.now += clock.Time(phase.pause)
			}
			if last := r.fake.waits[len(r.fake.waits)-1].spin; last != 0 != phase.spins {
				t.Errorf("hybrid with %v: it spins for %v after pauses of %v", spin, last, phase.pause)
			}
		}
	}
}

func TestScannersBoundTheSleep(t *testing.T) {
	r := newRig(t, Config{ScanEvery: 70})
	if r.Next() != clock.Never || r.Scans() {
		t.Errorf("without scanners: next %v, scans %t", r.Next(), r.Scans())
	}
	w := watcher{loop: r.Loop}
	port, err := r.Add(&w)
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	r.fake.onWait = func() {
		if len(w.scans) >= 5 {
			cancel()
		}
	}
	check(t, r.Run(ctx))
	for i := range 5 {
		if want := clock.Time(1000 + 70*i); w.scans[i] != want {
			t.Errorf("scan %d at %v, want %v", i, w.scans[i], want)
		}
	}
	port.Remove()
	if r.Scans() {
		t.Error("a removed scanner scans")
	}
}

func TestBlockingWaitsForItsOwn(t *testing.T) {
	r := newRig(t, Config{})
	b, err := NewBlocking(r.Loop)
	check(t, err)
	start := func(tag verbs.Tag) error { return r.memory.SetAccess(r.queue, tag, 0) }
	first, err := b.Start(start)
	check(t, err)
	c, err := b.Do(context.Background(), start)
	check(t, err)
	if c.Op != verbs.OpMemoryAccess {
		t.Errorf("%+v", c)
	}
	_, err = b.Wait(context.Background(), first)
	check(t, err)
	refused := errors.New("refused")
	if _, err := b.Do(context.Background(), func(verbs.Tag) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("a start that fails: %v", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	r.fake.onWait = func() { cancel(refused) }
	if _, err := b.Wait(ctx, &Pending{}); !errors.Is(err, refused) || !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ends: %v", err)
	}
	started := false
	_, err = b.Do(ctx, func(verbs.Tag) error { started = true; return nil })
	if !errors.Is(err, refused) || started {
		t.Errorf("a context that had ended: %v, started %t", err, started)
	}
}

func TestCloseStopsItsGoroutine(t *testing.T) {
	r := newRig(t, Config{Waiting: Polling()})
	var mu sync.Mutex
	mu.Lock()
	check(t, r.Start())
	check(t, r.Do(mu.Unlock))
	mu.Lock() // the loop's goroutine ran it
	check(t, r.Close())
	check(t, r.Close())
	if err := r.Do(func() {}); !errors.Is(err, ErrClosed) {
		t.Errorf("Do after Close: %v", err)
	}
	if err := r.Start(); !errors.Is(err, ErrClosed) {
		t.Errorf("Start after Close: %v", err)
	}
	if _, err := r.Turn(); !errors.Is(err, ErrClosed) {
		t.Errorf("Turn after Close: %v", err)
	}
}

// A loop whose goroutine waits for nobody: Close from inside a turn would wait for itself.
func TestCloseFromInsideItsOwnTurn(t *testing.T) {
	r := newRig(t, Config{})
	got := make(chan error)
	check(t, r.Start())
	check(t, r.Do(func() { got <- r.Close() }))
	if err := <-got; !errors.Is(err, ErrBusy) {
		t.Errorf("Close from a function given to Do: %v", err)
	}
	check(t, r.Close())
}

func TestAFailedLoopSaysSo(t *testing.T) {
	r := newRig(t, Config{})
	check(t, r.Do(func() { r.complete(t, 5) })) // a tag that no Port made
	check(t, r.Start())
	r.done.Wait()
	for name, err := range map[string]error{"Err": r.Err(), "Do": r.Do(func() {}), "Start": r.Start(), "Close": r.Close()} {
		if !errors.Is(err, ErrNoMachine) {
			t.Errorf("%s of a loop that has failed: %v", name, err)
		}
	}
	check(t, r.Close())
}

func TestOneLoopForAQueue(t *testing.T) {
	r := newRig(t, Config{})
	if _, err := New(Config{Completions: r.queue}); !errors.Is(err, verbs.ErrInUse) {
		t.Errorf("a second loop on one queue: %v", err)
	}
	check(t, r.Close())
	second, err := New(Config{Completions: r.queue})
	check(t, err)
	check(t, second.Close())
}

func TestMissingArguments(t *testing.T) {
	r := newRig(t, Config{})
	b, err := NewBlocking(r.Loop)
	check(t, err)
	_, errNoLoop := NewBlocking(nil)
	_, errNoPending := b.Wait(context.Background(), nil)
	_, errNoMemory := b.FetchAdd(context.Background(), nil, Word{}, verbs.RemoteSpan{}, 1)
	_, errNoStart := b.Start(nil)
	var nothing context.Context
	_, errNoContext := b.Do(nothing, func(verbs.Tag) error { return nil })
	for name, err := range map[string]error{"Do": r.Do(nil), "NewBlocking": errNoLoop, "Wait": errNoPending,
		"FetchAdd": errNoMemory, "Start": errNoStart,
		"Do without context": errNoContext, "Run": r.Run(nothing)} {
		if !errors.Is(err, ErrArgument) {
			t.Errorf("%s of nothing: %v", name, err)
		}
	}
	var nowhere Port
	nowhere.After(0, 1)
	nowhere.Remove()
	if nowhere.Loop() != nil {
		t.Error("the zero Port has a loop")
	}
}

// A scanner that removes itself or others disturbs nobody else: each of the rest looks once a turn.
func TestScannersMayGo(t *testing.T) {
	r := newRig(t, Config{})
	const n = 9
	var scanned [n]int
	var ports [n]Port
	for i := range ports {
		var err error
		ports[i], err = r.Add(scanFunc(func() {
			scanned[i]++
			if i%3 == 0 {
				ports[i].Remove()
				ports[i+1].Remove() // the next one, before its look
			}
		}))
		check(t, err)
	}
	for range 3 {
		_, err := r.Turn()
		check(t, err)
	}
	if scanned != [n]int{1, 0, 3, 1, 0, 3, 1, 0, 3} {
		t.Errorf("scanned %v times", scanned)
	}
	ports[2].Remove()
	ports[5].Remove()
	if !r.Scans() {
		t.Error("one is left, and the loop does not scan")
	}
	ports[8].Remove()
	if r.Scans() {
		t.Error("nobody is left, and the loop scans")
	}
}

// scanFunc is a machine that only scans.
type scanFunc func()

func (scanFunc) Step(*verbs.Completion) {}

func (f scanFunc) Scan() bool {
	f()
	return false
}

func TestBadConfig(t *testing.T) {
	r := newRig(t, Config{})
	for name, c := range map[string]Config{
		"no queue":       {},
		"negative batch": {Completions: r.queue, Batch: -1},
		"negative spin":  {Completions: r.queue, Waiting: Hybrid(-1)},
	} {
		if _, err := New(c); !errors.Is(err, ErrArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestATurnDoesNotAllocate(t *testing.T) {
	r := newRig(t, Config{})
	var m recorder
	port, err := r.Add(&m)
	check(t, err)
	m.seen = make([]verbs.Completion, 0, 100)
	if got := testing.AllocsPerRun(100, func() {
		m.seen = m.seen[:0]
		for i := range 16 {
			port.After(time.Duration(i), 3)
		}
		r.fake.device.now += 16
		_, _ = r.Turn()
	}); got != 0 {
		t.Errorf("%v allocations a turn", got)
	}
}
