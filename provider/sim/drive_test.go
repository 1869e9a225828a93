package sim

import (
	"errors"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// script is a runner made of functions.
type script struct {
	turn  func() error
	next  clock.Time
	scans bool
	turns []clock.Time // when they came
	clock clock.Clock
}

func (s *script) Next() clock.Time { return s.next }
func (s *script) Scans() bool      { return s.scans }

func (s *script) Turn() (int, error) {
	s.turns = append(s.turns, s.clock.Now())
	if s.turn == nil {
		return 0, nil
	}
	return 1, s.turn()
}

func TestTurnsComeForAReason(t *testing.T) {
	f, a, b, qa, _ := couple(t, quiet())
	s := &script{next: clock.Never, clock: f, turn: func() error { b.poll(); return nil }}
	b.queue.Drive(s)
	qa.must(t, driver.Request{Op: driver.OpWrite, Span: a.span(0, 1), Remote: b.remote(0, 1)})
	must(t, f.Run(f.now+100_000))
	if len(s.turns) != 0 {
		t.Fatalf("a plain write woke a runner that does not scan, at %v", s.turns)
	}
	s.scans = true
	qa.must(t, driver.Request{Op: driver.OpWrite, Span: a.span(0, 1), Remote: b.remote(0, 1)})
	must(t, f.Run(f.now+100_000))
	if len(s.turns) != 1 {
		t.Fatalf("a scanner got %d turns for a write", len(s.turns))
	}
	b.queue.Wake()
	must(t, f.Run(f.now+1))
	if len(s.turns) != 2 {
		t.Fatalf("a wake gave %d turns, want one more", len(s.turns)-1)
	}
	deadline := f.now + 5000
	s.next = deadline
	s.turn = func() error { s.next = clock.Never; return nil }
	b.queue.Drive(s)
	must(t, f.Run(f.now+100_000))
	if len(s.turns) != 3 || s.turns[2] != deadline {
		t.Fatalf("turns at %v, want the third at %v", s.turns, deadline)
	}
	b.queue.Drive(nil)
	b.queue.Wake()
	must(t, f.Run(f.now+100))
	if len(s.turns) != 3 {
		t.Error("a turn came after the runner was taken away")
	}
}

func TestCompletionsGiveTurns(t *testing.T) {
	f, _, b, qa, qb := couple(t, quiet())
	s := &script{next: clock.Never, clock: f}
	got := 0
	s.turn = func() error { got += len(b.poll()); return nil }
	b.queue.Drive(s)
	qb.mustReceive(t, driver.Receive{}, driver.Receive{}, driver.Receive{})
	qa.must(t, driver.Request{Op: driver.OpSend}, driver.Request{Op: driver.OpSend}, driver.Request{Op: driver.OpSend})
	must(t, f.Run(f.now+100_000))
	if got != 3 {
		t.Errorf("the runner saw %d completions", got)
	}
}

// A deadline far away is planned once, whatever turns come before it, for near deadlines or other reasons.
func TestFarDeadlineIsPlannedOnce(t *testing.T) {
	f := newFabric(t, quiet())
	a := newHost(t, f, NodeConfig{Name: "a"})
	far := clock.Time(time.Hour)
	s := &script{next: far, clock: f}
	s.turn = func() error {
		if s.next = far; len(s.turns)%2 == 1 {
			s.next = f.now + 5
		}
		return nil
	}
	a.queue.Drive(s)
	for range 1000 {
		a.queue.Wake()
		must(t, f.Run(f.now+10))
	}
	if left, _ := f.events.left(); len(s.turns) != 2000 || left != 1 {
		t.Errorf("%d turns, and %d events are left", len(s.turns), left)
	}
	s.turn = func() error { s.next = clock.Never; return nil }
	must(t, f.Run(clock.Never))
	if last := s.turns[len(s.turns)-1]; len(s.turns) != 2001 || last != far {
		t.Errorf("%d turns, the last at %v", len(s.turns), last)
	}
}

// A sleeper pays for being woken, a spinner does not.
func TestWakeCosts(t *testing.T) {
	first := func(c NodeConfig) clock.Time {
		f := newFabric(t, quiet())
		c.Name = "a"
		a := newHost(t, f, c)
		s := &script{next: clock.Never, clock: f}
		a.queue.Drive(s)
		must(t, f.Run(1000))
		a.queue.Wake()
		must(t, f.Run(100_000))
		return s.turns[0]
	}
	if got := first(NodeConfig{Wake: 3 * time.Microsecond, Spin: 500}); got != 4000 {
		t.Errorf("the sleeper woke at %v", got)
	}
	if got := first(NodeConfig{Wake: 3 * time.Microsecond, Spin: 2000}); got != 1000 {
		t.Errorf("the spinner had its turn at %v", got)
	}
}

// Posting takes the loop's core: its next turn waits until it is through.
func TestPostingTakesTime(t *testing.T) {
	f, a, _, qa, _ := couple(t, quiet())
	s := &script{next: clock.Never, clock: f}
	s.turn = func() error {
		if len(s.turns) == 1 {
			qa.must(t, make10(driver.Request{Op: driver.OpWrite, Flags: driver.Quiet})...)
			a.queue.Wake()
		}
		return nil
	}
	a.queue.Drive(s)
	a.queue.Wake()
	start := f.now
	must(t, f.Run(f.now+100_000))
	if want := start + f.delay.post + 9*f.delay.postMore; len(s.turns) != 2 || s.turns[0] != start || s.turns[1] != want {
		t.Errorf("turns at %v, want %v and %v", s.turns, start, want)
	}
}

func make10(r driver.Request) []driver.Request {
	list := make([]driver.Request, 10)
	for i := range list {
		list[i] = r
	}
	return list
}

func TestErrorOfATurnIsKept(t *testing.T) {
	f := newFabric(t, Config{})
	a := newHost(t, f, NodeConfig{Name: "a"})
	broken := errors.New("broken")
	a.queue.Drive(&script{next: 10, clock: f, turn: func() error { return broken }})
	if err := f.Run(clock.Never); !errors.Is(err, broken) {
		t.Errorf("Run says %v", err)
	}
	more, err := f.Step()
	if more || !errors.Is(err, broken) || !errors.Is(f.Err(), broken) || !errors.Is(a.queue.Wait(clock.Never, 0), broken) {
		t.Errorf("later: %v, %v, %v", more, err, f.Err())
	}
}

// A loop may crash its own node: only that loop ends.
func TestCrashFromItsOwnTurn(t *testing.T) {
	f := newFabric(t, Config{})
	a, b := newHost(t, f, NodeConfig{Name: "a"}), newHost(t, f, NodeConfig{Name: "b"})
	s := &script{next: 10, clock: f, turn: func() error {
		must(t, f.Crash("a"))
		return second(a.queue.Poll(nil))
	}}
	a.queue.Drive(s)
	other := &script{next: 20, clock: f}
	b.queue.Drive(other)
	must(t, f.Run(30))
	if len(s.turns) != 1 || len(other.turns) != 11 {
		t.Errorf("%d turns of the crashed, %d of the other", len(s.turns), len(other.turns))
	}
}

// Once the loop that failed is out of the way, and only then, the others can go on.
func TestOthersGoOnAfterAFailure(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		remove func(f *Fabric, a *host) error
		want   error
	}{
		"crashed":     {func(f *Fabric, _ *host) error { return f.Crash("a") }, nil},
		"loop closed": {func(_ *Fabric, a *host) error { a.queue.Drive(nil); return nil }, nil},
		"still there": {func(*Fabric, *host) error { return nil }, broken},
	} {
		f := newFabric(t, Config{})
		a, b := newHost(t, f, NodeConfig{Name: "a"}), newHost(t, f, NodeConfig{Name: "b"})
		a.queue.Drive(&script{next: 10, clock: f, turn: func() error { return broken }})
		other := &script{next: 20, clock: f}
		b.queue.Drive(other)
		if err := f.Run(30); !errors.Is(err, broken) || f.Now() != 10 || len(other.turns) != 0 {
			t.Fatalf("%s: Run says %v at %v", name, err, f.Now())
		}
		must(t, c.remove(f, a))
		f.ClearErr()
		if err := f.Run(30); !errors.Is(err, c.want) || (c.want == nil) != (len(other.turns) == 11) {
			t.Errorf("%s: Run goes on with %v and %d turns", name, err, len(other.turns))
		}
	}
}

