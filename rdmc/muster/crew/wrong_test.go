package crew

import (
	"strings"
	"testing"
	"time"
)

// says checks that all answers contain some words.
func (c *crew) says(answers []string, words ...string) {
	c.t.Helper()
	for i, answer := range answers {
		for _, word := range words {
			if !strings.Contains(answer, word) {
				c.t.Errorf("member %d says %q, without %q", i, answer, word)
			}
		}
	}
}

// Groups that cannot be are refused at all members, each with words for what is wrong, and nothing is left behind.
func TestWrongGroups(t *testing.T) {
	onLanes(t, func(t *testing.T, lane string) {
		c := newCrew(t, lane, 3, nil)
		good := groupOrder{Name: "g", Ranks: []int{0, 1, 2}, BlockSize: blockSize}
		for _, wrong := range []struct {
			change func(i int, g *groupOrder)
			words  []string
		}{
			{func(i int, g *groupOrder) { g.BlockSize += 8 * (i / 2) }, []string{"block size", "4096", "4104", "m2"}},
			{func(i int, g *groupOrder) { g.Name += strings.Repeat("x", i/2) }, []string{"name", "m2"}},
			{func(_ int, g *groupOrder) { g.Names = []string{"a", "b", "a"} }, []string{"both called a"}},
			{func(_ int, g *groupOrder) { g.Ranks = []int{0, 1, 2, 1} }, []string{"twice"}},
			{func(_ int, g *groupOrder) { g.Ranks = []int{7, 0, 1, 2} }, []string{"member 7"}},
			{func(_ int, g *groupOrder) { g.BlockSize = -1 }, []string{"block size"}},
		} {
			c.says(c.order(c.all(), func(i int) order {
				g := good
				wrong.change(i, &g)
				return order{Do: "create", Groups: []groupOrder{g}}
			}), wrong.words...)
		}
		c.create(good)
		c.says(c.order([]int{1}, func(int) order { return order{Do: "send", Group: "g", Sizes: []uint64{1}} }), "only the root")
		c.send(good, sizes...)
		c.arrive(good, good.Ranks, len(sizes))
	})
}

// A member that gives too little memory ends the group, and all know that it was this one.
func TestTooLittleMemory(t *testing.T) {
	onLanes(t, func(t *testing.T, lane string) {
		c := newCrew(t, lane, 3, nil)
		g := groupOrder{Name: "g", Ranks: []int{0, 1, 2}, BlockSize: blockSize}
		c.must(c.all(), func(i int) order {
			mine := g
			mine.Short = i == 1
			return order{Do: "create", Groups: []groupOrder{mine}}
		})
		c.send(g, 5*blockSize)
		c.lose(g, g.Ranks, 1)
	})
}

// Who does not come is named by those who did.
func TestAbsent(t *testing.T) {
	takesSeconds(t)
	t.Parallel()
	c := &crew{t: t}
	for i := range 3 {
		c.members = append(c.members, startProcess(t, memberName(i)))
	}
	t.Cleanup(c.end)
	lane := lanes()[0]
	c.same(c.all(), order{Do: "open", Lane: lane, Timeout: deadPeer})
	addresses := meetingPlaces(3)
	c.says(c.order([]int{0, 1}, func(i int) order {
		return order{Do: "join", Self: i, Members: addresses, Within: 2 * time.Second}
	}), "m2", "did not come")
}
