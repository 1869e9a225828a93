package push

import (
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft/push/control"
)

// What makes a host a straggler.
const (
	slowFraction = 0.65            // of the median rate: a link at half rate is below, one with other traffic for a moment rarely is
	fullFraction = 0.5             // of the time that its disk has blocks wait
	slowWindow   = time.Second     // in which rates are compared
	slowWindows  = 2               // in a row, in which it must be slow
	worthwhile   = 3 * time.Second // that a push must still take, so that serving a host apart pays
)

// sample is what was sent by one member to another, all together or in a window.
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

// hop is from one rank to another.
type hop struct{ from, to int }

// measure is what was measured of a group in a window.
type measure struct {
	hops map[hop]sample
	full []time.Duration // by rank: how long blocks waited for the disk
	took time.Duration
}

// direction is what one member sends, or what it receives.
type direction struct {
	fastest  float64 // rate of its fastest hop: a slow one may be the other end's fault
	partners []int   // of whom something can be said
}

// slowHost judges who slows down the others: the rank, and why; 0 is nobody. In lock step all progress alike, so that only the time that blocks
// spend on the wire tells: a member is slow if all it receives, or all it sends, is, and that with several partners.
func slowHost(m measure, members int) (rank int, why string) {
	if rank, why = slowDisk(m, members); rank != 0 {
		return rank, why
	}
	in, out := directions(m, members)
	typicalIn, typicalOut := typical(in), typical(out)
	for r := 1; r < members; r++ {
		partners := make(map[int]bool)
		addSlow(partners, in[r], typicalIn)
		addSlow(partners, out[r], typicalOut)
		if len(partners) >= 2 {
			return r, fmt.Sprintf("its link is slow, with %d partners: it receives %.0f MB/s and sends %.0f, and others %.0f and %.0f", len(partners), in[r].fastest/1e6, out[r].fastest/1e6, typicalIn/1e6, typicalOut/1e6)
		}
	}
	return 0, ""
}

func addSlow(partners map[int]bool, d direction, typical float64) {
	if len(d.partners) == 0 || d.fastest >= slowFraction*typical {
		return
	}
	for _, p := range d.partners {
		partners[p] = true
	}
}

// directions sorts hops by members.
func directions(m measure, members int) (in, out []direction) {
	in, out = make([]direction, members), make([]direction, members)
	for h, s := range m.hops {
		if s.rate() == 0 || h.from < 0 || h.to < 0 || h.from >= members || h.to >= members {
			continue
		}
		in[h.to].add(h.from, s.rate())
		out[h.from].add(h.to, s.rate())
	}
	return in, out
}

func (d *direction) add(partner int, rate float64) {
	d.fastest = max(d.fastest, rate)
	d.partners = append(d.partners, partner)
}

// typical is the median of the fastest hops of all who have one.
func typical(all []direction) float64 {
	var rates []float64
	for _, d := range all {
		if len(d.partners) > 0 {
			rates = append(rates, d.fastest)
		}
	}
	return median(rates)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// slowDisk finds who has blocks wait for its disk, if that is not what most do.
func slowDisk(m measure, members int) (rank int, why string) {
	if m.took <= 0 || len(m.full) < members {
		return 0, ""
	}
	var shares []float64
	for r := 1; r < members; r++ {
		share := float64(m.full[r]) / float64(m.took)
		shares = append(shares, share)
		if share > fullFraction && (rank == 0 || m.full[r] > m.full[rank]) {
			rank = r
		}
	}
	if rank == 0 || median(shares) > fullFraction/2 {
		return 0, ""
	}
	return rank, fmt.Sprintf("its disk is slow: blocks waited for it during %.0f %% of the time", 100*float64(m.full[rank])/float64(m.took))
}

// hopsOf adds what a member tells of its hops.
func hopsOf(from int, hops []control.Hop, into map[hop]sample) {
	for _, h := range hops {
		into[hop{from, h.Rank}] = sample{h.Bytes, time.Duration(h.Wire)}
	}
}

// since is what was measured between two moments.
func (m measure) since(before measure, took time.Duration) measure {
	d := measure{hops: make(map[hop]sample), took: took}
	for h, s := range m.hops {
		b := before.hops[h]
		if s.bytes >= b.bytes && s.wire >= b.wire {
			d.hops[h] = sample{s.bytes - b.bytes, s.wire - b.wire}
		}
	}
	for r := range m.full {
		was := time.Duration(0)
		if r < len(before.full) {
			was = before.full[r]
		}
		d.full = append(d.full, m.full[r]-was)
	}
	return d
}
