package crew

import "slices"

// recover waits until all survivors know of a death, and has them finish what is left, and go on.
func (c *crew) recover(groups []groupOrder, victim int) {
	c.t.Helper()
	rest := c.regroup(groups, victim)
	c.same(c.all(), order{Do: "finish", Groups: held(rest, false)})
	for _, g := range rest {
		c.send(g, lastSize)
	}
	for _, g := range rest {
		c.finished(g)
	}
	c.same(c.all(), order{Do: "bury"})
}

// lastSize is the size of the message that survivors send: no other has it.
const lastSize = 2 * blockSize

// regroup waits until all survivors know of a death, and has them form a mesh of their own; it returns their groups.
func (c *crew) regroup(groups []groupOrder, victim int) []groupOrder {
	c.t.Helper()
	for _, g := range groups {
		c.lose(g, c.others(victim), victim)
	}
	c.same(c.all(), order{Do: "regroup", Dead: []int{victim}})
	rest := slices.Clone(groups)
	for i := range rest {
		rest[i].Orphan = rest[i].Orphan || rest[i].Ranks[0] == victim
		rest[i].Ranks = slices.DeleteFunc(slices.Clone(rest[i].Ranks), func(rank int) bool { return rank == victim })
	}
	return rest
}

// finished waits until all members have the last message of a group, and with it what can be finished.
func (c *crew) finished(g groupOrder) {
	c.t.Helper()
	agreed := make(map[[2]int]bool) // how much is lost, and how much can be finished
	for _, i := range g.Ranks {
		p := c.members[i]
		if p.away {
			continue
		}
		seen := p.await(c.t, "the last message of "+g.Name, func(seen []report) bool {
			return isLast(seen, g.Name) || countOf(seen, kindFailed, g.Name) > c.lost[g.Name]
		})
		if !isLast(seen, g.Name) {
			c.t.Fatalf("%s: %s has failed again", p.name, g.Name)
		}
		lost, resumed := messagesOf(seen, kindLost, g.Name), messagesOf(seen, kindResumed, g.Name)
		if agreed[[2]int{len(lost), len(resumed)}] = true; !g.Orphan && len(lost) > 0 {
			c.t.Errorf("%s, %s: something is lost although the root lives", g.Name, p.name)
		}
		for number := range resumed {
			if !messagesOf(seen, kindCompleted, g.Name)[number] {
				c.t.Errorf("%s, %s: message %d was not finished", g.Name, p.name, number)
			}
		}
	}
	if len(agreed) != 1 {
		c.t.Errorf("%s: the survivors do not agree on what is lost, and what can be finished: %v", g.Name, agreed)
	}
}

func isLast(seen []report, group string) bool {
	return slices.ContainsFunc(seen, func(r report) bool {
		return r.Kind == kindCompleted && r.Group == group && r.Size == lastSize
	})
}

// messagesOf are the numbers of the messages in reports.
func messagesOf(seen []report, kind, group string) map[uint64]bool {
	numbers := make(map[uint64]bool)
	for _, r := range seen {
		if r.Kind == kind && r.Group == group {
			numbers[r.Number] = true
		}
	}
	return numbers
}
