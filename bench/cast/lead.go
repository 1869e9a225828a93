package cast

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/connect"
)

// Leader is the root of a group, and has the others do a job.
type Leader struct {
	End
	Job       *Job
	Addresses []string      // of the other members, whose names stand in Job.Members[1:]
	Timeout   time.Duration // until all members must have come
	Watch     Watch
}

// leading is a leader in the middle of a job.
type leading struct {
	member
	*Leader
	ctx    context.Context
	peers  []*peer
	host   string
	lane   string
	report *Report
	sent   int // messages so far
}

// Lead carries out the job. The report is nil if no run could begin.
func (l *Leader) Lead(ctx context.Context) (report *Report, err error) {
	own, job := *l, *l.Job // which is completed by what is chosen
	own.Job = &job
	g := &leading{Leader: &own, member: member{End: l.End, job: &job}, ctx: ctx}
	defer func() { err = errors.Join(err, g.end(err)) }()
	if err := l.Job.Validate(); err != nil {
		return nil, err
	}
	for _, step := range []func() error{g.call, g.gather, g.openLane, g.runs} {
		err := step()
		if ctx.Err() != nil {
			err = ctx.Err() // whatever else that has led to
		}
		if err != nil {
			return g.report, err
		}
	}
	return g.report, nil
}

// end closes everything. The others are told if the job was not done.
func (g *leading) end(failed error) error {
	if g.ctx.Err() != nil {
		failed = errors.New("the root was interrupted")
	}
	g.each(func(p *peer) { p.runEnd(failed) })
	return g.close(failed)
}

// call calls all members, and waits until all have come. Each is told the job at once: the last may come much later.
func (g *leading) call() error {
	g.host, _ = os.Hostname() // without a name it has none
	for i, address := range g.Addresses {
		g.peers = append(g.peers, &peer{rank: i + 1, name: g.Job.Members[i+1], address: address})
	}
	ctx, cancel := context.WithTimeout(g.ctx, g.Timeout)
	defer cancel()
	g.each(func(p *peer) { p.runCall(ctx, g.member.Options, g.Job) })
	return g.absent()
}

// absent names the members that have not come.
func (g *leading) absent() error {
	var missing []error
	for _, p := range g.peers {
		switch {
		case p.err == nil:
		case errors.Is(p.err, syscall.ECONNREFUSED), errors.Is(p.err, syscall.ENOENT):
			missing = append(missing, fmt.Errorf("%v did not come within %v: nobody listens there", p, g.Timeout))
		case errors.Is(p.err, context.DeadlineExceeded):
			missing = append(missing, fmt.Errorf("%v did not answer within %v", p, g.Timeout))
		default:
			missing = append(missing, fmt.Errorf("%v: %w", p, p.err))
		}
	}
	return oneLine(missing)
}

// gather has all members meet each other.
func (g *leading) gather() error {
	if err := g.listen(g.ctx, g.way().LocalAddr()); err != nil {
		return err
	}
	if err := g.swap("meet", silent); err != nil {
		return err
	}
	addresses := []string{g.address()}
	for _, p := range g.peers {
		addresses = append(addresses, p.heard.Address)
	}
	if err := g.swap("members", func(*peer) word { return word{Addresses: addresses} }); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(g.ctx, g.Timeout)
	defer cancel()
	return g.agree("met", g.meet(ctx, addresses))
}

// way is a session that leads beyond this host, if there is one.
func (g *leading) way() *connect.Session {
	for _, p := range g.peers {
		if p.isBeyond() {
			return p.session
		}
	}
	return g.peers[0].session
}

// local reports whether all members are on this host.
func (g *leading) local() bool { return !slices.ContainsFunc(g.peers, (*peer).isBeyond) }

// isBeyond reports whether the way to the member leads beyond this host.
func (p *peer) isBeyond() bool {
	tcp, ok := p.session.LocalAddr().(*net.TCPAddr)
	return ok && !tcp.IP.IsLoopback()
}

// openLane finds a lane that all members can use, and forms the group there.
func (g *leading) openLane() (err error) {
	lanes := g.mesh.Common()
	if len(lanes) == 0 {
		return errors.New("there is no provider that all members have and that joins them all")
	}
	for i, lane := range lanes {
		if err = g.tryLane(lane); err == nil {
			break
		}
		if g.ctx.Err() != nil || g.lost() || i == len(lanes)-1 {
			return fmt.Errorf("%s: %w", lane, err)
		}
		g.Watch.passed(fmt.Sprintf("%s: %v; trying %s", lane, err, lanes[i+1]))
	}
	if err := g.swap("open", silent); err != nil {
		return err
	}
	chosen, err := g.choose()
	if err != nil {
		return err
	}
	if err := g.agree("formed", g.form(g.ctx)); err != nil {
		return err
	}
	g.report = newReport(g.Job, g.lane, g.clock())
	g.report.Chosen = chosen
	if g.local() {
		g.report.Cores = runtime.NumCPU()
	}
	g.report.Hosts = []string{g.host}
	for _, p := range g.peers {
		g.report.Hosts = append(g.report.Hosts, p.host)
	}
	g.Watch.formed(g.report)
	return nil
}

// tryLane has all members open a lane.
func (g *leading) tryLane(lane string) error {
	if err := g.swap("open", func(*peer) word { return word{Lane: lane} }); err != nil {
		return err
	}
	g.lane = lane
	return g.agree("opened", g.open(lane, g.way()))
}

// choose chooses what the job leaves open, and tells the others.
func (g *leading) choose() (*Chosen, error) {
	if !g.Job.undecided() {
		return nil, nil
	}
	links, err := g.try()
	if err != nil {
		return nil, err
	}
	choice, chosen, err := g.Job.decide(g.lane, links)
	if err != nil {
		return nil, fmt.Errorf("nothing can be chosen: %w", err)
	}
	if err := g.swap("chosen", func(*peer) word { return word{Choice: &choice} }); err != nil {
		return nil, err
	}
	return chosen, g.decided(choice)
}

// try finds out with member 1 what the links are like.
func (g *leading) try() (l Links, err error) {
	trial, failed := g.openTrial(g.ctx)
	if failed == nil {
		defer func() { err = errors.Join(err, trial.closeDevice()) }()
		l, failed = trial.measure(g.ctx, g.Job.Rate)
	}
	l.Local = g.local()
	return l, g.agree("tried", failed)
}

// lost reports whether a member is gone: then no other lane will do.
func (g *leading) lost() bool {
	return slices.ContainsFunc(g.peers, func(p *peer) bool { return p.err != nil })
}

// clock is the one by which runs are timed.
func (g *leading) clock() string {
	mine := clockName()
	for _, p := range g.peers {
		if p.clock != mine || mine == "" {
			return ClockRoot
		}
	}
	return ClockHost
}
