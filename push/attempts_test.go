package push

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
)

// There may be as many troubles as hosts, each of which takes attempts of its own; where nothing changes there is an end.
func TestAttempts(t *testing.T) {
	all := make([]*host, 30)
	for i := range all {
		all[i] = &host{}
	}
	a := new(attempts)
	try := func(what string, blocks int) {
		t.Helper()
		if !a.another(all, blocks) {
			t.Fatal(what)
		}
	}
	for _, h := range all {
		h.strikes++
		try("hosts are struck, one after the other", 0)
	}
	for blocks := range 20 {
		try("blocks come", blocks)
	}
	for _, h := range all[1:] {
		h.trouble = new(control.Trouble)
		try("hosts are given up, and their blocks do not count any more", 0)
	}
	for range mostForms - 1 {
		try("nothing changes", 0)
	}
	if a.another(all, 0) {
		t.Error("it goes on for ever")
	}
}

// Blocks that somebody has, and has not, and has again are nothing new.
func TestBlocksThatComeAndGo(t *testing.T) {
	a, all := new(attempts), []*host{{}}
	for tries := range 3 * mostForms {
		if !a.another(all, 1+tries%2) {
			return
		}
	}
	t.Error("it goes on for ever")
}

func TestTimeLeft(t *testing.T) {
	const took = 4 * time.Second
	for _, c := range []struct {
		got, lacking int
		want         time.Duration
	}{{10, 90, 36 * time.Second}, {90, 0, 0}, {0, 5, took}, {100, 1, 40 * time.Millisecond}} {
		if left := timeLeft(took, c.got, c.lacking); left != c.want {
			t.Errorf("%+v: %v", c, left)
		}
	}
}

// However little has come, the rest takes no less than nothing.
func TestTimeLeftHasAnEnd(t *testing.T) {
	const year = 365 * 24 * time.Hour
	if got := timeLeft(24*time.Hour, 1, control.MaxBlocks); got != year {
		t.Errorf("after a block a day the others take %v", got)
	}
	c := clock{p: &pusher{content: manifest.NewLayout(manifest.ContentStream, 1<<40, 1<<20)}, at: time.Now().Add(-time.Second), before: map[*host]uint64{}, rates: map[*host]float64{}}
	h := &host{}
	c.before[h], c.rates[h] = 0, 1e-300 // it has stood still for long
	g := &Progress{}
	if c.delivered(g, []view{{host: h}}); g.Remaining != year {
		t.Errorf("what stands still takes %v", g.Remaining)
	}
}

// Hosts of one machine share its processors, which is the best that they can do.
func TestEfficiencyOfOneMachine(t *testing.T) {
	for local, want := range map[bool]float64{false: 0.1, true: 0.4} {
		p := &pusher{content: manifest.NewLayout(manifest.ContentStream, 1<<40, 1<<20)}
		p.links.local = local
		p.planned.Store(&Plan{Rate: 10 << 20})
		c := clock{p: p, at: time.Now().Add(-time.Second), before: map[*host]uint64{}, rates: map[*host]float64{}}
		var views []view
		for range 4 * runtime.NumCPU() {
			h := &host{}
			c.before[h], c.rates[h] = 0, 1<<20
			views = append(views, view{host: h, status: control.Status{Have: 1}})
		}
		g := &Progress{}
		if c.delivered(g, views); math.Abs(g.Efficiency-want) > 0.01 {
			t.Errorf("local: %v, efficiency %v, and not %v", local, g.Efficiency, want)
		}
	}
}

// Of a push that ends early it is known what had come when it was heard of last.
func TestHeardLast(t *testing.T) {
	p, now := &pusher{board: newBoard(t.Context())}, time.Now()
	defer p.board.close()
	g := &group{hosts: []*host{{name: "n1"}, {name: "n2"}, {name: "n3"}}}
	for i, h := range g.hosts[:2] {
		p.board.notes[h] = &note{heard: now.Add(-time.Duration(i) * time.Second)}
	}
	if last := p.heardLast(g); !last.Equal(now) {
		t.Errorf("it was heard of last %v ago", now.Sub(last))
	}
}

// A push that resumes begins with much: what it gets now tells how long it will take, and not what it had.
func TestTimeLeftOfAResumedPush(t *testing.T) {
	const blocks, block = 1000, 64 << 10
	h := &host{}
	p := &pusher{board: newBoard(context.Background()), content: manifest.NewLayout(manifest.ContentStream, blocks*block, block)}
	p.board.notes[h] = &note{status: control.Status{Epoch: 3, Have: 900}}
	w := &stopwatch{p: p, g: &group{epoch: 3, hosts: []*host{h}}, began: time.Now().Add(-10 * time.Second), start: make(map[*host]int)}
	w.noteStart()
	p.board.notes[h].status.Have = 910
	w.noteStart()
	if left := w.left(); left < 85*time.Second || left > 95*time.Second {
		t.Errorf("it lacks 90 blocks, has got 10 in ten seconds, and will take %v", left)
	}
}

