package push

import (
	"cmp"
	"slices"
	"time"

	"github.com/weft-fabric/weft/push/control"
)

// sample is what was sent by one member to another.
type sample struct {
	bytes uint64
	wire  time.Duration
}

// rate is in bytes a second; 0: too little was sent to tell.
func (s sample) rate() float64 {
	if s.wire < 20*time.Millisecond {
		return 0
	}
	return float64(s.bytes) / s.wire.Seconds()
}

// route is from one member to another, by their names.
type route struct{ from, to string }

// traffic is what went between members, in all groups of a push.
type traffic map[route]sample

// note keeps what was measured of a group that ends.
func (p *pusher) note(g *group) {
	for from, m := range p.counts(g) {
		for _, h := range m.Hops {
			p.traffic.add(g.plan.Members, from, h)
		}
	}
	for i, h := range g.hosts {
		if s := p.board.of(h).status; s.FirstByte > 0 && h.first == 0 {
			h.first = g.begun[i].Sub(p.began) + time.Duration(s.FirstByte)
		}
	}
}

// add adds what a member has sent to another. Ranks that are none come from elsewhere.
func (t traffic) add(names []string, from int, h control.Hop) {
	if from >= len(names) || h.Rank < 0 || h.Rank >= len(names) {
		return
	}
	key := route{names[from], names[h.Rank]}
	sum := t[key]
	t[key] = sample{sum.bytes + h.Bytes, sum.wire + time.Duration(h.Wire)}
}

// reports are the hops, the largest first.
func (t traffic) reports() (all []HopReport) {
	for r, s := range t {
		if s.bytes > 0 {
			all = append(all, HopReport{From: r.from, To: r.to, Bytes: s.bytes, Rate: s.rate()})
		}
	}
	slices.SortFunc(all, func(a, b HopReport) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return all
}

// fastest is the rate of the fastest hops: a tenth of all bytes went at it, or faster. The few that a hop has sent in a moment say little, as buffers on
// the way take them.
func (t traffic) fastest() float64 {
	var all []sample
	var bytes float64 // what agents say of them adds up to anything
	for _, s := range t {
		if s.rate() > 0 {
			all = append(all, s)
			bytes += float64(s.bytes)
		}
	}
	slices.SortFunc(all, func(a, b sample) int { return cmp.Compare(b.rate(), a.rate()) })
	left := bytes / 10
	for _, s := range all {
		if left -= float64(s.bytes); left <= 0 {
			return s.rate()
		}
	}
	return 0
}

func (t traffic) rates() (all []float64) {
	for _, s := range t {
		if s.rate() > 0 {
			all = append(all, s.rate())
		}
	}
	return all
}

// crossing is how many bytes went between racks.
func (t traffic) crossing(rackOf map[string]int) (bytes uint64) {
	for r, s := range t {
		if rackOf[r.from] != rackOf[r.to] {
			bytes += s.bytes
		}
	}
	return bytes
}

// timeFor is how long so much takes at a rate a second. When that is more than a year, it is a year.
func timeFor(much uint64, rate float64) time.Duration {
	const longest = 365 * 24 * time.Hour
	return time.Duration(min(float64(much)/rate*1e9, float64(longest)))
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}
