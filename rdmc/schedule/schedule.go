// Package schedule says who sends which block to whom, and when: the patterns of unicasts that make a multicast (RDMC,
// section 4.3). Everything here is a pure function of the group's shape and a member's rank. A member computes only its
// own part, needs no message for it, and comes to the same answer as its peers.
//
// Time is counted in steps. In a step a member sends at most one block and receives at most one: a NIC works in both
// directions at once. Rank 0 is the root, which has all blocks at the start.
//
// To look up a step takes less than 100 ns in a group of a thousand, and allocates nothing; a Part takes memory of the
// order of log n, or of the number of members if racks are known.
package schedule

import (
	"fmt"
	"strings"
)

// Config is the shape of a group. All its members must use the same.
type Config struct {
	Algorithm Algorithm
	Members   int   // 1 or more; rank 0 is the root
	Racks     []int // the rack of each rank, for the algorithms that know racks; empty for the others
	// Stripes are independent schedules that take turns, block by block; two hide the latency of a network. 0 is 1, and for
	// RackStripes as many as the smallest rack has members, up to 4.
	Stripes int
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
	Sending() (from, to int)           // before from, and from to on, it sends nothing
	Receiving() (from, to int)         // and receives nothing
}

// What a group can have at most.
const (
	MaxMembers = 1 << maxRounds
	MaxStripes = 64
)

// maxRounds are needed to reach all members by doubling.
const maxRounds = 20

// validate says what is wrong with the shape.
func (c Config) validate() error {
	switch {
	case int(c.Algorithm) >= len(algorithmNames):
		return fmt.Errorf("%v is unknown: there are %s", c.Algorithm, strings.Join(algorithmNames, ", "))
	case c.Members < 1 || c.Members > MaxMembers:
		return fmt.Errorf("%d members: a group has 1 to %d", c.Members, MaxMembers)
	case c.Stripes < 0 || c.Stripes > MaxStripes:
		return fmt.Errorf("%d stripes: a group has 1 to %d, or 0 for the default", c.Stripes, MaxStripes)
	case !c.Algorithm.Racks() && len(c.Racks) > 0:
		return fmt.Errorf("%v knows no racks: leave them out, or take %v, %v or %v", c.Algorithm, RackChain, RackPipeline, RackStripes)
	case c.Algorithm.Racks() && len(c.Racks) != c.Members:
		return fmt.Errorf("%v needs the rack of each of %d members, not of %d", c.Algorithm, c.Members, len(c.Racks))
	}
	return nil
}
