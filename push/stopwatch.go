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
	start map[*host]int // blocks that it held when the group began
	judge straggler.Judge
	slow  *host
	why   string
}

func newStopwatch(p *pusher, g *group) *stopwatch {
	w := &stopwatch{p: p, g: g, began: time.Now(), start: make(map[*host]int), judge: straggler.Judge{Limit: p.mostRate()}}
	w.judge.Look(0, p.counts(g))
	return w
}

// mostRate is how many bytes a second a member can send, as far as is known: what looks faster is the kernel's buffers. 0: nobody knows. A rate that
// is only thought to be that of the links, and is lower, would make the pace of a group with a slow member look good.
func (p *pusher) mostRate() float64 {
	link, limit := p.links.rate/8, float64(p.Rate)
	if !p.links.isMost || limit > 0 && limit < link {
		return limit
	}
	return link
}

// counts are what the members of a group have told until now, by rank.
func (p *pusher) counts(g *group) []straggler.Member {
	all := make([]straggler.Member, len(g.hosts)+1)
	all[0].Hops = p.member.Stats().Hops
	for i, h := range g.hosts {
		s := p.board.of(h).status
		all[i+1].Full = time.Duration(s.Disk.Full) // of all groups: who has not spoken of this one has added nothing to it
		if s.Epoch == g.epoch {
			all[i+1].Hops = s.Hops
		}
	}
	return all
}

// findsSlow reports whether somebody should be served apart: slow and why say who.
func (w *stopwatch) findsSlow() bool {
	now := time.Since(w.began)
	w.noteStart()
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

// noteStart takes down what hosts hold when they speak of this group for the first time: a group that finishes something begins with much.
func (w *stopwatch) noteStart() {
	for _, h := range alive(w.g.hosts) {
		if s := w.p.board.of(h).status; s.Epoch == w.g.epoch {
			if _, known := w.start[h]; !known {
				w.start[h] = s.Have
			}
		}
	}
}

// left is how long the group will still take, as it goes now.
func (w *stopwatch) left() (longest time.Duration) {
	took := time.Since(w.began)
	for _, h := range alive(w.g.hosts) {
		have := w.p.board.of(h).status.Have
		longest = max(longest, timeLeft(took, have-w.start[h], w.p.content.Blocks()-have))
	}
	return longest
}

// timeLeft is how long it takes to get what is lacking, if that much was got meanwhile.
func timeLeft(took time.Duration, got, lacking int) time.Duration {
	switch {
	case lacking <= 0:
		return 0
	case got <= 0:
		return max(took, worthwhile)
	}
	return timeFor(uint64(lacking), float64(got)/took.Seconds())
}
