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

// scales are how many groups of three are made among how many members. Among 15 there are 455 (section 5.2.2: the trace of a
// replicated storage layer); on TCP each takes a descriptor for each connection. A virtual machine is slow.
var scales = map[string]struct{ members, groups int }{"shm": {15, 1000}, "tcp": {15, 455}, "ibv": {5, 20}}

// A thousand groups are made ahead of time, and a message goes through each, in all of them at once.
func TestThousandGroups(t *testing.T) {
	takesSeconds(t)
	onLanes(t, func(t *testing.T, lane string) {
		scale := scales[lane]
		c := newCrew(t, lane, scale.members, nil)
		all := triples(scale.members)
		var groups []groupOrder
		for i := range scale.groups {
			ranks := slices.Clone(all[i%len(all)])
			ranks[0], ranks[i%3] = ranks[i%3], ranks[0]
			groups = append(groups, groupOrder{Name: fmt.Sprint("group ", i), Ranks: ranks, BlockSize: blockSize})
		}
		c.create(groups...)
		c.sendAll(groups, 3*blockSize-1)
		for _, g := range groups {
			c.arrive(g, g.Ranks, 1)
		}
	})
}
