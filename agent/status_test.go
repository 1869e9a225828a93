package agent

import (
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
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

// What a pusher knows from answers to its calls is no news: of hundreds of hosts each would cost it a call more.
func TestNewsAreNew(t *testing.T) {
	r := newRig(t, Config{})
	p := newPlay(r, testBlock)
	opened := must[control.Opened](r, control.MethodOpen, p.order)
	g := p.form(r, 1, p.plan())
	if s := must[control.Status](r, control.MethodStatus, control.StatusRequest{ID: p.id}); s.Change != opened.Change || s.Epoch != 1 {
		t.Errorf("it was opened at change %d: %+v", opened.Change, s)
	}
	p.sendManifest(r, g)
	if s := must[control.Status](r, control.MethodStatus, control.StatusRequest{ID: p.id}); s.Change != opened.Change+1 || s.Phase != control.PhaseReady {
		t.Errorf("%d changes until the first block may come: %+v", s.Change-opened.Change, s)
	}
}

// What Prometheus is told of a push: what came with the headers, what was written without, and how it ended.
func TestMetricsOfAPush(t *testing.T) {
	registry := prometheus.NewRegistry()
	r := newRig(t, Config{Registry: registry})
	p := newPlay(r, 40*testBlock+5)
	g := p.begin(r)
	p.sendManifest(r, g)
	came := len(p.wire(manifest.ManifestStream, 0))
	for block := range p.content {
		p.deliver(t, g, manifest.ContentStream, block)
		came += len(p.wire(manifest.ContentStream, block))
	}
	g.Notify(member.Event{Epoch: 1, Kind: member.Completed, Stream: 1})
	p.await(r, control.PhaseComplete)
	if finished := counterOf(t, registry, "weft_agent_pushes_finished_total"); finished != 0 {
		t.Errorf("%g pushes were finished before the end", finished)
	}
	must[control.Finished](r, control.MethodFinish, control.Finish{ID: p.id, Closing: p.closing()})
	for name, want := range map[string]int{
		"pushes_total": 1, "pushes_finished_total": 1, "received_bytes_total": came, "written_bytes_total": 40*testBlock + 5, "sent_bytes_total": 7,
	} {
		if got := counterOf(t, registry, "weft_agent_"+name); got != float64(want) {
			t.Errorf("%s is %g, want %d", name, got, want)
		}
	}
}

// A push that fails counts by its class, and not as finished; what could not be written is not counted as written.
func TestMetricsOfAFailure(t *testing.T) {
	registry := prometheus.NewRegistry()
	r := newRig(t, Config{Registry: registry})
	p := newPlay(r, testBlock)
	g := p.begin(r)
	r.disk.broken = syscall.ENOSPC
	l, _ := p.layout(manifest.ContentStream)
	if err := g.Blocks.Keep(l, 0, p.wire(manifest.ContentStream, 0)); err == nil {
		t.Error("a full disk takes a block")
	}
	for name, want := range map[string]float64{"pushes_total": 1, "push_failures_total": 1, "pushes_finished_total": 0, "written_bytes_total": 0} {
		if got := counterOf(t, registry, "weft_agent_"+name); got != want {
			t.Errorf("%s is %g, want %g", name, got, want)
		}
	}
	if !r.agent.counts.failures.DeleteLabelValues(string(control.Preflight)) {
		t.Error("it counts as another failure")
	}
}

// stuck is blocks on a disk that hangs.
type stuck struct {
	member.Blocks
	begun, hangs chan struct{}
}

func (s stuck) Keep(manifest.Layout, int, []byte) error        { return s.wait() }
func (s stuck) Fetch(_ manifest.Layout, _ int, _ []byte) error { return s.wait() }

func (s stuck) wait() error {
	s.begun <- struct{}{}
	<-s.hangs
	return nil
}

// A disk that hangs is told of, by what it does not end: to write a block, or to read one.
func TestDiskThatHangs(t *testing.T) {
	disk := stuck{begun: make(chan struct{}), hangs: make(chan struct{})}
	r := newRig(t, Config{Blocks: func(member.Blocks) member.Blocks { return disk }})
	p := newPlay(r, testBlock)
	g := p.begin(r)
	l, _ := p.layout(manifest.ContentStream)
	oldest := func() int64 {
		return must[control.Status](r, control.MethodStatus, control.StatusRequest{ID: p.id}).Disk.Oldest
	}
	for name, do := range map[string]func(manifest.Layout, int, []byte) error{"keep": g.Blocks.Keep, "fetch": g.Blocks.Fetch} {
		if is := oldest(); is != 0 {
			t.Errorf("%s: it has not begun, and has taken %d ns", name, is)
		}
		ended := make(chan error)
		go func() { ended <- do(l, 0, nil) }()
		<-disk.begun
		for first := oldest(); oldest() <= first; {
			time.Sleep(time.Millisecond)
		}
		disk.hangs <- struct{}{}
		check(t, <-ended)
	}
	if is := oldest(); is != 0 {
		t.Errorf("all has ended, and takes %d ns", is)
	}
}

// A long task that gets on is none that hangs.
func TestTaskGetsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all tasks
		long, short := all.begin(), all.begin()
		time.Sleep(time.Minute)
		long.goOn()
		if is := all.oldest(); is != time.Minute {
			t.Error(is)
		}
		short.end()
		time.Sleep(time.Second)
		if is := all.oldest(); is != time.Second {
			t.Error(is)
		}
	})
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
