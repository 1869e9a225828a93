package crew

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// crewSize is how many members the tests with failures have.
const crewSize = 5

// Each member is killed at many points of transfers: as many groups stand still, each because the member's Store holds back
// at another point. Every survivor hears of it once, and they finish what they can.
func TestKillHeld(t *testing.T) {
	onLanes(t, func(t *testing.T, lane string) {
		for victim := 0; victim < crewSize; victim += inMachine(lane, 4, 1) {
			t.Run(fmt.Sprint(victim), func(t *testing.T) { killHeld(t, lane, victim) })
		}
	})
}

// points is how many asks for memory a victim of TestKillHeld can be held at.
const points = 12

func killHeld(t *testing.T, lane string, victim int) {
	c := newCrew(t, lane, crewSize, nil)
	var groups []groupOrder
	for point := 1; point <= points; point += inMachine(lane, 4, 1) {
		groups = append(groups, killable(fmt.Sprint("held at ", point), point))
	}
	c.must(c.all(), func(i int) order { return order{Do: "create", Groups: held(groups, i == victim)} })
	c.sendAll(groups, points*blockSize-1, 3*blockSize)
	for _, g := range groups {
		c.hold(g, victim)
	}
	c.kill(victim)
	c.recover(groups, victim)
}

// held are groups in which a victim, if this member is one, is held at a different point each.
func held(groups []groupOrder, victim bool) []groupOrder {
	groups = slices.Clone(groups)
	for at := range groups {
		if victim {
			groups[at].Hold = 1 + at*points/len(groups)
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
			groups = append(groups, killable(fmt.Sprint("again ", point), point))
		}
		c.must(c.all(), func(i int) order {
			mine := slices.Clone(groups)
			for at := range mine {
				if i == second { // it is to lack everything
					mine[at].Hold = 1
				}
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

// recover waits until all survivors know of a death, and has them finish what is left, and go on.
func (c *crew) recover(groups []groupOrder, victim int) {
	c.t.Helper()
	rest := c.regroup(groups, victim)
	c.same(c.all(), order{Do: "finish", Groups: rest})
	for _, g := range rest {
		c.finished(g)
	}
	c.same(c.all(), order{Do: "bury"})
}

// regroup waits until all survivors know of a death, and has them form a mesh of their own; it returns their groups.
func (c *crew) regroup(groups []groupOrder, victim int) []groupOrder {
	c.t.Helper()
	for _, g := range groups {
		c.lose(g, c.others(victim), victim)
	}
	c.same(c.all(), order{Do: "regroup", Dead: []int{victim}})
	rest := slices.Clone(groups)
	for i := range rest {
		rest[i].Ranks = c.all()
	}
	return rest
}

// finished waits until all members have what can be finished of a group, and one message more.
func (c *crew) finished(g groupOrder) {
	c.t.Helper()
	c.send(g, 2*blockSize)
	agreed := make(map[[2]int]bool) // how much is lost, and how much can be finished
	for _, i := range g.Ranks {
		if c.members[i].away {
			continue
		}
		seen := c.members[i].seen()
		lost, resumed := messagesOf(seen, kindLost, g.Name), messagesOf(seen, kindResumed, g.Name)
		if agreed[[2]int{lost, resumed}] = true; g.Ranks[0] == 0 && lost > 0 {
			c.t.Errorf("%s, %s: something is lost although the root lives", g.Name, c.members[i].name)
		}
		c.arrive(g, []int{i}, resumed+1)
	}
	if len(agreed) != 1 {
		c.t.Errorf("%s: the survivors do not agree on what is lost, and what can be finished: %v", g.Name, agreed)
	}
}

// messagesOf counts the messages in reports.
func messagesOf(seen []report, kind, group string) int {
	numbers := make(map[uint64]bool)
	for _, r := range seen {
		if r.Kind == kind && r.Group == group {
			numbers[r.Number] = true
		}
	}
	return len(numbers)
}

// Each member kills itself in the middle of what it is doing, while all others are at work.
func TestKillRunning(t *testing.T) {
	takesSeconds(t)
	onLanes(t, func(t *testing.T, lane string) {
		for victim := inMachine(lane, 1, 0); victim < crewSize; victim += inMachine(lane, 2, 1) {
			for _, after := range moments(victim, inMachine(lane, 1, 2)) {
				t.Run(fmt.Sprintf("%d/%d", victim, after), func(t *testing.T) { killRunning(t, lane, victim, after) })
			}
		}
	})
}

// moments are numbers of requests and arrivals after which a victim dies: at most so many, unless there is time.
func moments(victim, most int) (list []int64) {
	if !isLong() {
		return []int64{int64(2 + 11*victim), int64(50 - 7*victim)}[:most]
	}
	for after := int64(1); after <= 60; after++ {
		list = append(list, after)
	}
	return list
}

func killRunning(t *testing.T, lane string, victim int, after int64) {
	c := newCrew(t, lane, crewSize, func(i int, open *order) { open.Fused = i == victim })
	var groups []groupOrder
	for number := range inMachine(lane, 4, 10) {
		g := killable(fmt.Sprint("running ", number), number)
		g.Store = g.Gate || number < 3 // and otherwise memory is given whole
		groups = append(groups, g)
	}
	if lane != "ibv" { // RDMA devices have no chains
		g := killable("offload", 0)
		g.Store, g.Gate, g.Offload = false, false, true
		groups = append(groups, g)
	}
	c.create(groups...)
	c.same([]int{victim}, order{Do: "arm", After: after, Signal: syscall.SIGKILL})
	for _, g := range groups {
		c.members[0].tell(order{Do: "send", Group: g.Name, Sizes: []uint64{20*blockSize - 1, 100}})
		if victim == 0 {
			continue // it dies when it has obeyed, or before
		}
		if answer := c.members[0].answer(t); answer != "" && !strings.Contains(answer, rdmc.ErrEnded.Error()) {
			t.Errorf("%s: %s", g.Name, answer)
		}
	}
	c.fall(victim)
	c.recover(groups, victim)
}
