package push

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
)

// mostSlowest is how many of the slowest hosts are named.
const mostSlowest = 3

// clock is what progress is computed from, from one tick to the next.
type clock struct {
	p      *pusher
	at     time.Time
	before map[*host]uint64 // bytes that a host had
	rates  map[*host]float64
	stage  string           // what is done now
	moved  time.Time        // when somebody got on last
	mark   uint64           // all that was done by then
	most   map[*host]uint64 // steps that a host had done, at most
}

// runClock tells how far the push is, about twice a second, and stops it when nobody gets on. It ends with ctx; bounded waits for it.
func (p *pusher) runClock(ctx context.Context, stop context.CancelCauseFunc) {
	c := &clock{p: p, at: time.Now(), moved: time.Now(), before: make(map[*host]uint64), rates: make(map[*host]float64), most: make(map[*host]uint64)}
	tick := time.NewTicker(pollWait)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.look()
			views := p.views()
			if c.stalled(views) && !c.goesOn(views) {
				stop(fmt.Errorf("%w for %v", ErrStalled, p.StallTimeout))
				return
			}
			p.emit(Event{Kind: EventProgress, Progress: c.progress(views)})
		}
	}
}

// view is a host as the clock sees it.
type view struct {
	host                              *host
	name                              string
	alive, complete, failed, finished bool
	waits                             bool // it is slow, and served later
	lost                              bool // it does not answer, or nobody waits for it any longer
	asked                             bool // it compares what it has
	gained                            int  // blocks, in the present group
	status                            control.Status
	heard                             time.Time
}

// views looks at all hosts at one moment.
func (p *pusher) views() (all []view) {
	p.board.mu.Lock()
	defer p.board.mu.Unlock()
	for _, h := range p.hosts {
		v := view{host: h, name: h.name, alive: h.alive(), failed: h.trouble != nil, finished: h.finished != nil}
		if n := p.board.notes[h]; n != nil {
			v.status, v.heard, v.lost, v.asked, v.gained = n.status, n.heard, n.lost != nil, n.asked, n.status.Have-n.start
		}
		v.waits = h.demoted && !p.servesSlow.Load()
		v.complete = v.finished || v.status.Phase == control.PhaseComplete
		all = append(all, v)
	}
	return all
}

// look notes what is done now, before hosts are looked at: whoever ends it has told so by then. What begins has all the time that it may take.
func (c *clock) look() {
	if stage, _ := c.p.stage.Load().(string); stage != c.stage {
		c.stage, c.moved = stage, time.Now()
	}
}

// isLast reports whether nothing is left but what each host does by itself.
func (c *clock) isLast() bool { return c.stage == "commit" || c.stage == "differ" }

// patience is how long nothing may happen. Of what a disk does at the end little is heard until it is done, so that it has more time.
func (c *clock) patience() time.Duration {
	if c.isLast() {
		return 10 * c.p.StallTimeout
	}
	return c.p.StallTimeout
}

// stalled reports whether nobody has got on for too long.
func (c *clock) stalled(views []view) bool {
	mark := c.p.work.Load() + c.p.calls.Load() + c.p.holes.Load()
	for i := range views {
		mark += c.doneBy(&views[i])
	}
	if mark != c.mark {
		c.mark, c.moved = mark, time.Now()
	}
	return time.Since(c.moved) >= c.patience()
}

// doneBy is how many steps a host has done. It is its own word: only what is more than ever before counts, and only as much as there is to do. So who
// does nothing but say something does not have the others wait for ever.
func (c *clock) doneBy(v *view) uint64 {
	if b := c.p.bounds.Load(); b != nil {
		c.most[v.host] = max(c.most[v.host], b.steps(&v.status))
	}
	if v.failed || v.finished || v.lost {
		return c.most[v.host] + 1
	}
	return c.most[v.host]
}

// bounds is how much there is to do for a host.
type bounds struct {
	blocks, block                              int
	received, looked, examined, moved, entries uint64
}

// newBounds are those of a push. A manifest may come several times; where it has holes, and other names of a file, what is there may be read; and what is
// there may be copied twice, and compared three times.
func newBounds(s manifest.Summary, span uint64, list, content manifest.Layout) *bounds {
	return &bounds{
		blocks: content.Blocks(), block: content.Block, received: mostForms*list.WireSize() + content.WireSize(), looked: 2*s.Entries + (s.Disk+span)/control.BlockUnit,
		examined: 2 * content.Size, moved: 5 * span, entries: s.Entries,
	}
}

