package cast

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/connect/mesh"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/rdmc/tune"
)

// openJob is a job that leaves everything open.
func openJob(members int) *Job {
	j := someJob(members)
	j.Auto, j.Block, j.Stripes, j.Credits = true, 0, 0, 0
	return j
}

// What is left open is chosen before the group is formed, and everybody uses it.
func TestLeadChooses(t *testing.T) {
	for _, size := range []uint64{0, 100, 3 << 20} {
		job := openJob(4)
		job.Size = size
		report, ended, err := lead(t, job, Watch{}, tcpEnd(), tcpEnd(), tcpEnd())
		if err != nil || errors.Join(ended...) != nil {
			t.Fatal(err, ended)
		}
		l := report.Chosen.Links
		if !(l.Rate > 0 && l.Latency > 0 && l.Message >= 0 && l.Took > 0 && report.Chosen.Predicted >= 0) {
			t.Errorf("%+v", report.Chosen)
		}
		if report.Block == 0 || report.Stripes == 0 || report.Credits == 0 || report.Auto || !report.Results[0].Verified {
			t.Errorf("%+v", report)
		}
		if !job.Auto || job.Block != 0 {
			t.Error("the caller's job has changed")
		}
	}
}

// What is said stays as it is, also the rate.
func TestWhatIsSaidStays(t *testing.T) {
	for _, c := range []struct {
		say  func(*Job)
		kept func(*Report) bool
	}{
		{func(j *Job) { j.Block = 10_000 }, func(r *Report) bool { return r.Block == 10_000 }},
		{func(j *Job) { j.Stripes = 3 }, func(r *Report) bool { return r.Stripes == 3 }},
		{func(j *Job) { j.Credits = 7 }, func(r *Report) bool { return r.Credits == 7 }},
		{func(j *Job) { j.Auto, j.Algorithm = false, Algorithm{schedule.Tree} }, func(r *Report) bool { return r.Algorithm.Algorithm == schedule.Tree }},
		{func(j *Job) { j.Block, j.Stripes, j.Credits = 4096, 1, 2 }, func(r *Report) bool { return r.Block == 4096 && r.Stripes == 1 && r.Credits == 2 }},
		{func(j *Job) { j.Rate = 200e6 }, func(r *Report) bool {
			return r.Chosen.Links.Rate == 200e6 && r.Block <= 32<<10 && r.Copy == nil
		}},
	} {
		job := openJob(3)
		c.say(job)
		report, ended, err := lead(t, job, Watch{}, tcpEnd(), tcpEnd())
		if err != nil || errors.Join(ended...) != nil {
			t.Fatal(err, ended)
		}
		if !c.kept(report) {
			t.Errorf("of %+v came %+v", *job, report)
		}
	}
}

// In the simulator nothing has to be measured, and racks may be used or not.
func TestSimulationChooses(t *testing.T) {
	job := openJob(6)
	job.Rate = 40e9
	for _, racks := range [][]int{nil, {2, 3, 1}} {
		job.Racks = racks
		report, err := Simulate(context.Background(), job, Fabric{}, Watch{})
		if err != nil {
			t.Fatal(err)
		}
		if report.Chosen == nil || report.Chosen.Links.Took != 0 || report.Block == 0 || !report.Results[0].Verified {
			t.Errorf("%+v", report)
		}
	}
}

// Where NICs relay by themselves a pipeline is chosen for groups that are a power of two only.
func TestRelayedChooses(t *testing.T) {
	for members, want := range map[int]schedule.Algorithm{12: schedule.Circulant, 16: schedule.Pipeline} {
		job := openJob(members)
		job.Size, job.Offload = 100e6, true
		c, err := job.choose(tune.Network{Rate: 100e9, Latency: 1135, Message: 7})
		if err != nil || c.Algorithm != want {
			t.Errorf("%d members: %+v, %v; want %v", members, c, err, want)
		}
	}
}

// A choice is taken only if it makes sense; whatever it is, the job that it completes does.
func TestChoicesThatMakeNoSense(t *testing.T) {
	good := Choice{Block: 1 << 20, Stripes: 2, Credits: 3}
	for _, change := range []func(*Choice){
		func(c *Choice) { c.Block = 0 }, func(c *Choice) { c.Block = -1 }, func(c *Choice) { c.Block = MaxBlock + 1 },
		func(c *Choice) { c.Stripes = 0 }, func(c *Choice) { c.Stripes = MaxStripes + 1 },
		func(c *Choice) { c.Credits = 0 }, func(c *Choice) { c.Credits = MaxCredits + 1 },
		func(c *Choice) { c.Algorithm.Algorithm = schedule.RackChain },
	} {
		c := good
		change(&c)
		if err := openJob(3).take(c); !errors.Is(err, ErrJob) {
			t.Errorf("%+v was taken: %v", c, err)
		}
	}
	if err := openJob(3).take(good); err != nil {
		t.Error(err)
	}
}