// When nobody gets on, those are given up whose disk hangs, or else those who have gained least, unless that is everybody.
func TestWhoIsLeftBehind(t *testing.T) {
	at := func(phase control.Phase, have int) view {
		return view{host: &host{}, alive: true, heard: time.Now(), gained: have, status: control.Status{Phase: phase, Have: have}}
	}
	had := func(v view, before int) view {
		v.gained = v.status.Have - before
		return v
	}
	hangs := func(v view) view {
		v.status.Disk.Oldest = int64(1100 * time.Millisecond)
		return v
	}
	asked := func(v view) view {
		v.asked = true
		return v
	}
	silent := at(control.PhaseReceiving, 3)
	silent.heard = time.Now().Add(-2 * time.Second)
	lost := silent
	lost.lost = true
	finished, waiting := at(control.PhaseComplete, 9), at(control.PhaseReceiving, 1)
	finished.alive, waiting.waits = false, true
	for _, c := range []struct {
		name  string
		views []view
		want  []int
	}{
		{"one has fewer blocks", []view{at(control.PhaseReceiving, 5), at(control.PhaseReceiving, 4), at(control.PhaseReceiving, 5)}, []int{1}},
		{"two have", []view{at(control.PhaseReceiving, 3), at(control.PhaseComplete, 9), at(control.PhaseReceiving, 3)}, []int{0, 2}},
		{"one has gained nothing, and had the most", []view{had(at(control.PhaseReceiving, 7), 7), at(control.PhaseReceiving, 5), at(control.PhaseReady, 5)}, []int{0}},
		{"one had everything", []view{had(at(control.PhaseReady, 9), 9), at(control.PhaseReceiving, 5), at(control.PhaseReceiving, 4)}, []int{2}},
		{"the disk of one that has everything hangs", []view{hangs(had(at(control.PhaseReady, 9), 9)), at(control.PhaseReceiving, 5), at(control.PhaseReceiving, 4)}, []int{0}},
		{"the disk of one hangs that had more", []view{hangs(at(control.PhaseReceiving, 7)), at(control.PhaseReceiving, 5), at(control.PhaseReceiving, 5)}, []int{0}},
		{"all disks hang", []view{hangs(at(control.PhaseReceiving, 5)), hangs(at(control.PhaseReceiving, 5))}, nil},
		{"one compares what it has", []view{at(control.PhaseReady, 0), asked(at(control.PhaseReady, 3)), at(control.PhaseReady, 0)}, []int{1}},
		{"the disk of one of two hangs that compare", []view{asked(at(control.PhaseReady, 0)), hangs(asked(at(control.PhaseReady, 3))), at(control.PhaseReady, 0)}, []int{1}},
		{"one looks at its disk", []view{at(control.PhaseReady, 0), at(control.PhaseExamining, 0)}, []int{1}},
		{"all alike", []view{at(control.PhaseReceiving, 5), at(control.PhaseReceiving, 5)}, nil},
		{"one is lost", []view{lost, at(control.PhaseReceiving, 4), at(control.PhaseReceiving, 5)}, []int{1}},
		{"who is done is nobody to go on with", []view{finished, at(control.PhaseComplete, 9)}, nil},
		{"who is served later is not waited for", []view{waiting, at(control.PhaseReceiving, 5), at(control.PhaseReceiving, 4)}, []int{2}},
	} {
		p := &pusher{Config: Config{StallTimeout: 2 * time.Second}, board: newBoard(context.Background()), content: manifest.NewLayout(manifest.ContentStream, 9<<16, 1<<16)}
		for _, v := range c.views {
			p.board.notes[v.host] = &note{lose: func(error) {}}
		}
		if left := (&clock{p: p}).leaveBehind(c.views); left != (c.want != nil) {
			t.Errorf("%s: %v", c.name, left)
		}
		var lost []int
		for i, v := range c.views {
			var why *control.Trouble
			if errors.As(p.board.of(v.host).lost, &why) && why.Class == control.Late {
				lost = append(lost, i)
			}
		}
		if len(lost) != len(c.want) || len(lost) > 0 && (lost[0] != c.want[0] || lost[len(lost)-1] != c.want[len(lost)-1]) {
			t.Errorf("%s: given up are %v, should be %v", c.name, lost, c.want)
		}
	}
}

// Nobody waits for another one to commit, or to say what is different, and when only slow hosts are left the others are done: who has not ended it when
// nobody gets on is given up, and those that are served later still are.
func TestTheEndHangs(t *testing.T) {
	for _, stage := range []string{"commit", "differ", "stragglers"} {
		endHangs(t, stage)
	}
}

