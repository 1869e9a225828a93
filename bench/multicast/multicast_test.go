package multicast

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/delivery"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestValidate(t *testing.T) {
	fine := Options{Pairs: 7, Rounds: 5, Out: "x"}
	if err := fine.Validate(); err != nil {
		t.Error(err)
	}
	for says, change := range map[string]func(*Options){
		"--pairs 0":        func(o *Options) { o.Pairs = 0 },
		"--pairs 1001":     func(o *Options) { o.Pairs = 1001 },
		"--rounds 0":       func(o *Options) { o.Rounds = 0 },
		"at least 7 and 5": func(o *Options) { o.Rounds = 4 },
		"whole runs only":  func(o *Options) { o.Partial = true },
		"--plot":           func(o *Options) { o.Plot = "x.png" },
		"move it away":     func(o *Options) { o.Out = "doc.go" },
	} {
		o := fine
		change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// samples are deliveries that took so many seconds each.
func samples(times ...float64) (all []delivery.Sample) {
	for _, s := range times {
		all = append(all, delivery.Sample{Seconds: s, Whole: s + 2, CPU: s / 10, Skew: s / 100, Bound: 1.02})
	}
	return all
}

func named(name string, kind delivery.Kind, times ...float64) *entry {
	return &entry{Contestant: delivery.Contestant{Name: name, Kind: kind}, samples: samples(times...)}
}

// everyKind is a whole group: one copy, three of ours, the chain, three kinds of others.
func everyKind() lineup {
	chain := named("weft chain", delivery.KindWeft, 12)
	chain.beside = true
	return lineup{
		one: named("one plain TCP copy", delivery.KindTCP, 10, 20, 10),
		ours: []*entry{
			named("weft pipeline", delivery.KindWeft, 11, 20.4, 10.3),
			named("weft circulant", delivery.KindWeft, 10.4, 20.8, 10.4),
			named("weft auto", delivery.KindWeft, 10.2, 20.4, 10.2),
			chain,
		},
		peers: []*entry{
			named("Open MPI", delivery.KindMPI, 11, 21, 11),
			named("udpcast", delivery.KindUDPCast, 11, 22, 11),
			named("BitTorrent", delivery.KindTorrent, 12, 24, 12),
		},
	}
}

func find(t *testing.T, rows []contest.Result, what, peer string) contest.Result {
	t.Helper()
	for _, r := range rows {
		if r.What == what && r.Peer == peer {
			return r
		}
	}
	t.Fatalf("there is no row %q against %q", what, peer)
	return contest.Result{}
}

func TestLinkRows(t *testing.T) {
	rows := everyKind().rows("here", 15)
	for _, c := range []struct {
		what, peer   string
		value, bound float64
	}{
		{"here, weft pipeline", "one plain TCP copy", 1.03, 1.05}, // the median of 1.1, 1.02, 1.03
		{"here, weft pipeline: efficiency", "the best schedule's time", 1.02 / 1.03, 0.96},
		{"here, weft pipeline: skew", "the transfer", 0.01, 0.02},
		{"here, weft circulant", "the best of MPI", 10.4 / 11, 1},
		{"here, weft circulant: CPU", "the best of MPI", 10.4 / 11, 0.5},
		{"here, weft auto", "the best of udpcast", 10.2 / 11, 1},
		{"here, weft auto: with start-up", "the best of BitTorrent", 12.2 / 14, 0},
		{"here, weft chain", "one plain TCP copy", 1.2, 0},
		{"here, one plain TCP copy", "the best of udpcast", 10.0 / 11, 0},
	} {
		r := find(t, rows, c.what, c.peer)
		if d := r.Value - c.value; d > 1e-9 || d < -1e-9 || r.Bound != c.bound || r.Failed != "" {
			t.Errorf("%s, %s: %v with bound %v (%s), want %v and %v", c.what, c.peer, r.Value, r.Bound, r.Failed, c.value, c.bound)
		}
	}
	for _, r := range everyKind().rows("here", 7) {
		if strings.HasSuffix(r.What, "skew") {
			t.Error("the skew of seven receivers has a row")
		}
	}
}

// TestFailedPeers has rows that say why they have no numbers, and takes part in pictures all the same.
func TestFailedPeers(t *testing.T) {
	l := everyKind()
	l.ours[2] = &entry{Contestant: l.ours[2].Contestant, failed: errors.New("no such algorithm")}
	l.peers[0] = missing(delivery.KindMPI, errors.New("not installed"))
	rows := l.rows("here", 3)
	if r := find(t, rows, "here, weft pipeline", "the best of MPI"); r.Failed != "not installed" {
		t.Errorf("%+v", r)
	}
	if r := find(t, rows, "here, weft auto", ""); r.Failed != "no such algorithm" {
		t.Errorf("%+v", r)
	}
	var p picture
	p.add(3, 256<<20, l.everybody())
	p.add(7, 256<<20, everyKind().everybody())
	for _, f := range p.figures() {
		if err := f.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestTheBestOfAKindComesFirst(t *testing.T) {
	tried := []*entry{
		{Contestant: delivery.Contestant{Name: "failed", Kind: delivery.KindMPI}, failed: errors.New("on purpose")},
		named("slow", delivery.KindMPI, 3), named("other", delivery.KindUDPCast, 1), named("fast", delivery.KindMPI, 1.9),
	}
	all := ofKind(tried, delivery.KindMPI)
	if len(all) != 3 || all[0].Name != "fast" || all[1].Name != "slow" || all[2].Name != "failed" {
		t.Errorf("%v", all)
	}
	b := &bench{slow: map[string]bool{}}
	b.markSlow(all)
	if !b.slow["slow"] || b.slow["fast"] || b.slow["failed"] {
		t.Errorf("slow are %v", b.slow)
	}
}

// TestEnough looks at a run that has used its time up.
func TestEnough(t *testing.T) {
	b := &bench{pace: pace{began: time.Now().Add(-Limit + time.Minute)}}
	for _, c := range []struct {
		rounds  int
		another time.Duration
		want    bool
	}{{0, time.Hour, false}, {4, time.Hour, false}, {5, time.Hour, true}, {5, time.Second, false}} {
		if got := b.enough(c.rounds, c.another); got != c.want {
			t.Errorf("%d rounds are enough, if another takes %v: %v", c.rounds, c.another, got)
		}
	}
	b.pace.later = time.Hour
	if !b.enough(1, 0) || b.enough(0, 0) {
		t.Error("what comes later has no time, and one round is not enough")
	}
}

func TestPace(t *testing.T) {
	var p pace
	step := func(name string, takes time.Duration) planned {
		return planned{contest.Step{Name: name, Run: func() ([]contest.Result, error) { return nil, nil }}, takes}
	}
	steps := p.plan([]planned{step("a", time.Hour), step("b", time.Minute), step("a too", 2*time.Minute)}, regexp.MustCompile("a"))
	if len(steps) != 2 {
		t.Fatalf("%d steps", len(steps))
	}
	if _, err := steps[0].Run(); err != nil || p.later != 2*time.Minute || p.left() <= time.Hour || p.left() > time.Hour+2*time.Minute {
		t.Errorf("in the first step %v are left, %v for later ones (%v)", p.left(), p.later, err)
	}
	if !p.late(Limit-time.Minute) || p.late(Limit-3*time.Minute) {
		t.Error("the limit is not seen")
	}
}

// What is simulated comes last, and takes no time from what is measured.
func TestSimulatedStepsComeLast(t *testing.T) {
	all := (&bench{ctx: t.Context()}).all()
	last := all[len(all)-1]
	if !strings.HasPrefix(last.Name, "simulated: ") || last.takes != 0 {
		t.Errorf("the last step is %s, for %v", last.Name, last.takes)
	}
	for _, s := range (&bench{ctx: t.Context(), Options: Options{Quick: true}}).all() {
		if strings.HasPrefix(s.Name, "simulated: ") {
			t.Errorf("%s is not quick", s.Name)
		}
	}
}

// On cores that are too slow links have the lower rate: ours took 14.7 s in 12.1 s on two cores, on others 7.2 s in 11.4 s.
func TestBusy(t *testing.T) {
	slow := &entry{samples: []delivery.Sample{{Seconds: 12.1, CPU: 14.7}}}
	fast := &entry{samples: []delivery.Sample{{Seconds: 11.4, CPU: 7.2}, {Seconds: 1, CPU: 2}}}
	if slow.busy(2) <= busiest || fast.busy(2) > busiest || slow.busy(4) > busiest {
		t.Errorf("%.2f and %.2f, with four cores %.2f; the most is %v", slow.busy(2), fast.busy(2), slow.busy(4), busiest)
	}
}
