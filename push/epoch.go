package push

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// group is one epoch of a push: some hosts, with this end as the root.
type group struct {
	epoch int
	plan  control.Plan
	hosts []*host                   // the first is of rank 1
	begun []time.Time               // when each of them had begun, as far as is known here
	apart atomic.Pointer[complaint] // who could not connect, the first
}

// complaint is what a member says that could not connect with others.
type complaint struct {
	rank int
	err  error
}

// purpose is what a group is made for: the manifest and then the content, or to finish the content.
type purpose struct {
	finish bool
	have   map[*host]schedule.Set // of hosts that hold something
}

const (
	mostForms   = 8               // times in a row that a group is formed anew although nothing has changed
	endPatience = 5 * time.Minute // for an agent to write what has come, on a slow disk; who is lost meanwhile is found otherwise

	connectPatience = time.Minute // for all to meet all their peers; who is lost meanwhile is found otherwise
)

var (
	// errAgain is that a group could not be formed, and what is to blame for it was dealt with.
	errAgain = errors.New("the group was not formed")
	// errApart is that its members have not met.
	errApart = errors.New("the members of the group have not all met")
)

// form makes a group of those hosts that are alive, connects it and begins. Who does not answer is given up, and it is done again.
func (p *pusher) form(ctx context.Context, among []*host, to purpose) (*group, error) {
	for tries := new(attempts); tries.another(among, 0); {
		live := alive(among)
		if len(live) == 0 {
			return nil, errNobody
		}
		g := p.newGroup(live, to)
		err := p.begin(ctx, g)
		if err == nil {
			return g, nil
		}
		if err = p.unmake(ctx, g, err); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the group was formed %d times, and has never begun: see what the hosts say", mostForms)
}

// attempts are those that have brought nothing: no block, and no word of who is to blame. There may be as many troubles as hosts.
// The blocks are the most that these hosts ever held: what one says it has lost, and has again, is nothing new.
type attempts struct{ fruitless, hosts, strikes, blocks int }

// another reports whether to try once more, now that the hosts hold so many blocks.
func (a *attempts) another(among []*host, blocks int) bool {
	now := attempts{hosts: len(alive(among)), blocks: blocks}
	for _, h := range among {
		now.strikes += h.strikes
	}
	if now.hosts == a.hosts && now.strikes == a.strikes && now.blocks <= a.blocks {
		now.fruitless = a.fruitless
	}
	if now.hosts == a.hosts {
		now.blocks = max(now.blocks, a.blocks)
	}
	now.fruitless++
	*a = now
	return now.fruitless <= mostForms
}

// unmake ends a group that has not begun, and returns an error if there should not be another one.
func (p *pusher) unmake(ctx context.Context, g *group, why error) error {
	p.Log.Info("a group has not begun", "epoch", g.epoch, "error", why)
	if errors.Is(why, errApart) && ctx.Err() == nil {
		return p.recover(ctx, g)
	}
	p.end(ctx, g)
	switch {
	case errors.Is(why, errWay) && ctx.Err() == nil:
		return p.fallBack(why)
	case !errors.Is(why, errAgain) || ctx.Err() != nil:
		return orCause(ctx, why)
	}
	return nil
}

func (p *pusher) newGroup(live []*host, to purpose) *group {
	p.epoch++
	g := &group{epoch: p.epoch}
	g.hosts, g.plan = p.groupPlan(live)
	g.begun = make([]time.Time, len(g.hosts))
	g.plan.Stream = manifest.ManifestStream
	for _, h := range g.hosts {
		has := to.have[h]
		p.board.set(h, func(n *note) { n.start = has.Count() })
	}
	if to.finish {
		finishing(&g.plan)
		g.plan.Have = p.encodeHave(g.hosts, to.have)
	}
	return g
}

// repairCredits is how many receives are ready in a repair, at least: partners change more often than in a schedule, and with only one the next
// waits until a block was checked. That it helps is not settled: on a busy machine one credit came to 0.89, 0.84 and 0.87 of the bound, two to
// 0.93, 0.91 and 0.59, three to 0.84 and 0.82. It is to be measured on an idle one.
const repairCredits = 2

// finishing makes a plan one for a group that finishes the content.
func finishing(plan *control.Plan) {
	plan.Stream, plan.Finish, plan.Credits = manifest.ContentStream, true, max(plan.Credits, repairCredits)
}

// encodeHave is what each member holds, by rank; the root holds everything.
func (p *pusher) encodeHave(all []*host, have map[*host]schedule.Set) (sets [][]byte) {
	add := func(s schedule.Set) {
		b, _ := s.AppendBinary(nil) // it does not fail
		sets = append(sets, b)
	}
	add(schedule.FullSet(p.content.Blocks()))
	for _, h := range all {
		s, ok := have[h]
		if !ok {
			s = schedule.NewSet(p.content.Blocks())
		}
		add(s)
	}
	return sets
}

// begin takes a group through its steps: ends are made, connected, and begun, everywhere. Members that hold something wait for each other before they
// send it; where only this end does, they have begun when they are connected.
func (p *pusher) begin(ctx context.Context, g *group) error {
	formed, err := p.formAll(ctx, g)
	if err != nil {
		return err
	}
	if err := p.connectAll(ctx, g, formed); err != nil {
		return err
	}
	if !g.plan.Finish {
		return p.afterStep(g, control.MethodBegin, p.member.Begin(ctx), nil)
	}
	return p.atAll(ctx, g, step{control.MethodBegin, len(g.hosts)}, func(ctx context.Context, h *host, rank int) error {
		_, err := call[control.Begin, control.Empty](ctx, p.node, h, p.ConnectTimeout, control.MethodBegin, control.Begin{ID: p.id, Epoch: g.epoch})
		g.begun[rank-1] = time.Now()
		return err
	}, p.member.Begin)
}

// formAll has all members make their ends, and returns what they say, by rank.
func (p *pusher) formAll(ctx context.Context, g *group) ([]control.Formed, error) {
	formed := make([]control.Formed, len(g.hosts)+1)
	streams := []manifest.Layout{p.manifest, p.content}
	if g.plan.Finish {
		streams = streams[1:]
	}
	own, err := p.member.Form(member.Group{Plan: g.plan, Epoch: g.epoch, Streams: streams, Blocks: p.object, Notify: p.board.heard})
	if err != nil {
		err = fmt.Errorf("form a group: %w", err)
		return nil, orFirst(p.doubts(err, nil), err)
	}
	formed[0] = own
	return formed, p.atAll(ctx, g, step{control.MethodForm, g.fan()}, func(ctx context.Context, h *host, rank int) (err error) {
		formed[rank], err = call[control.Form, control.Formed](ctx, p.node, h, p.ConnectTimeout, control.MethodForm, control.Form{ID: p.id, Epoch: g.epoch, Plan: g.plan, Rank: rank})
		return err
	}, nil)
}

// connectAll has all members connect with their peers, whose addresses we carry.
func (p *pusher) connectAll(ctx context.Context, g *group, formed []control.Formed) error {
	addresses := func(rank int) control.Addresses {
		of := make(control.Addresses)
		for peer := range formed[rank].Addresses {
			if peer >= 0 && peer < len(formed) {
				of[peer] = formed[peer].Addresses[rank]
			}
		}
		return of
	}
	patience := max(p.ConnectTimeout, connectPatience)
	ctx, stop := p.whileAllAreThere(ctx, g)
	defer stop(nil)
	return p.atAll(ctx, g, step{control.MethodConnect, len(g.hosts)}, func(ctx context.Context, h *host, rank int) error {
		_, err := call[control.Connect, control.Empty](ctx, p.node, h, patience, control.MethodConnect,
			control.Connect{ID: p.id, Epoch: g.epoch, Addresses: addresses(rank), Begin: !g.plan.Finish})
		g.begun[rank-1] = time.Now()
		if err != nil && g.apart.CompareAndSwap(nil, &complaint{rank, err}) {
			stop(fmt.Errorf("%w: %s: %w", errApart, h.name, err)) // the others would wait for it in vain
		}
		return err
	}, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return p.member.Connect(ctx, addresses(0))
	})
}

