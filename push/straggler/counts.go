package straggler

import (
	"slices"
	"time"
)

// hop is from one rank to another.
type hop struct{ from, to int }

// load is what went over a hop.
type load struct {
	blocks, bytes uint64
	wire          time.Duration
}

// rate is in bytes a second; 0: too little went to tell. What was on the wire too shortly to be measured has had this rate at least.
func (l load) rate() (rate float64, atLeast bool) {
	if l.blocks < enough {
		return 0, false
	}
	return float64(l.bytes) / max(l.wire, shortest).Seconds(), l.wire < shortest
}

// counts is what all members have counted, or what they have in a window.
type counts struct {
	hops map[hop]load
	full []time.Duration // by rank
}

// count sorts what members tell. They come from elsewhere: ranks that are none do not count.
func count(members []Member) counts {
	c := counts{hops: map[hop]load{}}
	for from, m := range members {
		c.full = append(c.full, m.Full)
		for _, h := range m.Hops {
			if h.Rank >= 0 && h.Rank < len(members) && h.Rank != from {
				c.hops[hop{from, h.Rank}] = load{h.Blocks, h.Bytes, time.Duration(h.Wire)}
			}
		}
	}
	return c
}

// minus is what came since. A count that went back says nothing.
func (c *counts) minus(before *counts) counts {
	d := counts{hops: map[hop]load{}, full: slices.Clone(c.full)}
	for h, now := range c.hops {
		was := before.hops[h]
		if now.blocks >= was.blocks && now.bytes >= was.bytes && now.wire >= was.wire {
			d.hops[h] = load{now.blocks - was.blocks, now.bytes - was.bytes, now.wire - was.wire}
		}
	}
	for rank := range min(len(d.full), len(before.full)) {
		d.full[rank] -= before.full[rank]
	}
	return d
}

// tells reports whether what came in a window is enough to judge by: that of the median hop that is used, or that of a disk.
func (c *counts) tells(took time.Duration) bool {
	if rank, _ := c.slowDisk(took); rank != 0 {
		return true
	}
	var blocks []float64
	for _, l := range c.hops {
		if l.blocks > 0 {
			blocks = append(blocks, float64(l.blocks))
		}
	}
	return middle(blocks) >= plenty
}

// direction is all that one member sends, or all that it receives.
type direction struct {
	fastest  float64       // bytes a second of its fastest hop; 0: nothing is known
	atLeast  bool          // a hop may be faster
	busy     time.Duration // that blocks were under way, of all hops together
	partners []int
}

// directions are what members send and receive, by rank; nobody is faster than the limit.
func (c *counts) directions(limit float64) (sends, receives []direction) {
	sends, receives = make([]direction, len(c.full)), make([]direction, len(c.full))
	for h, l := range c.hops {
		rate, atLeast := l.rate()
		if limit > 0 {
			rate = min(rate, limit)
		}
		if rate > 0 {
			sends[h.from].add(h.to, rate, l.wire, atLeast)
			receives[h.to].add(h.from, rate, l.wire, atLeast)
		}
	}
	return sends, receives
}

func (d *direction) add(partner int, rate float64, wire time.Duration, atLeast bool) {
	d.fastest = max(d.fastest, rate)
	d.busy += wire
	d.atLeast = d.atLeast || atLeast
	d.partners = append(d.partners, partner)
}

func (d *direction) isSlow(usual float64) bool {
	return d.fastest > 0 && !d.atLeast && d.fastest < Fraction*usual
}

// accuse adds the partners that have felt that a direction is slow, and busy for a part of the time, and returns which part of the usual rate it has.
func (d *direction) accuse(usual float64, took time.Duration, partners map[int]bool) float64 {
	if !d.isSlow(usual) || d.busy.Seconds() < Busy*took.Seconds() {
		return 1
	}
	for _, p := range d.partners {
		partners[p] = true
	}
	return d.fastest / usual
}

// usual is the median of what members can do: of two in the middle, the faster.
func usual(all []direction) float64 {
	var rates []float64
	for _, d := range all {
		if d.fastest > 0 {
			rates = append(rates, d.fastest)
		}
	}
	return middle(rates)
}

func middle(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// slowDisk is the member whose disk had blocks wait for the greatest part of the time, if that is much, and more than is usual.
func (c *counts) slowDisk(took time.Duration) (rank int, part float64) {
	var parts []float64
	for r := 1; r < len(c.full); r++ {
		p := c.full[r].Seconds() / took.Seconds()
		if parts = append(parts, p); p > FullPart && p > part {
			rank, part = r, p
		}
	}
	if len(parts) < 2 || slices.Sorted(slices.Values(parts))[(len(parts)-1)/2] > FullPart/2 {
		return 0, 0
	}
	return rank, part
}
