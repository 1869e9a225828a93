package crew

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/rdmc"
)

// crew is the members of a test, by their indexes in the mesh.
type crew struct {
	t       *testing.T
	lane    string
	members []*process
	pace    time.Duration  // how long it took them to meet
	deaths  int            // how many have died: so often may a group, and those that finish for it, fail
	lost    map[string]int // how often groups have failed by now, as they should
}

// crews counts, so that each has addresses of its own.
var crews atomic.Int64

// deadPeer is after how long devices give up a silent peer: longer than members stay away on a machine that is busy.
// Who is killed is missed at once all the same: its connections end.
const deadPeer = time.Minute

// newCrew starts so many members, which open devices and join a mesh. Change, if not nil, may change how they open.
func newCrew(t *testing.T, lane string, n int, change func(index int, open *order)) *crew {
	t.Helper()
	c := &crew{t: t, lane: lane}
	for i := range n {
		c.members = append(c.members, startProcess(t, memberName(i)))
	}
	t.Cleanup(c.end)
	c.meet(meetingPlaces(n), change)
	return c
}

// meet has the members open devices and join the mesh.
func (c *crew) meet(addresses []string, change func(index int, open *order)) {
	c.t.Helper()
	began := time.Now()
	defer func() { c.pace = time.Since(began) }()
	c.must(c.all(), func(i int) order {
		open := order{Do: "open", Lane: c.lane, Timeout: deadPeer}
		if c.lane == "ibv" {
			open.Timeout /= 3 // the longer it is, the later a lost packet is sent again
		}
		if change != nil {
			change(i, &open)
		}
		return open
	})
	c.must(c.all(), func(i int) order { return order{Do: "join", Self: i, Members: addresses} })
}

// meetingPlaces are addresses for the mesh of a crew.
func meetingPlaces(n int) []string {
	addresses := make([]string, n)
	crew := crews.Add(1)
	for i := range addresses {
		addresses[i] = fmt.Sprintf("unix:@weft-crew-%d-%d-%d", os.Getpid(), crew, i)
	}
	return addresses
}

// all are the members that live.
func (c *crew) all() (living []int) {
	for i, p := range c.members {
		if !p.dead {
			living = append(living, i)
		}
	}
	return living
}

// others are all but some.
func (c *crew) others(not ...int) []int {
	return slices.DeleteFunc(c.all(), func(i int) bool { return slices.Contains(not, i) })
}

// order gives members an order each, at once, and returns their answers.
func (c *crew) order(members []int, what func(index int) order) []string {
	c.t.Helper()
	for _, i := range members {
		c.members[i].tell(what(i))
	}
	answers := make([]string, len(members))
	for at, i := range members {
		answers[at] = c.members[i].answer(c.t)
	}
	return answers
}

// must does so, and nothing may go wrong.
func (c *crew) must(members []int, what func(index int) order) {
	c.t.Helper()
	for at, err := range c.order(members, what) {
		if err != "" {
			c.t.Errorf("%s %s: %s", c.members[members[at]].name, what(members[at]).Do, err)
		}
	}
	if c.t.Failed() {
		c.t.FailNow()
	}
}

func (c *crew) same(members []int, o order) {
	c.t.Helper()
	c.must(members, func(int) order { return o })
}

func (c *crew) create(groups ...groupOrder) {
	c.t.Helper()
	c.same(c.all(), order{Do: "create", Groups: groups})
}

// send has the root of a group send.
func (c *crew) send(g groupOrder, sizes ...uint64) {
	c.t.Helper()
	c.same(g.Ranks[:1], order{Do: "send", Group: g.Name, Sizes: sizes})
}

// attempt does so in a group that may have ended already.
func (c *crew) attempt(g groupOrder, sizes ...uint64) {
	c.t.Helper()
	root := c.members[g.Ranks[0]]
	root.tell(order{Do: "send", Group: g.Name, Sizes: sizes})
	if answer := root.answer(c.t); answer != "" && !strings.Contains(answer, rdmc.ErrEnded.Error()) {
		c.t.Errorf("%s: %s", g.Name, answer)
	}
}

