package crew

import (
	"fmt"
	"slices"
	"testing"
)

// Of overlapping groups those that lose a member fail, and the others notice nothing: they go on all the time.
func TestOverlap(t *testing.T) {
	onLanes(t, func(t *testing.T, lane string) {
		c := newCrew(t, lane, 5, nil)
		hit := groupOrder{Name: "hit", Ranks: []int{0, 1, 2, 3}, BlockSize: blockSize}
		safe := groupOrder{Name: "safe", Ranks: []int{2, 1, 3, 4}, BlockSize: blockSize}
		reverse := groupOrder{Name: "reverse", Ranks: []int{4, 3, 2, 1}, BlockSize: blockSize, Store: true}
		c.create(hit, safe, reverse)
		many := slices.Repeat([]uint64{7*blockSize + 5}, inMachine(lane, 5, 20))
		for range 3 { // before it, while it happens, and after it
			c.send(safe, many...)
			c.send(reverse, many...)
			if len(c.all()) == 5 {
				c.send(hit, many...)
				c.arrive(hit, []int{3}, 1)
				c.kill(0)
			}
		}
		c.lose(hit, []int{1, 2, 3}, 0)
		for _, g := range []groupOrder{safe, reverse} {
			c.arrive(g, g.Ranks, 3*len(many))
		}
	})
}

// triples are all groups of three among n.
func triples(n int) (list [][]int) {
	for a := range n {
		for b := range a {
			for c := range b {
				list = append(list, []int{a, b, c})
			}
		}
	}
	return list
}

// someTriples are so many groups of three, with different roots. Among 15 members there are 455 sets of three (section
// 5.2.2: the trace of a replicated storage layer).
func someTriples(members, count int) (groups []groupOrder) {
	all := triples(members)
	for i := range count {
		ranks := slices.Clone(all[i%len(all)])
		ranks[0], ranks[i%3] = ranks[i%3], ranks[0]
		groups = append(groups, groupOrder{Name: fmt.Sprint("group ", i), Ranks: ranks, BlockSize: blockSize})
	}
	return groups
}

// A thousand groups are made ahead of time, and a message goes through each, in all of them at once. Among 15 members each
// is in 200, which have 800 queue pairs: as many descriptors on TCP, and 12,000 completions, where Soft-RoCE has room for
// 32,767 in a queue. A virtual machine takes 30 ms for a group, so it makes them in portions.
func TestThousandGroups(t *testing.T) {
	takesSeconds(t)
	onLanes(t, func(t *testing.T, lane string) {
		members, portion := inMachine(lane, 5, 15), 1000
		if lane == "ibv" {
			portion = 50
		}
		c := newCrew(t, lane, members, nil)
		groups := someTriples(members, inMachine(lane, 100, 1000))
		for few := range slices.Chunk(groups, portion) {
			c.create(few...)
		}
		c.sendAll(groups, 3*blockSize-1)
		for _, g := range groups {
			c.arrive(g, g.Ranks, 1)
		}
	})
}
