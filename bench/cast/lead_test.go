package cast

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
)

var errNoDevice = errors.New("no such device here")

// sockets counts sockets, so that each has another name.
var sockets atomic.Int64

// tcpEnd is an end that offers TCP, and RDMA, which it has not.
func tcpEnd() End {
	return End{
		Options: connect.Options{Name: "test", Offers: []connect.Offer{{Provider: "rdma"}, {Provider: "tcp"}}},
		Open: func(job *Job, lane string, _ *connect.Session) (*verbs.Device, error) {
			if lane != "tcp" {
				return nil, errNoDevice
			}
			nic, err := soft.New(soft.Config{Lanes: soft.TCP, PeerTimeout: job.Timeout})
			if err != nil {
				return nil, err
			}
			return verbs.Open(nic)
		},
	}
}

// waiter is a follower that waits for a root.
type waiter struct {
	address string
	ended   chan error
}

// wait has a follower wait for one root.
func wait(t *testing.T, ctx context.Context, end End) waiter {
	t.Helper()
	return waitTo(t, ctx, end, (&Follower{End: end}).Follow)
}

// waitTo has somebody wait for a root to do something with it.
func waitTo(t *testing.T, ctx context.Context, end End, follow func(context.Context, *connect.Session) error) waiter {
	t.Helper()
	address := fmt.Sprintf("unix:@weft-cast-test-%d-%d", os.Getpid(), sockets.Add(1))
	listener, err := connect.Listen(ctx, address, end.Options)
	if err != nil {
		t.Fatal(err)
	}
	w := waiter{address, make(chan error, 1)}
	go func() {
		defer listener.Close()
		session, err := listener.Accept(ctx)
		if err != nil {
			w.ended <- err
			return
		}
		err = follow(ctx, session)
		session.CloseWith(err)
		w.ended <- err
	}()
	return w
}

// lead leads a job with followers, the first of which may have an end of its own.
func lead(t *testing.T, job *Job, watch Watch, ends ...End) (report *Report, ended []error, err error) {
	t.Helper()
	l := Leader{End: tcpEnd(), Job: job, Timeout: 20 * time.Second, Watch: watch}
	var all []waiter
	for _, end := range ends {
		all = append(all, wait(t, context.Background(), end))
		l.Addresses = append(l.Addresses, all[len(all)-1].address)
	}
	report, err = l.Lead(context.Background())
	for _, w := range all {
		ended = append(ended, <-w.ended)
	}
	return report, ended, err
}

// Everybody gets everything, over the lane that all can open.
func TestLead(t *testing.T) {
	for _, size := range []uint64{0, 100, 1<<20 + 1} {
		job := someJob(4)
		job.Size, job.Runs = size, 2
		report, ended, err := lead(t, job, Watch{}, tcpEnd(), tcpEnd(), tcpEnd())
		if err != nil || errors.Join(ended...) != nil {
			t.Fatal(err, ended)
		}
		if report.Provider != "tcp" || report.Clock != ClockHost || report.Cores == 0 || report.Copy == nil || len(report.Results) != 3 {
			t.Errorf("%+v", report)
		}
		for _, run := range report.Results {
			if !run.Verified || len(run.Members) != 4 || run.Seconds <= 0 {
				t.Errorf("%+v", run)
			}
		}
	}
}

// What one member cannot do is told by all others, with its name.
func TestLeadNamesWhoCannot(t *testing.T) {
	job := someJob(3)
	poor := tcpEnd()
	poor.Open = func(*Job, string, *connect.Session) (*verbs.Device, error) { return nil, errNoDevice }
	_, ended, err := lead(t, job, Watch{}, tcpEnd(), poor)
	if want := "member 2 (mc) failed: no such device here"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %q", err, want)
	}
	if !errors.Is(ended[0], connect.ErrGaveUp) || !strings.Contains(ended[0].Error(), "member 2 (mc)") {
		t.Errorf("the other member says: %v", ended[0])
	}
}

func TestLeadNamesWhoDoesNotCome(t *testing.T) {
	job := someJob(3)
	ctx, cancel := context.WithCancel(context.Background())
	w := wait(t, ctx, tcpEnd())
	l := Leader{End: tcpEnd(), Job: job, Timeout: 2 * time.Second, Addresses: []string{w.address, "unix:@weft-nobody"}}
	if _, err := l.Lead(ctx); err == nil || !strings.Contains(err.Error(), "member 2 (mc) did not ") || strings.Contains(err.Error(), "member 1") {
		t.Error(err)
	}
	cancel()
	<-w.ended
}

