package push

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/member"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// deliverAll brings the manifest and then the content to all hosts, but for those that turn out to be slow, and has them finish.
func (p *pusher) deliverAll(ctx context.Context) error {
	g, err := p.sendManifest(ctx)
	if err != nil {
		return err
	}
	if p.nobodyHasAnything(g) {
		p.startSending()
		g, err = p.send(ctx, g, 1)
	} else {
		g, err = nil, p.compareAfter(ctx, g)
	}
	if err != nil {
		return err
	}
	if err := p.deliver(ctx, g, p.main()); err != nil {
		return err
	}
	return p.finish(ctx, p.main(), "commit")
}

// send has a group send a stream. If it has ended before, no group is returned, and the next can be formed.
func (p *pusher) send(ctx context.Context, g *group, stream int) (*group, error) {
	err := p.member.Send(ctx, stream)
	switch {
	case err == nil:
		return g, nil
	case isOneOf(err, rdmc.ErrEnded, member.ErrEnded):
		return nil, p.recover(ctx, g)
	}
	return nil, orCause(ctx, err)
}

// compareAfter ends a group, if there is one left, and has all find out what they have.
func (p *pusher) compareAfter(ctx context.Context, g *group) error {
	if g != nil {
		p.end(ctx, g)
	}
	return p.compare(ctx, those(alive(p.hosts), func(h *host) bool { return p.board.of(h).status.Candidates > 0 }))
}

// main are the hosts that are served first.
func (p *pusher) main() []*host {
	return those(p.hosts, func(h *host) bool { return h.alive() && !h.demoted })
}

// serveStragglers serves the slow hosts, apart from the others.
func (p *pusher) serveStragglers(ctx context.Context) error {
	slow := alive(those(p.hosts, func(h *host) bool { return h.demoted }))
	if len(slow) == 0 {
		return nil
	}
	p.servesSlow.Store(true)
	p.phase("stragglers")
	if err := p.deliver(ctx, nil, slow); err != nil {
		return err
	}
	return p.finish(ctx, slow, "commit")
}

// sendManifest brings the manifest to all, as often as it takes, and waits until everybody has looked what it has already. The group
// that is left over is for the content.
func (p *pusher) sendManifest(ctx context.Context) (*group, error) {
	for tries := new(attempts); tries.another(p.hosts, 0); {
		p.phase("manifest")
		g, err := p.form(ctx, p.hosts, purpose{})
		if err != nil {
			return nil, err
		}
		if g, err = p.send(ctx, g, 0); err != nil {
			return nil, err
		}
		if g == nil {
			continue
		}
		if err := p.board.await(ctx, func() bool { return p.allReady(g) || p.hasFailed(g) }); err != nil {
			return nil, err
		}
		p.isProven = p.allReady(g)
		if !p.hasFailed(g) {
			return g, nil
		}
		if err := p.recover(ctx, g); err != nil {
			return nil, err
		}
		if p.allReady(g) { // it failed when it had done its work
			return nil, nil
		}
	}
	return nil, fmt.Errorf("the manifest was sent %d times, and the group has ended every time", mostForms)
}

// allReady reports whether all living members of a group have the manifest, and have looked at their disks.
func (p *pusher) allReady(g *group) bool {
	return !p.anyOf(g, func(s *control.Status) bool {
		return s.Phase == "" || s.Phase == control.PhaseOpen || s.Phase == control.PhaseExamining
	})
}

// anyOf reports whether something is so at a living member of a group.
func (p *pusher) anyOf(g *group, isSo func(*control.Status) bool) bool {
	for _, h := range alive(g.hosts) {
		if n := p.board.of(h); isSo(&n.status) {
			return true
		}
	}
	return false
}

// hasFailed reports whether a group has ended somewhere, or cannot go on.
func (p *pusher) hasFailed(g *group) bool {
	if p.board.failedHere(g.epoch) != nil {
		return true
	}
	for _, h := range alive(g.hosts) {
		if n := p.board.of(h); n.lost != nil || n.status.Phase == control.PhaseFailed || n.failedIn(g.epoch) != nil {
			return true
		}
	}
	return false
}

// failedIn is how the group of an epoch ended at a host; nil: it has not.
func (n *note) failedIn(epoch int) *control.GroupFailed {
	if n.status.Epoch != epoch {
		return nil
	}
	return n.status.GroupFailed
}

// nobodyHasAnything reports whether the group that has brought the manifest can go on with the content.
func (p *pusher) nobodyHasAnything(g *group) bool {
	return g != nil && !p.hasFailed(g) && !p.anyOf(g, func(s *control.Status) bool { return s.Candidates > 0 || s.Phase == control.PhaseComplete })
}

