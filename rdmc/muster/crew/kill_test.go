package crew

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// crewSize is how many members the tests with failures have.
const crewSize = 5

// points is how many asks for memory a victim can be held at.
const points = 12

// A member is killed while it has every rank, at many points of transfers: as many groups stand still, each because the
// member's Store holds back at another point. Every survivor hears of it once, and they finish what they can. In the mesh,
// the first member is called by all others, and the last one calls them.
func TestKillHeld(t *testing.T) {
	onLanes(t, func(t *testing.T, lane string) {
		for victim := 0; victim < crewSize; victim += crewSize - 1 {
			t.Run(fmt.Sprint(victim), func(t *testing.T) { killHeld(t, lane, victim) })
		}
	})
}

func killHeld(t *testing.T, lane string, victim int) {
	c := newCrew(t, lane, crewSize, nil)
	var groups []groupOrder
	for rank := range crewSize {
		for point := 1; point <= points; point += inMachine(lane, 4, 1) {
			g := killable(fmt.Sprintf("rank %d held at %d", rank, point), rank+point)
			g.Ranks, g.Hold = withRank(victim, rank), point
			groups = append(groups, g)
		}
	}
	c.must(c.all(), func(i int) order { return order{Do: "create", Groups: held(groups, i == victim)} })
	c.sendAll(groups, points*blockSize-1, 3*blockSize)
	for _, g := range groups {
		c.hold(g, victim)
	}
	c.kill(victim)
	c.recover(groups, victim)
}

// withRank is an order of all members in which one has a certain rank.
func withRank(member, rank int) (ranks []int) {
	for i := range crewSize {
		ranks = append(ranks, (member-rank+i+crewSize)%crewSize)
	}
	return ranks
}

// held are groups as a member sees them: only the victim is held.
func held(groups []groupOrder, victim bool) []groupOrder {
	groups = slices.Clone(groups)
	for at := range groups {
		if !victim {
			groups[at].Hold = 0
		}
	}
	return groups
}

// Another member dies while the survivors finish what the first had left.
func TestKillAgain(t *testing.T) {
	onLanes(t, func(t *testing.T, lane string) {
		const first, second = 4, 2
		c := newCrew(t, lane, crewSize, nil)
		var groups []groupOrder
		for point := 1; point <= points; point += inMachine(lane, 4, 1) {
			g := killable(fmt.Sprint("again ", point), point)
			g.Hold = point
			groups = append(groups, g)
		}
		c.must(c.all(), func(i int) order {
			mine := held(groups, i == second)
			for at := range mine {
				mine[at].Hold = min(mine[at].Hold, 1) // it is to lack everything
			}
			return order{Do: "create", Groups: mine}
		})
		c.sendAll(groups, points*blockSize-1, 3*blockSize)
		for _, g := range groups {
			c.hold(g, second)
		}
		c.kill(first)
		rest := c.regroup(groups, first)
		c.must(c.all(), func(i int) order { return order{Do: "finish", Groups: held(rest, i == second)} })
		for _, g := range rest {
			c.hold(g, second)
		}
		c.kill(second)
		c.recover(rest, second)
	})
}

// killable is a group of all members, with another schedule for each number.
func killable(name string, number int) groupOrder {
	algorithms := []schedule.Algorithm{schedule.Pipeline, schedule.Circulant, schedule.Chain, schedule.Tree, schedule.Sequential}
	return groupOrder{
		Name: name, Algorithm: algorithms[number%len(algorithms)].String(), Ranks: []int{0, 1, 2, 3, 4}, BlockSize: blockSize,
		Store: true, Gate: number%2 == 0,
	}
}

// A member kills itself in the middle of what it is doing, while all others are at work. It has another rank in each group.
func TestKillRunning(t *testing.T) {
	takesSeconds(t)
	onLanes(t, func(t *testing.T, lane string) {
		for victim := inMachine(lane, 1, 0); victim < crewSize; victim += inMachine(lane, 2, 1) {
			for _, after := range moments(lane, victim) {
				t.Run(fmt.Sprintf("%d/%d", victim, after), func(t *testing.T) { killRunning(t, lane, victim, after) })
			}
		}
	})
}

// moments are numbers of requests and arrivals after which a victim dies.
func moments(lane string, victim int) (list []int64) {
	if !isLong() {
		return []int64{int64(2 + 11*victim), int64(50 - 7*victim)}[:inMachine(lane, 1, 2)]
	}
	step := int64(1)
	if lane == "ibv" {
		step = 10 // it takes five seconds each
	}
	for after := int64(1); after <= 60; after += step {
		list = append(list, after)
	}
	return list
}

func killRunning(t *testing.T, lane string, victim int, after int64) {
	c := newCrew(t, lane, crewSize, func(i int, open *order) { open.Fused = i == victim })
	groups := runningGroups(lane, victim)
	c.create(groups...)
	c.same([]int{victim}, order{Do: "arm", After: after, Signal: syscall.SIGKILL})
	messages := []uint64{20*blockSize - 1, 100}
	for _, g := range groups {
		if g.Ranks[0] == victim { // it dies when it has obeyed, or before
			c.members[victim].tell(order{Do: "send", Group: g.Name, Sizes: messages})
			continue
		}
		c.attempt(g, messages...)
	}
	c.fall(victim)
	c.recover(groups, victim)
}

// runningGroups are groups in which a victim has every rank in turn, and which take memory in different ways.
func runningGroups(lane string, victim int) (groups []groupOrder) {
	for number := range inMachine(lane, 5, 10) {
		g := killable(fmt.Sprint("running ", number), number+number/crewSize)
		g.Ranks = withRank(victim, number%crewSize)
		g.Store = g.Gate || number < 3 // and otherwise memory is given whole
		groups = append(groups, g)
	}
	if lane != "ibv" { // RDMA devices have no chains
		g := killable("offload", 0)
		g.Store, g.Gate, g.Offload = false, false, true
		groups = append(groups, g)
	}
	return groups
}
