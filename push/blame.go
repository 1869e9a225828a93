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

// addLiars adds who sent blocks that were rejected. The root's blocks come from the hash itself: who rejects those has bad memory,
// or a bad link to the root.
func addLiars(by []testimony, guilty map[int]*control.Trouble) {
	for rank, t := range by {
		if t.failed == nil || !t.failed.Rejected || t.failed.Rank < 0 || t.failed.Rank >= len(by) {
			continue
		}
		accused, text := t.failed.Rank, fmt.Sprintf("sent a block that does not fit its hash (%s)", t.failed.Cause)
		if accused == 0 {
			continue
		}
		if rank != accused && guilty[accused] == nil {
			guilty[accused] = &control.Trouble{Class: control.Integrity, Text: text}
		}
	}
}

// mostBlamed is whom the root blames, or else most of the others; 0: nobody in particular.
func mostBlamed(by []testimony) (rank int) {
	if f := by[0].failed; f != nil && f.Rank > 0 && f.Rank < len(by) {
		return f.Rank
	}
	votes := make([]int, len(by))
	for i, t := range by {
		if t.failed == nil || t.failed.Rank <= 0 || t.failed.Rank >= len(by) || t.failed.Rank == i {
			continue
		}
		if votes[t.failed.Rank]++; votes[t.failed.Rank] > votes[rank] {
			rank = t.failed.Rank
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
