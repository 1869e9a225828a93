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
		for victim := range crewSize {
			t.Run(fmt.Sprint(victim), func(t *testing.T) { killHeld(t, lane, victim) })
		}
	})
}

// points is how many asks for memory a victim of TestKillHeld can be held at.
const points = 12

func killHeld(t *testing.T, lane string, victim int) {
	c := newCrew(t, lane, crewSize, nil)
	var groups []groupOrder
	for point := 1; point <= points; point++ {
		groups = append(groups, killable(fmt.Sprint("held at ", point), point))
	}
	c.must(c.all(), func(i int) order {
		mine := slices.Clone(groups)
		for at := range mine {
			if i == victim {
				mine[at].Hold = at + 1
			}
		}
		return order{Do: "create", Groups: mine}
	})
	for _, g := range groups {
		c.send(g, points*blockSize-1, 3*blockSize)
	}
	for _, g := range groups {
		c.hold(g, victim)
	}
	c.kill(victim)
	c.recover(groups, victim)
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
	for _, g := range groups {
		c.lose(g, c.others(victim), victim)
	}
	c.same(c.all(), order{Do: "regroup", Dead: []int{victim}})
	rest := make([]groupOrder, len(groups))
	for i, g := range groups {
		rest[i] = g
		rest[i].Ranks = c.all()
		rest[i].Racks = nil
	}
	c.same(c.all(), order{Do: "finish", Groups: rest})
	for _, g := range rest {
		c.finished(g)
	}
}

// finished waits until all members have what can be finished of a group, and one message more.
func (c *crew) finished(g groupOrder) {
	c.t.Helper()
	c.send(g, 2*blockSize)
	first := c.members[g.Ranks[0]].seen()
	for _, i := range g.Ranks {
		seen := c.members[i].seen()
		if countOf(seen, kindLost, g.Name) != countOf(first, kindLost, g.Name) || countOf(seen, kindResumed, g.Name) != countOf(first, kindResumed, g.Name) {
			c.t.Errorf("%s: the survivors do not agree on what can be finished", g.Name)
		}
		if g.Ranks[0] == 0 && countOf(seen, kindLost, g.Name) > 0 {
			c.t.Errorf("%s, %s: something is lost although the root lives", g.Name, c.members[i].name)
		}
	}
	c.arrive(g, g.Ranks, countOf(first, kindResumed, g.Name)+1)
}

// Each member kills itself in the middle of what it is doing, while all others are at work.
func TestKillRunning(t *testing.T) {
	onLanes(t, func(t *testing.T, lane string) {
		for victim := range crewSize {
			for _, after := range moments(victim) {
				t.Run(fmt.Sprintf("%d/%d", victim, after), func(t *testing.T) { killRunning(t, lane, victim, after) })
			}
		}
	})
}

// moments are numbers of requests and arrivals after which a victim dies.
func moments(victim int) (list []int64) {
	if !isLong() {
		return []int64{int64(2 + 11*victim)}
	}
	for after := int64(1); after <= 60; after++ {
		list = append(list, after)
	}
	return list
}

func killRunning(t *testing.T, lane string, victim int, after int64) {
	c := newCrew(t, lane, crewSize, func(i int, open *order) { open.Fused = i == victim })
	var groups []groupOrder
	for number := range 10 {
		g := killable(fmt.Sprint("running ", number), number)
		g.Store = g.Gate || number < 3 // and otherwise memory is given whole
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
