package push

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft/push/control"
)

// testimony is how a group ended for one member.
type testimony struct {
	name    string
	lost    error                // its agent does not answer any more
	trouble *control.Trouble     // what it says of itself: the push is over for it
	failed  *control.GroupFailed // whom it blames
	broken  []string             // with whom its connections broke in groups before: see host
	accused bool                 // by its word, or in its stead, somebody was given up before
}

// hop is a connection between two members that broke, by their ranks. Both are the same where only the member itself is to blame.
type hop struct{ one, other int }

// verdict is what is made of the end of a group.
type verdict struct {
	guilty   map[int]*control.Trouble // who is given up, by rank
	disputed int                      // who of them might just as well be innocent, and the other end of its connection guilty; 0: nobody
	broken   []hop                    // what is held against both ends
}

// judge says who of the members of a group that has ended is given up. The root, of rank 0, never is.
// Only evidence counts: what an agent says of itself, its silence, a block that does not fit its hash. A connection that breaks
// says nothing of which end is to blame, even if only one of the ends says so: it may lie. So it is held against both.
func judge(by []testimony) verdict {
	v := verdict{guilty: make(map[int]*control.Trouble)}
	for rank, t := range by[1:] {
		switch {
		case t.trouble != nil:
			v.guilty[rank+1] = t.trouble
		case t.lost != nil:
			v.guilty[rank+1] = silent(t.lost)
		}
	}
	addLiars(by, v.guilty)
	if len(v.guilty) > 0 {
		return v
	}
	v.broken = brokenHops(by)
	if rank, partners := worstEnd(by, v.broken); rank > 0 {
		v.guilty[rank] = &control.Trouble{Class: control.Unreachable, Text: "its agent answers, but its connections break: " + causeOf(by, rank)}
		if len(partners) == 1 && partners[0] != rootName && partners[0] != by[rank].name {
			v.disputed = rank
		}
	}
	return v
}

// addLiars adds who sent blocks that were rejected, by the words of those who got them. Nobody is judged by what it says of itself alone, and not the root.
// Who says so of a second one is given up instead: rather than two others, it lies itself, or its memory does.
func addLiars(by []testimony, guilty map[int]*control.Trouble) {
	for rank, t := range by {
		f := t.failed
		if f == nil || !f.Rejected || f.Told || f.Rank <= 0 || f.Rank >= len(by) || f.Rank == rank || guilty[f.Rank] != nil {
			continue
		}
		if t.accused && rank > 0 {
			guilty[rank] = &control.Trouble{Class: control.Integrity, Text: "it has rejected blocks of several hosts: is its memory broken?"}
			continue
		}
		guilty[f.Rank] = &control.Trouble{Class: control.Integrity, Text: fmt.Sprintf("%s has rejected a block of it: it %s", t.name, f.Cause)}
	}
}

// brokenHops are the connections of which somebody has seen itself that they broke. Who ends a group, and nobody else has seen it end, is held
// to have broken something of its own: or else it could do so for ever.
func brokenHops(by []testimony) (hops []hop) {
	last, ends := 0, 0 // who says that the group has ended, and how many do
	for i, t := range by {
		if t.failed == nil {
			continue
		}
		last = i
		ends++
		if j := t.failed.Rank; !t.failed.Told && j >= 0 && j < len(by) && i+j > 0 {
			hops = append(hops, hop{min(i, j), max(i, j)})
		}
	}
	if len(hops) == 0 && ends == 1 && last > 0 {
		return []hop{{last, last}}
	}
	return unique(hops)
}

// unique leaves out what both ends say.
func unique(hops []hop) (once []hop) {
	known := make(map[hop]bool)
	for _, x := range hops {
		if !known[x] {
			known[x] = true
			once = append(once, x)
		}
	}
	return once
}

// worstEnd is who has to go of those whose connections broke again, and with whom they broke; 0: nobody. One bad host is an end of every connection
// that breaks, and each of the others only of those with it: so it is the one with most partners. As long as there is only one partner nobody can
// know which of the two it is. Then one of them goes, and if it was the wrong one, the other shows itself with its next partner.
func worstEnd(by []testimony, hops []hop) (worst int, with []string) {
	partners, blamed := partnersOf(by, hops), votes(by)
	accused := func(rank int) int {
		if by[rank].accused {
			return 1
		}
		return 0
	}
	for rank := 1; rank < len(by); rank++ {
		if len(by[rank].broken) == 0 || partners[rank] == nil {
			continue
		}
		if worst == 0 || cmp.Or(cmp.Compare(len(partners[rank]), len(partners[worst])), cmp.Compare(accused(rank), accused(worst)), cmp.Compare(blamed[rank], blamed[worst])) >= 0 {
			worst = rank
		}
	}
	if worst == 0 {
		return 0, nil
	}
	return worst, partners[worst]
}

// partnersOf are those with whom connections broke, now and before, of every member that has one that broke now.
func partnersOf(by []testimony, hops []hop) map[int][]string {
	partners := make(map[int][]string)
	add := func(rank, partner int) {
		if partners[rank] == nil {
			partners[rank] = slices.Clone(by[rank].broken)
		}
		partners[rank] = with(partners[rank], by[partner].name)
	}
	for _, x := range hops {
		add(x.one, x.other)
		add(x.other, x.one)
	}
	return partners
}

// with is a list with a name in it, once.
func with(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// votes are how many blame each member who have seen it themselves.
func votes(by []testimony) map[int]int {
	blamed := make(map[int]int)
	for _, t := range by {
		if t.failed != nil && !t.failed.Told {
			blamed[t.failed.Rank]++
		}
	}
	return blamed
}

// remember notes what the verdict says of the members of a group, which are some of all hosts. Who is given up explains why connections
// with it broke: that is held against nobody else any more, but against who stays where it was given up in doubt, and may not get away twice.
func (v *verdict) remember(members, all []*host) {
	for rank := range v.guilty {
		forget(all, members[rank-1].name)
	}
	for _, x := range v.broken {
		v.hold(members, x.one, x.other)
		if x.one != x.other {
			v.hold(members, x.other, x.one)
		}
	}
}

// hold holds against a member that its connection with another broke.
func (v *verdict) hold(members []*host, rank, partner int) {
	if rank == 0 || v.guilty[rank] != nil || v.guilty[partner] != nil && v.disputed != partner {
		return
	}
	h, name := members[rank-1], rootName
	if partner > 0 {
		name = members[partner-1].name
	}
	h.strikes++
	h.broken = with(h.broken, name)
	h.accused = h.accused || partner > 0 && v.disputed == partner
}

// forget takes a name from what is held against the others.
func forget(all []*host, name string) {
	for _, h := range all {
		h.broken = slices.DeleteFunc(h.broken, func(other string) bool { return other == name })
	}
}

// causeOf is what somebody says of a member, or else what it says itself.
func causeOf(by []testimony, rank int) string {
	for _, t := range by {
		if t.failed != nil && !t.failed.Told && t.failed.Rank == rank && t.failed.Cause != "" {
			return t.failed.Cause
		}
	}
	if f := by[rank].failed; f != nil && f.Cause != "" {
		return f.Cause
	}
	return "nobody knows why"
}
