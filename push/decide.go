package push

import (
	"context"
	"errors"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
)

// choose decides how to send: by which way, in blocks of what size, in which pattern.
func (p *pusher) choose(ctx context.Context) (err error) {
	p.checkOffers()
	if err := p.anybody(ctx); err != nil {
		return err
	}
	all := alive(p.hosts)
	p.chooseWay(all)
	p.links = p.findLinks(ctx, all)
	p.openCache()
	t := p.taskFor(all)
	if p.choice, err = t.choose(); err != nil {
		return &control.Trouble{Class: control.Preflight, Text: err.Error()}
	}
	s := p.source.Summary()
	p.manifest = manifest.NewLayout(manifest.ManifestStream, s.Size, p.choice.Block)
	p.content = manifest.NewLayout(manifest.ContentStream, s.Content, p.choice.Block)
	if p.manifest.Blocks() > control.MaxBlocks {
		return ofSource(errors.New("there are too many entries: push less at a time"))
	}
	if p.object, err = p.newObject(ctx, p.stop); err != nil {
		return err
	}
	p.bounds.Store(newBounds(s, p.source.Span(), p.manifest, p.content))
	p.plan = p.makePlan(all, t)
	p.planned.Store(p.plan)
	p.emit(Event{Kind: EventPlan, Plan: p.plan})
	return nil
}

// taskFor is what there is to choose for.
func (p *pusher) taskFor(all []*host) *task {
	s := p.source.Summary()
	_, racks := byRack(all, p.rootRack, p.Racks != nil)
	t := &task{
		members: len(all) + 1, racks: racks, size: max(s.Content, s.Size), way: p.way, links: p.links, algorithm: p.Algorithm, block: p.Block, before: p.blockBefore(), memory: control.MemoryBudget,
	}
	for _, h := range all {
		t.memory = min(t.memory, int(min(h.greeting.Memory, control.MemoryBudget)))
	}
	if limit := float64(p.Rate) * 8; limit > 0 && (t.links.rate == 0 || limit < t.links.rate) {
		t.links.rate = limit
	}
	return t
}

// findLinks is what is said, measured or told of the links. Control goes by TCP and says nothing of RDMA, whose devices may have other links.
func (p *pusher) findLinks(ctx context.Context, all []*host) links {
	l := links{rate: float64(p.LinkRate), isMost: p.LinkRate > 0, local: p.LinkRate == 0 && isLocal(all)}
	if l.rate > 0 || l.local || p.way == wayIBV || p.source.Summary().Content < worthProbing {
		return l
	}
	measured := p.probe(ctx, all)
	measured.local = false
	return measured
}
