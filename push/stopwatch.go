package push

import (
	"time"

	"github.com/weft-fabric/weft/push/straggler"
)

// worthwhile is how long a push must still take, so that serving a host apart pays.
const worthwhile = 3 * time.Second

// stopwatch looks for a straggler in a group.
type stopwatch struct {
	p     *pusher
	g     *group
	began time.Time
	judge straggler.Judge
	slow  *host
	why   string
}

func newStopwatch(p *pusher, g *group) *stopwatch {
	w := &stopwatch{p: p, g: g, began: time.Now(), judge: straggler.Judge{Limit: float64(p.Rate)}}
	w.judge.Look(0, p.counts(g))
	return w
}

// counts are what the members of a group have told until now, by rank.
func (p *pusher) counts(g *group) []straggler.Member {
	all := make([]straggler.Member, len(g.hosts)+1)
	all[0].Hops = p.member.Stats().Hops
	for i, h := range g.hosts {
		if s := p.board.of(h).status; s.Epoch == g.epoch {
			all[i+1] = straggler.Member{Hops: s.Hops, Full: time.Duration(s.Disk.Full)}
		}
	}
	return all
}

// findsSlow reports whether somebody should be served apart: slow and why say who.
func (w *stopwatch) findsSlow() bool {
	now := time.Since(w.began)
	if !w.judge.Due(now) || !w.mayDemote() {
		return false
	}
	rank, why := w.judge.Look(now, w.p.counts(w.g))
	if rank == 0 || w.left() < worthwhile {
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