// step is something that all members of a group do.
type step struct {
	method string
	most   int // hosts at a time: all, where members wait for each other
}

// requestMemory is what requests may take that are sent at the same time.
const requestMemory = 32 << 20

// fan is how many hosts can be told at a time what each of them has: all are told everything.
func (g *group) fan() int {
	size := 1 << 12
	for _, set := range g.plan.Have {
		size += 2 * len(set)
	}
	return max(1, requestMemory/size)
}

// atAll takes a step at all hosts of a group, and at this end, at the same time.
func (p *pusher) atAll(ctx context.Context, g *group, s step, there func(context.Context, *host, int) error, here func(context.Context) error) error {
	ranks := make(map[*host]int)
	for i, h := range g.hosts {
		ranks[h] = i + 1
	}
	var own error
	var working sync.WaitGroup
	if here != nil {
		working.Go(func() { own = here(ctx) })
	}
	errs := each(ctx, g.hosts, s.most, func(ctx context.Context, h *host) error {
		defer p.calls.Add(1)
		return there(ctx, h, ranks[h])
	})
	working.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return p.afterStep(g, s.method, own, errs)
}

// afterStep gives up who is to blame for a step that went wrong. Where members wait for each other, that one has failed says nothing of itself:
// who is to blame is found out later.
func (p *pusher) afterStep(g *group, method string, own error, errs []error) error {
	if err := p.doubts(own, errs); err != nil {
		return err
	}
	wrong := own
	for i, err := range errs {
		if err == nil {
			continue
		}
		wrong = fmt.Errorf("%s: %w", g.hosts[i].name, err)
		if method != control.MethodConnect || isAuthorization(err) {
			p.giveUp(g.hosts[i], troubleOf(err))
		}
	}
	switch {
	case wrong == nil:
		return nil
	case method == control.MethodConnect:
		return fmt.Errorf("%w: %w", errApart, wrong)
	}
	return fmt.Errorf("%w: %s: %w", errAgain, method, wrong)
}

// whileAllAreThere is a context that ends also when a member of a group is lost, for whom nobody should wait.
func (p *pusher) whileAllAreThere(ctx context.Context, g *group) (within context.Context, stop func(error)) {
	within, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		if p.board.await(within, func() bool { return p.board.lostAny(g.hosts) }) == nil {
			cancel(errApart)
		}
	})
	return within, func(why error) {
		cancel(why)
		if why == nil {
			watching.Wait()
		}
	}
}

// end ends a group everywhere: what has come is written then.
func (p *pusher) end(ctx context.Context, g *group) {
	p.note(g)
	var own error
	var working sync.WaitGroup
	working.Go(func() { own = p.member.End(ctx) })
	live := alive(g.hosts)
	p.atEach(ctx, live, len(live), func(ctx context.Context, h *host) error {
		_, err := call[control.End, control.Empty](ctx, p.node, h, endPatience, control.MethodEnd, control.End{ID: p.id, Epoch: g.epoch})
		return err
	})
	working.Wait()
	if own != nil {
		p.Log.Warn("this end of a group did not end well", "epoch", g.epoch, "error", own)
	}
}
