package muster

import (
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/rdmc"
)

// A program may close its end before Create has returned, such as when it has the one message that it wants: it hears Closed
// all the same, before Close returns.
func TestClosedIsHeardHoweverEarly(t *testing.T) {
	members := newMembers(t, 2, room, soft.InProcess)
	var closed [2]int
	groups := createAll(t, members, func(i int, m *member) []Plan {
		var group *rdmc.Group
		config := m.smallConfig("images")
		config.Ready = func() { _, _ = group.Send(rdmc.Place{Memory: m.memory}, 100) } // which only the root can
		config.Completed = func(rdmc.Delivery) { _ = group.Close() }
		config.Closed = func() { closed[i]++ }
		return []Plan{{Config: config, Made: func(g *rdmc.Group) { group = g }}}
	})
	closeAll(t, members, groups)
	if closed != [2]int{1, 1} {
		t.Errorf("Closed was called %d times", closed)
	}
}

// It may even close it when it is given the group: then Ready is not heard.
func TestClosedWhenMade(t *testing.T) {
	members := newMembers(t, 2, room, soft.InProcess)
	var ready, closed [2]int
	groups := createAll(t, members, func(i int, m *member) []Plan {
		config := m.smallConfig("images")
		config.Ready = func() { ready[i]++ }
		config.Closed = func() { closed[i]++ }
		return []Plan{{Config: config, Made: func(g *rdmc.Group) {
			if i == 1 {
				_ = g.Close()
			}
		}}}
	})
	closeAll(t, members, groups)
	if ready[1] != 0 || closed != [2]int{1, 1} {
		t.Errorf("Ready was called %v times, Closed %v times", ready, closed)
	}
}
