package agent

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-fabric/weft/push/control"
)

// What was sent is counted once, also when a crew says for a while that it was less.
func TestSentIsCountedOnce(t *testing.T) {
	registry := prometheus.NewRegistry()
	r := newRig(t, Config{Registry: registry})
	p := newPlay(r, testBlock)
	p.begin(r)
	for _, isBusy := range []bool{true, false, true, false} {
		r.last().setBusy(isBusy)
		s := must[control.Status](r, control.MethodStatus, control.StatusRequest{ID: p.id})
		if counted := counterOf(t, registry, "weft_agent_sent_bytes_total"); counted != float64(s.Sent) {
			t.Errorf("%d were sent, and %g are counted", s.Sent, counted)
		}
	}
	r.last().setBusy(true)
	must[control.Empty](r, control.MethodAbort, control.Abort{ID: p.id})
	if counted := counterOf(t, registry, "weft_agent_sent_bytes_total"); counted != 7 {
		t.Errorf("7 were sent, and %g are counted", counted)
	}
}

// While a group is formed, nobody is told of what was sent in the one before as if it were of this one.
func TestHopsOfTheFormerGroup(t *testing.T) {
	r := newRig(t, Config{})
	p := newPlay(r, testBlock)
	p.begin(r)
	must[control.Empty](r, control.MethodEnd, control.End{ID: p.id, Epoch: 1})
	status := func() control.Status {
		return must[control.Status](r, control.MethodStatus, control.StatusRequest{ID: p.id})
	}
	if s := status(); s.Epoch != 1 || len(s.Hops) != 1 {
		t.Errorf("%+v", s)
	}
	r.last().forming = func() {
		if s := status(); s.Epoch != 2 || len(s.Hops) > 0 || s.Sent != 7 {
			t.Errorf("%+v", s)
		}
	}
	p.form(r, 2, p.plan())
	if s := status(); len(s.Hops) != 1 {
		t.Errorf("%+v", s)
	}
}

// counterOf is what a counter says.
func counterOf(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	check(t, err)
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("there is no %s", name)
	return 0
}
