package push

import "time"

// stopwatch looks for a straggler in a group, window by window.
type stopwatch struct {
	p       *pusher
	g       *group
	began   time.Time
	at      time.Time
	before  measure
	suspect int // rank that was slow in the last window
	times   int // windows in a row
	slow    *host
	why     string
}

func newStopwatch(p *pusher, g *group) *stopwatch {
	return &stopwatch{p: p, g: g, began: time.Now(), at: time.Now(), before: p.measure(g)}
}

// measure is what the members of a group have told until now.
func (p *pusher) measure(g *group) measure {
	m := measure{hops: make(map[hop]sample), full: make([]time.Duration, len(g.hosts)+1)}
	hopsOf(0, p.member.Stats().Hops, m.hops)
	for i, h := range g.hosts {
		s := p.board.of(h).status
		if s.Epoch == g.epoch {
			hopsOf(i+1, s.Hops, m.hops)
			m.full[i+1] = time.Duration(s.Disk.Full)
		}
	}
	return m
}

// findsSlow reports whether somebody should be served apart: slow and why say who.
func (w *stopwatch) findsSlow() bool {
	took := time.Since(w.at)
	if took < slowWindow || !w.mayDemote() {
		return false
	}
	now := w.p.measure(w.g)
	rank, why := slowHost(now.since(w.before, took), len(w.g.hosts)+1)
	w.before, w.at = now, time.Now()
	if rank == 0 || rank != w.suspect {
		w.suspect, w.times = rank, 0
	}
	if rank == 0 {
		return false
	}
	if w.times++; w.times < slowWindows || w.left() < worthwhile {
		return false
	}
	w.slow, w.why = w.g.hosts[rank-1], why
	return true
}

// mayDemote reports whether there is somebody to be served without the straggler. On one host all share the same processors, and no link is slow.
func (w *stopwatch) mayDemote() bool {
	return len(alive(w.g.hosts)) > 1 && !isSlow(w.g.hosts) && !w.p.links.local
}

// left is how long the group will still take, as it goes now.
func (w *stopwatch) left() time.Duration {
	least := w.p.content.Blocks()
	for _, h := range alive(w.g.hosts) {
		least = min(least, w.p.board.of(h).status.Have)
	}
	if least == 0 {
		return worthwhile
	}
	took := time.Since(w.began)
	return time.Duration(float64(took) * float64(w.p.content.Blocks()-least) / float64(least))
}
