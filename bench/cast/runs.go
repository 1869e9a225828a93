package cast

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// copyTime is how long plain copies are repeated, to find the fastest: the first one warms up.
const (
	copyTime   = time.Second
	mostCopies = 3
)

// runs measures the plain copy, if it must, and then every run.
func (g *leading) runs() error {
	if g.Job.Rate == 0 {
		if err := g.copies(); err != nil {
			return err
		}
	}
	for run := range g.Job.runs() {
		g.Watch.begin(run, g.Job.runs(), g.advance(multicast))
		took, err := g.run(multicast, nextCast)
		if err != nil {
			return err
		}
		g.Watch.ran(g.report, g.report.add(took, g.Job.Runs > 1 && run == 0))
	}
	return g.swap("ready", silent) // there is no further run
}

// copies measures the plain copy.
func (g *leading) copies() error {
	var fastest, sum time.Duration
	for i := 0; i < mostCopies && sum < copyTime; i++ {
		g.Watch.begin(-1, g.Job.runs(), g.advance(plainCopy))
		all, err := g.run(plainCopy, nextCopy)
		if err != nil {
			return err
		}
		took := max(all[0].time, all[1].time)
		sum += took
		if i == 0 || took < fastest {
			fastest = took
		}
	}
	g.report.plainCopy(fastest)
	g.Watch.copied(g.report)
	return nil
}

// run sends one message, has it checked, and returns what it took of each member.
func (g *leading) run(group int, what string) ([]cost, error) {
	number := g.sent
	g.sent++
	if err := g.node.fill(number); err != nil {
		return nil, err
	}
	if err := g.swap("ready", func(*peer) word { return word{Next: what, Run: number} }); err != nil {
		return nil, err
	}
	before := processorTime()
	start, c, err := g.transfer(group)
	if err != nil {
		return nil, err
	}
	took := []cost{{time.Duration(c.at - start), processorTime() - before}}
	for _, p := range g.peers {
		at := p.at
		if g.report.Clock == ClockHost {
			at = p.heard.At
		}
		took = append(took, cost{time.Duration(at - start), time.Duration(p.heard.CPU)})
	}
	g.each(func(p *peer) { p.runSwap(g.ctx, "checked", word{}, g.patience()) })
	return took, g.verdict(g.check(c, number))
}

// transfer sends the message, and waits until all members have it. Whoever hears first that this is not going to happen
// waits a while for the others to say who is to blame.
func (g *leading) transfer(group int) (start int64, c completion, err error) {
	hearing, stopHearing := context.WithCancel(g.ctx)
	defer stopHearing()
	waiting, stopWaiting := context.WithCancelCause(g.ctx)
	defer stopWaiting(nil)
	heard := make(chan struct{})
	go g.runHear(hearing, stopWaiting, heard)
	if start, err = g.submit(waiting, group); err == nil {
		c, err = g.await(waiting)
	}
	defer time.AfterFunc(g.rest(time.Duration(c.at-start), err), stopHearing).Stop()
	<-heard
	return start, c, g.verdict(err)
}

// rest is how long members may still take when the root is done: it has passed everything on, but others may have to pass it
// on further. The group watches only over those that somebody waits for, and nobody waits for the last ones.
func (g *leading) rest(took time.Duration, failed error) time.Duration {
	if failed != nil {
		return failedTime
	}
	return g.Job.Timeout + failedTime + 4*took
}

// runHear hears from all members that they have the message. When one has failed the group fails too; if it does not, give
// up. It ends when all members have spoken, or with the context; transfer waits for it.
func (g *leading) runHear(ctx context.Context, giveUp context.CancelCauseFunc, heard chan<- struct{}) {
	defer close(heard)
	g.each(func(p *peer) {
		p.runSwap(ctx, "done", word{}, messageTime)
		if errors.Is(p.err, errInterrupted) && g.ctx.Err() == nil {
			p.err = errSilent // it was not worth waiting for any longer
		}
		if p.failed() {
			time.AfterFunc(g.Job.Timeout+failedTime, func() { giveUp(errors.New("a member has failed")) })
		}
	})
}

// advance is a function that says how far a group's message has come, as of when it was last asked.
func (g *leading) advance(group int) func() int {
	var last atomic.Int64
	node := g.node // the one of this run, also when the job has ended
	return func() int {
		_ = node.loop.Do(func() { last.Store(int64(node.advance(group))) }) // it fails when there is nothing to ask any more
		return int(last.Load())
	}
}