func TestTimeCannotBeAdvancedFromInside(t *testing.T) {
	f := newFabric(t, Config{})
	a := newHost(t, f, NodeConfig{Name: "a"})
	f.At(5, func() {
		for name, err := range map[string]error{
			"Wait": a.queue.Wait(100, 0), "Run": f.Run(100), "RunUntil": f.RunUntil(func() bool { return false }, 100),
			"Step": second(f.Step()),
		} {
			if !errors.Is(err, ErrInside) {
				t.Errorf("%s says %v", name, err)
			}
		}
	})
	must(t, f.Run(10))
}

// A program that recovers from a panic of its own can go on.
func TestPanicEndsTheEvent(t *testing.T) {
	f := newFabric(t, Config{})
	f.At(5, func() { panic("mine") })
	func() {
		defer func() { _ = recover() }()
		_ = f.Run(10)
	}()
	if must(t, f.Run(10)); f.Now() != 10 {
		t.Errorf("went on to %v", f.Now())
	}
}

// A runner that always wants a turn at once does not stop time.
func TestGreedyRunner(t *testing.T) {
	f := newFabric(t, Config{})
	a := newHost(t, f, NodeConfig{Name: "a"})
	s := &script{clock: f}
	a.queue.Drive(s)
	must(t, f.Run(50))
	if len(s.turns) != 51 {
		t.Errorf("%d turns in 50 ns", len(s.turns))
	}
}

