package sim

import (
	"testing"
	"unsafe"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// To look ahead changes when memory comes, and nothing else.
func TestLookingAheadChangesNothing(t *testing.T) {
	for seed := range uint64(50) {
		hash, events := chaos(t, seed)
		f := newFabric(t, Config{Seed: seed, Racks: 2, Uplink: 50e9})
		f.ahead = true
		if again, eventsAgain := chaosOn(t, f); again != hash || eventsAgain != events {
			t.Fatalf("seed %d gave %x with %d events, and looking ahead %x with %d", seed, hash, events, again, eventsAgain)
		}
	}
}

// walker is a runner that polls, and says what it touches.
type walker struct {
	queue *completionQueue
	into  [64]driver.Completion
	asked int
}

func (w *walker) Turn() (int, error) { return w.queue.Poll(w.into[:]) }
func (w *walker) Next() clock.Time   { return clock.Never }
func (w *walker) Scans() bool        { return false }
func (w *walker) Footprint(add func(unsafe.Pointer, uintptr)) {
	w.asked++
	for range 2 * len(w.queue.areas) {
		add(unsafe.Pointer(w), unsafe.Sizeof(*w))
	}
}
func (w *walker) FootprintOf(driver.Tag) unsafe.Pointer { return nil }

// A runner is asked what it touches, ever less often; what is too much is left out.
func TestFootprintIsLearnt(t *testing.T) {
	f, a, b, qa, qb := couple(t, Config{})
	f.ahead = true
	w := &walker{queue: b.queue}
	b.queue.Drive(w)
	for range 40 {
		qb.mustReceive(t, driver.Receive{Span: b.span(0, 8)})
		qa.must(t, driver.Request{Op: driver.OpSend, Span: a.span(0, 8)})
		must(t, f.Run(f.now+clock.Time(10_000)))
	}
	if turns := b.queue.turnCount; turns < 40 || w.asked < 6 || w.asked > 8 || b.queue.areaCount != len(b.queue.areas) {
		t.Errorf("asked %d times in %d turns, %d areas", w.asked, turns, b.queue.areaCount)
	}
}

// A Quiet word that ends well is over when it lands: its answer is no event, and nothing of it is left.
func TestQuietWordsEndWhenTheyLand(t *testing.T) {
	events := func(flags driver.Flags) uint64 {
		f, a, b, qa, qb := couple(t, Config{})
		before := f.Events()
		qa.must(t, driver.Request{Op: driver.OpRead, Span: a.span(0, 8), Remote: b.remote(0, 8)}) // what is before it comes first
		qb.mustReceive(t, driver.Receive{})
		qa.must(t, driver.Request{Op: driver.OpSendImm, Flags: flags})
		must(t, f.Run(clock.Time(1_000_000)))
		if got := len(a.poll()); got != 2 && flags == 0 || got != 1 && flags != 0 {
			t.Errorf("with flags %v %d requests completed", flags, got)
		}
		if left := f.requests.live(); left != 0 || qa.head != 0 {
			t.Errorf("%d requests are left", left)
		}
		return f.Events() - before
	}
	if loud, quiet := events(0), events(driver.Quiet); quiet != loud-1 {
		t.Errorf("%d events with an answer, %d without", loud, quiet)
	}
}
