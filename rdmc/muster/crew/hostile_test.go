package crew

import (
	"maps"
	"slices"
	"testing"
)

// hostile is the index of the member that lies.
const hostile = 3

// A member that breaks the protocol ends the groups that it is in, which name it. Others of the same processes go on, also
// those in which it behaves.
func TestHostile(t *testing.T) {
	takesSeconds(t)
	t.Parallel()
	onLanesAtOnce(t, func(t *testing.T, lane string) {
		c := newCrew(t, lane, 4, func(i int, open *order) { open.Hostile = i == hostile })
		c.betray(c.lyingGroups(func(name string) bool {
			return name != boldest && (inMachine(lane, 0, 1) == 1 || slices.Contains(favourites, name))
		}))
		g := groupOrder{Name: "with it", Ranks: []int{hostile, 2, 1, 0}, BlockSize: blockSize}
		c.create(g)
		c.send(g, sizes...)
		c.arrive(g, g.Ranks, len(sizes))
	})
}

// The same with data that nobody gave a credit for, which is more than the liar itself can bear: its loop ends.
func TestHostileWithoutCredit(t *testing.T) {
	onLanes(t, func(t *testing.T, lane string) {
		c := newCrew(t, lane, 4, func(i int, open *order) { open.Hostile = i == hostile })
		c.betray(c.lyingGroups(func(name string) bool { return name == boldest })[1:])
		c.kill(hostile)
	})
}

// favourites are the lies that are told in virtual machines.
var favourites = []string{"another block", "too short", "much too long", "an absurd size", "endless credits", "bytes for words", "silence"}

// boldest is the lie for which the liar posts more than package verbs knows of.
const boldest = "blocks twice"

// betray has the hostile member lie in some groups, and sees that another one goes on.
func (c *crew) betray(groups []groupOrder) {
	c.t.Helper()
	safe := groupOrder{Name: "without it", Ranks: []int{0, 1, 2}, BlockSize: blockSize}
	c.create(slices.Concat(groups, []groupOrder{safe})...)
	c.same([]int{hostile}, order{Do: "lie"})
	for _, g := range groups {
		c.attempt(g, 20*blockSize) // who is silent is missed before there is a message
		c.send(safe, 5*blockSize)
	}
	for _, g := range groups {
		c.lose(g, []int{0, 1, 2}, hostile)
	}
	c.send(safe, sizes...)
	c.arrive(safe, safe.Ranks, len(groups)+len(sizes))
}

// lyingGroups has a group for each lie, told by one that passes blocks on, and one in which the root tells it.
func (c *crew) lyingGroups(some func(name string) bool) (groups []groupOrder) {
	for _, name := range slices.Sorted(maps.Keys(lies)) {
		if !some(name) {
			continue
		}
		g := groupOrder{Name: name, Lie: name, Ranks: []int{0, hostile, 1, 2}, BlockSize: blockSize}
		if name == "silence" {
			g.Stall = c.briefly()
		}
		groups = append(groups, g)
		if lies[name].byRoot {
			g.Name, g.Ranks = name+", the root", []int{hostile, 0, 1, 2}
			groups = append(groups, g)
		}
	}
	return groups
}