// Who takes a queue over from a driven loop sees a completion when it is there: the loop's time to wake up is not his.
func TestTakingOverDoesNotWaitForTheWake(t *testing.T) {
	f := newFabric(t, quiet())
	a, b := newHost(t, f, NodeConfig{Name: "a", Wake: time.Millisecond}), newHost(t, f, NodeConfig{Name: "b"})
	qa, qb := a.pair(), b.pair()
	join(a, b, qa, qb)
	a.queue.Drive(idler{})
	start := f.now
	_, err := qa.Post([]driver.Request{{Tag: 9, Op: driver.OpWrite}})
	must(t, err)
	must(t, f.RunUntil(func() bool { return a.queue.items.count > 0 }, clock.Never))
	a.queue.Drive(nil)
	must(t, a.queue.Wait(clock.Never, 0))
	if took := f.now.Sub(start); took >= time.Millisecond {
		t.Errorf("Wait saw the completion after %v", took)
	}
}

// idler is a runner that does nothing.
type idler struct{}

func (idler) Turn() (int, error) { return 0, nil }
func (idler) Next() clock.Time   { return clock.Never }
func (idler) Scans() bool        { return false }

// The host of a node that pauses sees nothing of what comes meanwhile, and everything after; its NIC takes it in.
func TestPauseHoldsBackTurns(t *testing.T) {
	f, a, b, qa, _ := couple(t, quiet())
	s := &script{next: f.now + 2000, clock: f, scans: true}
	s.turn = func() error { s.next = clock.Never; b.poll(); return nil }
	b.queue.Drive(s)
	must(t, f.Pause("b", 20*time.Microsecond))
	end := f.now + 20_000
	landed := false
	f.config.Observe = func(e Event) { landed = landed || e.Kind == Landed && e.Time < end }
	qa.must(t, driver.Request{Op: driver.OpWrite, Span: a.span(0, 1), Remote: b.remote(0, 1)})
	must(t, f.Run(end-1))
	if len(s.turns) != 0 || !landed {
		t.Fatalf("in the pause: turns at %v, the write landed: %t", s.turns, landed)
	}
	must(t, f.Run(end+100_000))
	if len(s.turns) != 1 || s.turns[0] != end {
		t.Fatalf("turns at %v, want one at %v, when the pause ends", s.turns, end)
	}
}