// deliver brings the content to some hosts, in one group after the other, until all that are left have everything. The first group
// may be there already.
func (p *pusher) deliver(ctx context.Context, g *group, all []*host) error {
	for tries := new(attempts); ; g = nil {
		if g == nil {
			have, total, err := p.have(ctx, all)
			if err != nil || p.isComplete(have, alive(all)) {
				return err
			}
			if !tries.another(all, total) {
				return fmt.Errorf("%d groups in a row have ended and brought nothing", mostForms)
			}
			if g, err = p.form(ctx, all, purpose{finish: true, have: have}); err != nil {
				return err
			}
			p.startSending()
		}
		if done, err := p.follow(ctx, g); done || err != nil {
			return err
		}
		if !isSlow(all) {
			all = those(all, func(h *host) bool { return !h.demoted })
		}
		p.repairs++
	}
}

// isSlow reports whether hosts are those that are served apart.
func isSlow(all []*host) bool { return len(those(all, func(h *host) bool { return !h.demoted })) == 0 }

// startSending begins the phase in which content is sent, if it has not begun.
func (p *pusher) startSending() {
	if p.sentSince.IsZero() {
		p.sentSince = time.Now()
	}
	if p.stage.Load() != "stragglers" && p.stage.Load() != "send" {
		p.phase("send")
	}
}

// follow watches a group until all have everything, or it has to be replaced by another one.
func (p *pusher) follow(ctx context.Context, g *group) (done bool, err error) {
	watch := newStopwatch(p, g)
	err = p.board.await(ctx, func() bool {
		return p.allComplete(g) || p.hasFailed(g) || watch.findsSlow()
	})
	p.sending = time.Since(p.sentSince)
	if err != nil {
		p.note(g) // who ends a push wants to know what held it up
		p.sending = max(0, p.heardLast(g).Sub(p.sentSince))
		return false, err
	}
	switch {
	case p.allComplete(g) && !p.hasFailed(g):
		p.end(ctx, g)
		return true, context.Cause(ctx)
	case p.hasFailed(g):
		return false, p.recover(ctx, g)
	}
	p.end(ctx, g) // first: who is served later is not judged, and this is what one waits for whose disk does not only lag, but hangs
	if watch.slow.alive() {
		p.demote(watch.slow, watch.why)
	}
	return false, context.Cause(ctx)
}

// heardLast is when a member told last how far it is: what has come since then nobody knows.
func (p *pusher) heardLast(g *group) (last time.Time) {
	for _, h := range g.hosts {
		if n := p.board.of(h); n.heard.After(last) {
			last = n.heard
		}
	}
	return last
}

func (p *pusher) allComplete(g *group) bool {
	return !p.anyOf(g, func(s *control.Status) bool { return s.Phase != control.PhaseComplete })
}

func (p *pusher) demote(h *host, why string) {
	p.board.mu.Lock()
	h.demoted = true
	p.board.mu.Unlock()
	p.emit(Event{Kind: EventDemoted, Host: h.name, Text: why})
}

// have asks all living hosts what they hold. The total is how many blocks that is.
func (p *pusher) have(ctx context.Context, all []*host) (have map[*host]schedule.Set, total int, err error) {
	live := alive(all)
	sets := make(map[*host]*schedule.Set, len(live))
	for _, h := range live {
		sets[h] = new(schedule.Set)
	}
	p.atEach(ctx, live, p.Fan, func(ctx context.Context, h *host) error { return p.haveOf(ctx, h, sets[h]) })
	if ctx.Err() != nil {
		return nil, 0, context.Cause(ctx)
	}
	have = make(map[*host]schedule.Set)
	for _, h := range alive(live) {
		have[h] = *sets[h]
		total += have[h].Count()
	}
	return have, total, nil
}

func (p *pusher) haveOf(ctx context.Context, h *host, into *schedule.Set) error {
	defer p.calls.Add(1)
	answer, err := call[control.HaveRequest, control.Have](ctx, p.node, h, endPatience, control.MethodHave, control.HaveRequest{ID: p.id})
	if err != nil {
		return err
	}
	if *into, err = schedule.ParseSet(answer.Set, p.content.Blocks()); err != nil || into.Len() != p.content.Blocks() {
		return fmt.Errorf("what it says it has makes no sense: %d blocks of %d: %w", into.Len(), p.content.Blocks(), orNothing(err))
	}
	return nil
}

// errNoSense is that an agent says what cannot be.
var errNoSense = errors.New("it is a set of another stream")

func orNothing(err error) error {
	if err == nil {
		return errNoSense
	}
	return err
}

// isComplete reports whether all hosts have all blocks.
func (p *pusher) isComplete(have map[*host]schedule.Set, all []*host) bool {
	return len(those(all, func(h *host) bool { return !have[h].Full() })) == 0
}
