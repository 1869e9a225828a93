package push

import (
	"fmt"

	"github.com/weft-fabric/weft/push/control"
)

// testimony is how a group ended for one member.
type testimony struct {
	name    string
	lost    error                // its agent does not answer any more
	trouble *control.Trouble     // what it says of itself: the push is over for it
	failed  *control.GroupFailed // whom it blames
	strikes int                  // times that it was blamed before, and answered
	accused bool                 // by its word somebody was given up before
}

// mostStrikes is how often the connections of a host may break whose agent answers: a link between two others may be to blame
// for one.
const mostStrikes = 2

// judge says who of the members of a group that has ended is given up, by rank, and who gets a strike. The root, of rank 0, never is.
// Only evidence counts: what an agent says of itself, its silence, a block that does not fit its hash. A connection that breaks
// says little of which end is to blame.
func judge(by []testimony) (guilty map[int]*control.Trouble, struck int) {
	guilty = make(map[int]*control.Trouble)
	for rank, t := range by[1:] {
		switch {
		case t.trouble != nil:
			guilty[rank+1] = t.trouble
		case t.lost != nil:
			guilty[rank+1] = silent(t.lost)
		}
	}
	addLiars(by, guilty)
	if len(guilty) > 0 {
		return guilty, 0
	}
	struck = mostBlamed(by)
	if struck > 0 && by[struck].strikes+1 >= mostStrikes {
		guilty[struck] = &control.Trouble{Class: control.Unreachable, Text: "its agent answers, but its connections break: " + causeOf(by, struck)}
	}
	return guilty, struck
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

// mostBlamed is whom most blame who have seen it themselves, the root first; 0: nobody in particular. Who blames the root is meant itself: the
// root is this process, and its blocks come from the hash.
func mostBlamed(by []testimony) (rank int) {
	votes := make([]int, len(by))
	for i, t := range by {
		if t.failed == nil || t.failed.Told || t.failed.Rank < 0 || t.failed.Rank >= len(by) || t.failed.Rank == i {
			continue
		}
		blamed := t.failed.Rank
		if blamed == 0 {
			blamed = i
		}
		if votes[blamed]++; i == 0 {
			votes[blamed] += len(by)
		}
		if votes[blamed] > votes[rank] {
			rank = blamed
		}
	}
	return rank
}

// causeOf is what somebody says of a member.
func causeOf(by []testimony, rank int) string {
	for _, t := range by {
		if t.failed != nil && t.failed.Rank == rank && t.failed.Cause != "" {
			return t.failed.Cause
		}
	}
	return "nobody knows why"
}
