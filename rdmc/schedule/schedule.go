// Package schedule says who sends which block to whom, and when: the patterns of unicasts that make a multicast (RDMC,
// section 4.3). Everything here is a pure function of the group's shape and a member's rank. A member computes only its
// own part, needs no message for it, and comes to the same answer as its peers.
//
// Time is counted in steps. In a step a member sends at most one block and receives at most one: a NIC works in both
// directions at once. Rank 0 is the root, which has all blocks at the start.
package schedule

import "fmt"

// Config is the shape of a group. All its members must use the same.
type Config struct {
	Algorithm Algorithm
	Members   int   // 1 or more; rank 0 is the root
	Racks     []int // the rack of each rank, for the algorithms that know racks; empty for the others
	Stripes   int   // independent schedules that take turns, block by block (research 2.4: two hide the latency); 0: 1
}

// Transfer is one block to or from a peer.
type Transfer struct {
	Peer  int // its rank
	Block int // from 0
}

// Plan is what one member does for one message. Steps are numbered from 0.
type Plan interface {
	Steps() int                        // how many steps the message takes, the same for all members
	Send(step int) (Transfer, bool)    // what the member sends in a step, if anything
	Receive(step int) (Transfer, bool) // what it receives, if anything
}

// MaxMembers is how many members a group can have.
const MaxMembers = 1 << 20

var errMembers = fmt.Errorf("a group has 1 to %d members", MaxMembers)
