package push

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/weft-fabric/weft/push/control"
)

// mostSlowest is how many of the slowest hosts are named.
const mostSlowest = 3

// clock is what progress is computed from, from one tick to the next.
type clock struct {
	p      *pusher
	at     time.Time
	before map[*host]uint64 // bytes that a host had
	rates  map[*host]float64
	moved  time.Time // when somebody got on last
	mark   uint64    // all that was done by then
}

// runClock tells how far the push is, about twice a second, and stops it when nobody gets on. It ends with ctx; bounded waits for it.
func (p *pusher) runClock(ctx context.Context, stop context.CancelCauseFunc) {
	c := &clock{p: p, at: time.Now(), moved: time.Now(), before: make(map[*host]uint64), rates: make(map[*host]float64)}
	tick := time.NewTicker(pollWait)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			views := p.views()
			if c.stalled(views) && !(p.waitsForHosts() && c.leaveBehind(views)) {
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
			v.status, v.heard = n.status, n.heard
		}
		v.waits = h.demoted && p.stage.Load() != "stragglers"
		v.complete = v.finished || v.status.Phase == control.PhaseComplete
		all = append(all, v)
	}
	return all
}

// patienceFor is how long nothing may happen. Of a commit nothing is heard until it is done, so that it has more time.
func (p *pusher) patienceFor() time.Duration {
	if p.stage.Load() == "commit" {
		return 10 * p.StallTimeout
	}
	return p.StallTimeout
}

// stalled reports whether nobody has got on for too long.
func (c *clock) stalled(views []view) bool {
	mark := c.p.work.Load() + c.p.calls.Load()
	for _, v := range views {
		s := v.status
		mark += uint64(s.Have) + s.Received + s.Sent + s.Looked + s.Examined + s.Disk.Bytes
		if v.failed || v.finished {
			mark++
		}
	}
	if mark != c.mark {
		c.mark, c.moved = mark, time.Now()
	}
	return time.Since(c.moved) >= c.p.patienceFor()
}

// waitsForHosts reports whether hosts are to blame when nobody gets on, and not the source.
func (p *pusher) waitsForHosts() bool {
	switch p.stage.Load() {
	case "manifest", "examine", "send", "stragglers":
		return p.object.sinceRead() < p.StallTimeout/2
	}
	return false
}

// leaveBehind gives up the hosts that have got least far, when nobody gets on: it is they who all wait for. Where all are as far as each other, there
// is nobody to go on with. Only who answers can be judged: one that does not is found otherwise, and may be why the others wait.
func (c *clock) leaveBehind(views []view) bool {
	lately := min(c.p.StallTimeout/2, silence/2)
	var behind []view
	rest := 0
	for _, v := range views {
		if !v.alive || v.waits {
			continue
		}
		if time.Since(v.heard) > lately {
			return false
		}
		if rest++; len(behind) > 0 && v.further(&behind[0]) > 0 {
			continue
		}
		if len(behind) > 0 && v.further(&behind[0]) < 0 {
			behind = nil
		}
		behind = append(behind, v)
	}
	if len(behind) == rest {
		return false
	}
	c.moved = time.Now()
	for _, v := range behind {
		text := fmt.Sprintf("it has not got on for %v, and all others waited for it", c.p.patienceFor())
		c.p.board.giveUp(v.host, &control.Trouble{Class: control.Late, Text: text})
	}
	return true
}

// stages are the phases of an agent, in their order.
var stages = []control.Phase{"", control.PhaseOpen, control.PhaseExamining, control.PhaseReady, control.PhaseReceiving, control.PhaseComplete}

// further compares how far two hosts are.
func (v *view) further(other *view) int {
	return cmp.Or(cmp.Compare(slices.Index(stages, v.status.Phase), slices.Index(stages, other.status.Phase)), cmp.Compare(v.status.Have, other.status.Have))
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
			g.Efficiency = min(1, g.Rate/link)
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
	slices.SortStableFunc(list, func(a, b HostRate) int { return compareUint(a.Done, b.Done) })
	return list[:min(len(list), mostSlowest)]
}

func compareUint(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
