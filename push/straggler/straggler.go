// Package straggler finds the member that holds up a group. It is pure: time is a parameter.
//
// In a group all progress alike, in lock step with the slowest, so how much a member has got tells nothing. What tells is how fast
// blocks were on the wire after the receiver had given credit for them. One hop is as fast as the slower of its two ends; but a member
// has several partners, and the fastest of its hops shows what it can do. A member is slow if the fastest of all that it sends, or of all
// that it receives, is below Fraction of what is usual, and if several partners have felt it: one slow hop may be the fault of either end.
// A member is slow also if its disk is: blocks had no place most of the time, and those of others had.
//
// Where all get on nearly as fast as links allow nobody holds up anybody, whatever single hops look like: hops that are busy at the same time share
// a link, and what the kernel takes at once looks faster than any. Nor does a member whose hops are idle most of the time: all wait for something else.
//
// A window lasts until hops have carried enough to be compared: where blocks are large, links slow or hosts many, that takes more than a second.
//
// The root is never blamed. If it is slow, nobody is: all wait for it, and nobody can be served better without somebody else.
package straggler

import (
	"fmt"
	"time"

	"github.com/weft-fabric/weft/push/control"
)

// What makes a member slow.
const (
	Fraction = 0.65                  // of the usual rate. A link at half rate is below
	Pace     = 0.75                  // of the usual rate at which members get on: nobody is to blame that has part in that
	FullPart = 0.5                   // of the time that blocks wait for its disk
	Busy     = 0.4                   // of the time that blocks are under way on the hops of a slow member: it is waited for
	Refuted  = 1.5                   // times the limit: if members get on as fast, it is none. Counts are up to half a second old, so that less says nothing
	Window   = time.Second           // in which rates are compared, at least
	Longest  = 15 * time.Second      // that a window lasts until there is enough to compare
	Windows  = 2                     // one after the other, in which the same member must be slow
	several  = 2                     // partners that must have felt it
	enough   = 3                     // blocks of a hop in a window, to say something of it
	plenty   = 2 * enough            // of the median hop: then most of those that carry less have enough
	shortest = 20 * time.Millisecond // on the wire, for the same reason
)

// Member is what one member has counted since the group began.
type Member struct {
	Hops []control.Hop // what it has sent, by receiver
	Full time.Duration // since any moment, that no memory was free for the next block because blocks were still to be written
}

// Judge watches one group. Not for concurrent use.
type Judge struct {
	Limit   float64 // bytes a second that each may send; 0: all it can. Bursts above it say nothing of who is slow
	before  look    // beginning of the window, which may last longer than others
	earlier look    // of the one before
	suspect int     // rank; 0: nobody
	times   int     // windows in which it was the suspect
	started bool
}

// look is what members had counted at a time.
type look struct {
	at time.Duration
	counts
}

// Look takes what all members have counted up to now, by rank; the root is the first. It returns who should be served apart, and why, or 0.
// Now is the time since any moment that stays the same. It may be called as often as one likes.
func (j *Judge) Look(now time.Duration, members []Member) (rank int, why string) {
	if !j.Due(now) {
		return 0, ""
	}
	all := look{now, count(members)}
	before, earlier := j.before, j.earlier
	known := j.started && len(before.full) == len(members) && len(members) > 2 // with one host there is nobody to be faster without it
	window, took := all.minus(&before.counts), now-before.at
	if known && took < Longest && !window.tells(took) {
		return 0, ""
	}
	j.earlier, j.before, j.started = before, all, true
	if !known {
		return 0, ""
	}
	if len(earlier.full) != len(members) {
		earlier = before
	}
	pace := all.paceSince(&earlier)
	if pace > Refuted*j.Limit {
		j.Limit = 0
	}
	if rank, why = window.slowest(took, j.Limit, pace); rank != j.suspect {
		j.suspect, j.times = rank, 0
	}
	if j.times++; rank == 0 || j.times < Windows {
		return 0, ""
	}
	return rank, why
}

// Due reports whether a window may have ended, so that Look may have something to judge.
func (j *Judge) Due(now time.Duration) bool { return !j.started || now-j.before.at >= Window }

// paceSince is how many bytes a second a member gets, in two windows, because members tell at different times what they have counted: the median.
func (l *look) paceSince(earlier *look) float64 {
	since := l.minus(&earlier.counts)
	got := make([]float64, len(l.full))
	for h, load := range since.hops {
		got[h.to] += float64(load.bytes)
	}
	return middle(got[1:]) / (l.at - earlier.at).Seconds()
}

// slowest is whom one window alone makes suspect, of members that get on at a pace.
func (c *counts) slowest(took time.Duration, limit, pace float64) (rank int, why string) {
	if rank, part := c.slowDisk(took); rank != 0 {
		return rank, fmt.Sprintf("its disk is slow: blocks waited for it during %.0f %% of the time", 100*part)
	}
	sends, receives := c.directions(limit)
	usualSend, usualReceive := usual(sends), usual(receives)
	if pace >= Pace*usualReceive || sends[0].isSlow(usualSend) && len(sends[0].partners) >= several {
		return 0, ""
	}
	worst := 1.0
	for r := 1; r < len(c.full); r++ {
		partners := map[int]bool{}
		part := min(sends[r].accuse(usualSend, took, partners), receives[r].accuse(usualReceive, took, partners))
		if len(partners) >= several && part < worst {
			rank, worst = r, part
			why = fmt.Sprintf("its link is slow: it sends %s and receives %s, where %s and %s are usual",
				perSecond(sends[r].fastest), perSecond(receives[r].fastest), perSecond(usualSend), perSecond(usualReceive))
		}
	}
	return rank, why
}

func perSecond(rate float64) string {
	if rate == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%.1f MB/s", rate/1e6)
}