// A root that chooses nothing, or nonsense, is told so.
func TestRootChoosesNonsense(t *testing.T) {
	for _, c := range []struct {
		choice *Choice
		says   string
	}{{nil, "the root has chosen nothing"}, {&Choice{Block: 1, Stripes: 1, Credits: 1}, "block size: 1"}} {
		w := wait(t, context.Background(), tcpEnd())
		w2 := wait(t, context.Background(), tcpEnd())
		err := leadBadly(t, []waiter{w, w2}, c.choice)
		for _, ended := range []error{<-w.ended, <-w2.ended} {
			if ended == nil || !strings.Contains(ended.Error(), c.says) {
				t.Errorf("choice %+v: the member says %v, the root %v", c.choice, ended, err)
			}
		}
	}
}

// leadBadly leads an open job up to a choice that was not made.
func leadBadly(t *testing.T, members []waiter, choice *Choice) error {
	t.Helper()
	job := openJob(len(members) + 1)
	l := &Leader{End: tcpEnd(), Job: job, Timeout: stepTime}
	for _, w := range members {
		l.Addresses = append(l.Addresses, w.address)
	}
	g := &leading{Leader: l, member: member{End: l.End, job: job}, ctx: t.Context()}
	steps := []func() error{g.call, g.gather, func() error { return g.tryLane("tcp") },
		func() error { return g.swap("open", silent) },
		func() error { _, err := g.try(); return err },
		func() error { return g.swap("chosen", func(*peer) word { return word{Choice: choice} }) },
		func() error { return g.agree("formed", nil) }}
	var err error
	for i := 0; i < len(steps) && err == nil; i++ {
		err = steps[i]()
	}
	return errors.Join(err, g.end(err))
}

// A member that cannot open a trial, or dies in it, is named.
func TestTrialFails(t *testing.T) {
	job := openJob(3)
	gone := waitTo(t, context.Background(), tcpEnd(), func(ctx context.Context, session *connect.Session) (err error) {
		g := &following{member: member{End: tcpEnd()}, ctx: ctx, session: session}
		for _, step := range []func() error{g.hear, g.join} {
			err = errors.Join(err, step())
		}
		for range 2 { // rdma, tcp
			_, failed := g.say("open", word{}, nil)
			_, again := g.say("opened", word{}, nil)
			err = errors.Join(err, failed, again)
		}
		return errors.Join(err, g.close(nil))
	})
	other := wait(t, context.Background(), tcpEnd())
	l := Leader{End: tcpEnd(), Job: job, Timeout: stepTime, Addresses: []string{gone.address, other.address}}
	if _, err := l.Lead(context.Background()); err == nil || !strings.Contains(err.Error(), "member 1 (mb)") {
		t.Error(err)
	}
	if err := <-gone.ended; err != nil {
		t.Error(err)
	}
	if err := <-other.ended; err == nil || !strings.Contains(err.Error(), "member 1 (mb)") {
		t.Error(err)
	}
}

// On slow links TCP takes its largest block and one stripe, and no chain, however long the hosts take; what is fast leaves room.
func TestSlowLinks(t *testing.T) {
	slow := Links{Rate: 200e6, Latency: 300e-6, Message: 200e-6}
	for _, c := range []struct {
		lane  string
		size  uint64
		links Links
		want  Choice
	}{
		{"tcp", 64 << 20, slow, Choice{Block: 60 << 10, Stripes: 1, Credits: 1, Slow: true}},
		{"tcp", 100, slow, Choice{Block: 4 << 10, Stripes: 1, Credits: 1, Slow: true}},
		{"tcp", 1 << 30, Links{Rate: 5e9, Latency: 20e-6, Message: 8e-6, Local: true}, Choice{Block: 2 << 20, Stripes: 2, Credits: 3}},
		{"tcp", 1 << 30, Links{Rate: 16e9, Latency: 20e-6, Message: 8e-6}, Choice{Block: 2 << 20, Stripes: 2, Credits: 3}},
		{"shm", 256 << 20, Links{Rate: 80e9, Latency: 2e-6, Message: 5e-6}, Choice{Block: 1 << 20, Stripes: 2, Credits: 3}},
	} {
		job := openJob(4)
		job.Size = c.size
		if got, _, err := job.decide(c.lane, c.links); err != nil || got != c.want {
			t.Errorf("%s, %d bytes, %+v: %+v, %v", c.lane, c.size, c.links, got, err)
		}
	}
}

// A trial that cannot begin is an error, and leaves nothing behind.
func TestTrialCannotBegin(t *testing.T) {
	m := &member{job: openJob(3), mesh: &mesh.Mesh{}}
	if trial, err := m.openTrial(context.Background()); err == nil || trial != nil {
		t.Errorf("%v, %v: member 1 is not there", trial, err)
	}
}