// sendAll has the roots of many groups send.
func (c *crew) sendAll(groups []groupOrder, sizes ...uint64) {
	c.t.Helper()
	for _, g := range groups {
		c.members[g.Ranks[0]].tell(order{Do: "send", Group: g.Name, Sizes: sizes})
	}
	for _, g := range groups {
		if answer := c.members[g.Ranks[0]].answer(c.t); answer != "" {
			c.t.Errorf("%s: %s", g.Name, answer)
		}
	}
}

// arrive waits until members have so many messages of a group. That it fails meanwhile is an error.
func (c *crew) arrive(g groupOrder, members []int, count int) {
	c.t.Helper()
	for _, i := range members {
		seen := c.members[i].await(c.t, fmt.Sprintf("%d messages of %s", count, g.Name), func(seen []report) bool {
			return countOf(seen, kindCompleted, g.Name) >= count || countOf(seen, kindFailed, g.Name) > c.lost[g.Name]
		})
		if countOf(seen, kindCompleted, g.Name) < count && !c.members[i].away {
			c.t.Fatalf("%s: %s has failed before %d messages were there", c.members[i].name, g.Name, count)
		}
	}
}

// lose waits until members have heard that a group has failed, and looks whom they blame.
func (c *crew) lose(g groupOrder, members []int, culprit int) {
	c.t.Helper()
	if c.lost == nil {
		c.lost = make(map[string]int)
	}
	c.lost[g.Name]++
	for _, i := range members {
		seen := c.members[i].await(c.t, "the failure of "+g.Name, func(seen []report) bool {
			return countOf(seen, kindFailed, g.Name) >= max(1, c.deaths)
		})
		for _, r := range slices.Backward(seen) {
			if r.Kind != kindFailed || r.Group != g.Name {
				continue
			}
			if r.Rank != culprit {
				c.t.Errorf("%s, %s: it blames %d and not %d: %s", g.Name, c.members[i].name, r.Rank, culprit, r.Cause)
			}
			break
		}
	}
}

// hold waits until the Store of a member holds back.
func (c *crew) hold(g groupOrder, member int) {
	c.t.Helper()
	c.members[member].await(c.t, "to hold "+g.Name, func(seen []report) bool {
		return countOf(seen, kindHolding, g.Name) > c.deaths
	})
}

func countOf(seen []report, kind, group string) (n int) {
	for _, r := range seen {
		if r.Kind == kind && r.Group == group {
			n++
		}
	}
	return n
}

// kill ends a member, and returns when it is gone.
func (c *crew) kill(member int) {
	p := c.members[member]
	p.dead = true
	c.deaths++
	if !p.away {
		_ = p.cmd.Process.Kill()
		p.bury()
	}
}

// fall waits until a member has killed itself.
func (c *crew) fall(member int) {
	c.t.Helper()
	p := c.members[member]
	p.dead = true
	c.deaths++
	p.bury()
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		c.t.Errorf("%s should have killed itself, and ended as %v: %s", p.name, p.cmd.ProcessState, p.errors.String())
	}
}

// end has all members leave, and looks whether something happened that must not.
func (c *crew) end() {
	if !c.t.Failed() {
		living := c.all()
		for at, err := range c.order(living, func(int) order { return order{Do: "leave"} }) {
			if err != "" {
				c.t.Errorf("%s does not leave: %s", c.members[living[at]].name, err)
			}
		}
	}
	for _, p := range c.members {
		p.end(c.t)
		p.check(c.t, max(1, c.deaths))
	}
	if c.t.Failed() {
		for _, p := range c.members {
			c.t.Logf("%s:\n    %s\n%s", p.name, p.story(), p.errors.String())
		}
	}
}

// check looks at what a member said in all. Each group may fail so often.
func (p *process) check(t *testing.T, mayFail int) {
	t.Helper()
	failures := make(map[string]int)
	for _, r := range p.seen() {
		switch r.Kind {
		case kindWrong:
			t.Errorf("%s: %s: %s", p.name, r.Group, r.Cause)
		case kindFailed:
			if failures[r.Group]++; failures[r.Group] > mayFail {
				t.Errorf("%s: %s failed once too often: %s", p.name, r.Group, r.Cause)
			}
		}
	}
	if text := p.errors.String(); text != "" {
		t.Errorf("%s says %s", p.name, text)
	}
}
