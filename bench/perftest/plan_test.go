package perftest

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/units"
)

func TestValidate(t *testing.T) {
	good := smallPlan()
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Plan){
		"no threads":       func(p *Plan) { p.Threads = 0 },
		"many threads":     func(p *Plan) { p.Threads, p.Pairs = MaxThreads+1, MaxThreads+1 },
		"too few pairs":    func(p *Plan) { p.Pairs = 1 },
		"too many pairs":   func(p *Plan) { p.Pairs = MaxPairs + 1 },
		"no depth":         func(p *Plan) { p.Depth = 0 },
		"too deep":         func(p *Plan) { p.Pairs, p.Depth, p.Sizes = 10_000, 1000, []units.Size{8} },
		"list over depth":  func(p *Plan) { p.List = p.Depth + 1 },
		"quiet over depth": func(p *Plan) { p.QuietEvery = p.Depth + 1 },
		"negative batch":   func(p *Plan) { p.Batch = -1 },
		"no end":           func(p *Plan) { p.Iterations = 0 },
		"two days":         func(p *Plan) { p.Iterations, p.Duration = 0, 48*time.Hour },
		"negative count":   func(p *Plan) { p.Iterations = -1 },
		"negative warm-up": func(p *Plan) { p.WarmUp = -1 },
		"no operation":     func(p *Plan) { p.Operations = nil },
		"no size":          func(p *Plan) { p.Sizes = nil },
		"size 0":           func(p *Plan) { p.Sizes = []units.Size{0} },
		"size too large":   func(p *Plan) { p.Sizes = []units.Size{MaxSize + 1} },
		"too much memory":  func(p *Plan) { p.Pairs, p.Sizes = 1000, []units.Size{MaxSize} },
		"too many runs":    func(p *Plan) { p.Sizes = make([]units.Size, maxRuns) },
		"sleeping write":   func(p *Plan) { p.Wait = Sleeping },
	} {
		p := smallPlan()
		spoil(&p)
		if err := p.Validate(); !errors.Is(err, ErrPlan) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRunsInTheirOrder(t *testing.T) {
	p := smallPlan()
	runs := p.Runs()
	// Four operations with four sizes, two atomics with one; each measured twice.
	if len(runs) != 2*(4*4+2) {
		t.Fatalf("%d runs", len(runs))
	}
	if runs[0] != (Run{Write, Latency, 1}) || runs[4] != (Run{Write, Bandwidth, 1}) || runs[len(runs)-1] != (Run{CompareSwap, Bandwidth, 8}) {
		t.Errorf("%v", runs)
	}
}

func TestPlanSurvivesTheNote(t *testing.T) {
	p := smallPlan()
	text, err := json.Marshal(note{Plan: &p})
	if err != nil {
		t.Fatal(err)
	}
	var heard note
	if err := json.Unmarshal(text, &heard); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(heard)
	if err != nil || string(again) != string(text) {
		t.Errorf("%s became %s, %v", text, again, err)
	}
}

// FuzzNote: whatever a stranger sends, a plan that is accepted keeps within the limits.
func FuzzNote(f *testing.F) {
	p := smallPlan()
	text, err := json.Marshal(note{Plan: &p})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"plan":{"operations":["write"],"sizes":[9223372036854775807]}}`))
	f.Add([]byte(`{"plan":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var heard note
		if json.Unmarshal(text, &heard) != nil {
			return
		}
		plan, err := accept(heard)
		if err != nil {
			return
		}
		if n := len(plan.Runs()); n == 0 || n > maxRuns {
			t.Fatalf("%d runs", n)
		}
		if need := 2 * int64(plan.Pairs) * int64(plan.slot()); need <= 0 || need > maxMemory {
			t.Fatalf("%d bytes of memory", need)
		}
		for _, run := range plan.Runs() {
			if w := plan.window(run); w < 1 || w > plan.Depth {
				t.Fatalf("%v: a window of %d", run, w)
			}
		}
	})
}
