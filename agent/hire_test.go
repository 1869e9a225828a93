package agent

import (
	"testing"

	"github.com/weft-fabric/weft/push/control"
)

// An agent sends as fast as the plan allows, also when another plan allows more: the crew that was made for one rate is not that of another.
func TestRateOfThePlan(t *testing.T) {
	r := newRig(t, Config{})
	p := newPlay(r, 3*testBlock)
	p.begin(r)
	plan := p.plan()
	for i, rate := range []uint64{3e6, 3e6, 5e6, 0} {
		must[control.Empty](r, control.MethodEnd, control.End{ID: p.id, Epoch: i + 1})
		plan.Rate = rate
		p.form(r, i+2, plan)
		if got := r.wishes[len(r.wishes)-1].rate; got != rate {
			t.Errorf("the plan allows %d bytes a second, and the crew is made for %d", rate, got)
		}
	}
	if len(r.wishes) != 4 {
		t.Errorf("%d crews were made, for rates 0, 3 MB, 5 MB, and 0 again", len(r.wishes))
	}
}