// steps is how much of that a host says it has done. Bytes count by the block.
func (b *bounds) steps(s *control.Status) uint64 {
	bytes := min(s.Received, b.received)/uint64(b.block) + min(s.Examined, b.examined)/uint64(b.block) + min(s.Moved, b.moved)/uint64(b.block)
	return bytes + uint64(min(s.Have, b.blocks)) + min(s.Looked, b.looked) + min(s.Named, b.entries)
}

func (c *clock) progress(views []view) *Progress {
	stage, _ := c.p.stage.Load().(string)
	g := &Progress{Phase: stage, Elapsed: time.Since(c.p.began)}
	for _, v := range views {
		count(&g.Alive, v.alive)
		count(&g.Complete, v.complete)
		count(&g.Failed, v.failed)
	}
	switch stage {
	case "scan", "connect":
	case "hash":
		g.Done, g.Total = c.p.work.Load(), c.p.total.Load()
	case "manifest", "examine":
		for _, v := range views {
			g.Done, g.Total = g.Done+v.status.Examined, g.Total+v.status.ToExamine
		}
	default:
		c.delivered(g, views)
	}
	return g
}

func count(n *int, is bool) {
	if is {
		*n++
	}
}

// delivered fills in how much of the content has arrived, and how fast.
func (c *clock) delivered(g *Progress, views []view) {
	l := c.p.content
	took := time.Since(c.at).Seconds()
	c.at = time.Now()
	var rates []float64
	most := uint64(0) // that a host still lacks
	for _, v := range views {
		if v.failed {
			continue
		}
		done := min(uint64(v.status.Have)*uint64(l.Block), l.Size)
		if v.complete {
			done = l.Size
		}
		g.Done, g.Total = g.Done+done, g.Total+l.Size
		if rate, ok := c.rateOf(v.host, done, took); ok && !v.complete {
			rates = append(rates, rate)
			most = max(most, l.Size-done)
		}
	}
	if g.Rate = median(rates); g.Rate > 0 {
		g.Remaining = timeFor(most, g.Rate)
		if link := c.linkRate(views); link > 0 {
			g.Efficiency = min(1, g.Rate/min(link, c.shareOf(link, len(rates))))
		}
	}
	g.Slowest = c.slowest(views)
}

// linkRate is how many bytes a second a link takes: as planned, or else as the fastest hops have shown until now.
func (c *clock) linkRate(views []view) float64 {
	if plan := c.p.planned.Load(); plan != nil && plan.Rate > 0 {
		return plan.Rate
	}
	hops := make(traffic)
	for _, v := range views {
		for _, h := range v.status.Hops {
			hops[route{v.name, strconv.Itoa(h.Rank)}] = sample{h.Bytes, time.Duration(h.Wire)}
		}
	}
	return hops.fastest()
}

// shareOf is what of the rate of a block to one each of some hosts can have: where all are on this machine they share its processors.
func (c *clock) shareOf(rate float64, hosts int) float64 {
	if !c.p.sharesProcessors() {
		return rate
	}
	return rate * float64(runtime.NumCPU()) / float64(hosts)
}

// rateOf is how fast a host receives: what it has got lately counts as much as what was before.
func (c *clock) rateOf(h *host, done uint64, took float64) (rate float64, known bool) {
	before, seen := c.before[h]
	c.before[h] = done
	if !seen || done < before || took <= 0 {
		return 0, false
	}
	now := float64(done-before) / took
	if old, ok := c.rates[h]; ok {
		now = (old + now) / 2
	}
	c.rates[h] = now
	return now, true
}

// slowest are the hosts that are behind the others.
func (c *clock) slowest(views []view) (list []HostRate) {
	for _, v := range views {
		if v.alive && !v.complete {
			r := HostRate{Host: v.name, Done: c.before[v.host], Rate: c.rates[v.host]}
			if v.status.Disk.Full > int64(c.p.StallTimeout/100) {
				r.Why = "disk"
			}
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b HostRate) int { return cmp.Compare(a.Done, b.Done) })
	return list[:min(len(list), mostSlowest)]
}