func endHangs(t *testing.T, stage string) {
	t.Helper()
	p := &pusher{Config: Config{StallTimeout: time.Second}, board: newBoard(context.Background()), object: &object{}, content: manifest.NewLayout(manifest.ContentStream, 9<<16, 1<<16)}
	views := make([]view, 4)
	for i := range views {
		views[i] = view{host: &host{}, alive: i != 0, waits: i == 3, heard: time.Now(), status: control.Status{Phase: control.PhaseComplete}}
		p.board.notes[views[i].host] = &note{lose: func(error) {}}
	}
	if !(&clock{p: p, stage: stage}).goesOn(views) {
		t.Errorf("%s: the push ends for all", stage)
	}
	for i, v := range views {
		if isLate := p.board.of(v.host).lost != nil; isLate != (i == 1 || i == 2) {
			t.Errorf("%s: host %d is given up: %v", stage, i, isLate)
		}
	}
}

// While somebody says nothing it is not known who is to blame: neither is another given up, nor the push. That is over when silence is, even if
// it answers now and then.
func TestSilenceIsWaitedFor(t *testing.T) {
	for stall, heard := range map[time.Duration]time.Duration{
		500 * time.Millisecond: 700 * time.Millisecond, 2 * time.Second: 2 * time.Second, 8 * time.Second: 5 * time.Second, time.Minute: 5 * time.Second,
	} {
		for _, c := range []struct {
			name   string
			stands time.Duration // since somebody got on last
			isLost bool
			want   string
		}{
			{"one says nothing", max(stall, 600*time.Millisecond), false, ""},
			{"it says nothing for a very long time", stall + 3*silence, false, "n2"},
			{"it is lost", stall, true, "n2"},
		} {
			p := &pusher{Config: Config{StallTimeout: stall}, board: newBoard(context.Background()), object: &object{}, content: manifest.NewLayout(manifest.ContentStream, 9<<16, 1<<16)}
			var views []view
			for i, have := range []int{5, 4, 5} {
				v := view{host: &host{name: fmt.Sprint("n", i+1)}, alive: true, heard: time.Now(), gained: have, status: control.Status{Phase: control.PhaseReceiving, Have: have}}
				p.board.notes[v.host] = &note{lose: func(error) {}}
				views = append(views, v)
			}
			views[0].heard, views[0].lost = time.Now().Add(-heard), c.isLost
			clock := &clock{p: p, stage: "send", moved: time.Now().Add(-c.stands)}
			if !clock.goesOn(views) {
				t.Errorf("%v, %s: the push ends for all", stall, c.name)
			}
			var late string
			for _, v := range views {
				if p.board.of(v.host).lost != nil {
					late += v.host.name
				}
			}
			if late != c.want {
				t.Errorf("%v, %s: given up is %q, should be %q", stall, c.name, late, c.want)
			}
		}
	}
}

// If all say nothing nobody is to blame more than the others, and there is nobody to go on with.
func TestAllAreSilent(t *testing.T) {
	p := &pusher{Config: Config{StallTimeout: 2 * time.Second}, board: newBoard(context.Background()), object: &object{}, content: manifest.NewLayout(manifest.ContentStream, 9<<16, 1<<16)}
	var views []view
	for _, have := range []int{5, 4} {
		v := view{host: &host{}, alive: true, heard: time.Now().Add(-3 * time.Second), gained: have, status: control.Status{Phase: control.PhaseReceiving, Have: have}}
		p.board.notes[v.host] = &note{lose: func(error) {}}
		views = append(views, v)
	}
	if (&clock{p: p, stage: "send", moved: time.Now().Add(-2 * time.Second)}).goesOn(views) {
		t.Error("it goes on, with nobody")
	}
}

// When the source does not come, hosts are not to blame for it.
func TestSourceThatHangs(t *testing.T) {
	p := &pusher{Config: Config{StallTimeout: time.Second}, object: &object{}}
	for stage, is := range map[string]bool{"scan": false, "connect": false, "hash": false, "commit": true, "manifest": true, "examine": true, "send": true, "stragglers": true, "differ": true} {
		if (&clock{p: p, stage: stage}).waitsForHosts() != is {
			t.Errorf("%s: it waits for hosts: %v", stage, !is)
		}
	}
	c := &clock{p: p, stage: "send"}
	ended := p.object.reading()
	p.object.read.Add(-int64(time.Second))
	if c.waitsForHosts() {
		t.Error("the source hangs, and hosts are waited for")
	}
	if ended(); !c.waitsForHosts() {
		t.Error("the source has come, and hosts are not waited for")
	}
}