// Whoever has come hears the job, however late the others are.
func TestLeadTellsTheJobAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	early := waitTo(t, context.Background(), tcpEnd(), func(ctx context.Context, session *connect.Session) error {
		defer cancel()
		return (&following{ctx: ctx, session: session}).hear()
	})
	l := Leader{End: tcpEnd(), Job: someJob(3), Timeout: time.Minute, Addresses: []string{early.address, "unix:@weft-nobody"}}
	if _, err := l.Lead(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-early.ended; err != nil {
		t.Error(err)
	}
}

// A member that nobody waits for in the group, here because the copy goes past it, can fall silent all the same.
func TestLeadNamesWhoFallsSilent(t *testing.T) {
	job := someJob(3)
	job.Timeout = time.Second
	other := wait(t, context.Background(), tcpEnd())
	silent := waitTo(t, context.Background(), tcpEnd(), func(ctx context.Context, session *connect.Session) (err error) {
		g := &following{member: member{End: tcpEnd()}, ctx: ctx, session: session}
		for _, step := range []func() error{g.hear, g.join, g.openLane} {
			err = errors.Join(err, step())
		}
		_, failed := g.say("ready", word{}, nil)
		other.ended <- <-other.ended // by then the root has given up
		return errors.Join(err, failed, g.close(nil))
	})
	l := Leader{End: tcpEnd(), Job: job, Timeout: 20 * time.Second, Addresses: []string{other.address, silent.address}}
	if _, err := l.Lead(context.Background()); err == nil || err.Error() != "member 2 (mc) gave no sign of life" {
		t.Error(err)
	}
	if err := <-silent.ended; err != nil {
		t.Error(err)
	}
}

// A member that leaves in the middle is named by the root and by every other.
func TestLeadNamesWhoLeaves(t *testing.T) {
	job := someJob(4)
	job.Runs = MaxRuns
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	watch := Watch{Ran: func(r *Report, _ Run) {
		if len(r.Results) == 3 {
			leave()
		}
	}}
	l := Leader{End: tcpEnd(), Job: job, Timeout: 20 * time.Second, Watch: watch}
	waiters := []waiter{wait(t, context.Background(), tcpEnd()), wait(t, ctx, tcpEnd()), wait(t, context.Background(), tcpEnd())}
	for _, w := range waiters {
		l.Addresses = append(l.Addresses, w.address)
	}
	report, err := l.Lead(context.Background())
	if err == nil || !strings.Contains(err.Error(), "member 2 (mc)") || len(report.Results) < 3 {
		t.Errorf("%v after %d runs", err, len(report.Results))
	}
	for i, w := range waiters {
		if err := <-w.ended; err == nil || i != 1 && !strings.Contains(err.Error(), "member 2 (mc)") {
			t.Errorf("member %d says: %v", i+1, err)
		} else {
			t.Logf("member %d: %v", i+1, err)
		}
	}
}

// Contents that differ are noticed, and whose they are.
func TestLeadNoticesWrongContents(t *testing.T) {
	job := someJob(3)
	job.Rate = 1e9 // no copy before
	other := *job
	other.Seed++
	device, err := tcpEnd().Open(job, "tcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	n, err := newNode(&other, 1, device, false, hostClock)
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	fill(n.memory.Bytes(), mix(job.Seed, 0))
	c := completion{}
	c.delivery.Size, c.delivery.Memory = job.Size, n.memory
	if err := n.check(c, 0); err == nil || !strings.Contains(err.Error(), "wrong from byte 0 on") {
		t.Error(err)
	}
	c.delivery.Size--
	if err := n.check(c, 0); err == nil || !strings.Contains(err.Error(), "1048575 bytes came, and 1048576 were sent") {
		t.Error(err)
	}
}

// Runs are timed by the members' own clocks only if all of them read the same.
func TestWhichClock(t *testing.T) {
	same, other := &peer{clock: clockName()}, &peer{clock: "of another host"}
	for _, c := range []struct {
		peers []*peer
		want  string
	}{
		{[]*peer{same, same}, ClockHost},
		{[]*peer{same, other}, ClockRoot},
		{[]*peer{{}}, ClockRoot},
	} {
		if got := (&leading{peers: c.peers}).clock(); got != c.want {
			t.Errorf("timed by %s", got)
		}
	}
}

// A job that does not fit is refused before it takes memory from others.
func TestTooLarge(t *testing.T) {
	job := someJob(3)
	job.Size = MaxSize
	_, ended, err := lead(t, job, Watch{}, tcpEnd(), tcpEnd())
	if want := "does not fit: "; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(ended[0].Error(), want) {
		t.Errorf("%v; %v", err, ended)
	}
}
