package crew

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A member dies while groups are being formed. The others hear who it was, by an error of Create or, if that was through with
// it, by a failure of the groups; and they form others without it.
func TestKillForming(t *testing.T) {
	onLanes(t, func(t *testing.T, lane string) {
		for after := int64(1); after <= 7; after += int64(inMachine(lane, 6, 2)) {
			t.Run(fmt.Sprint(after), func(t *testing.T) { killForming(t, lane, after) })
		}
	})
}

func killForming(t *testing.T, lane string, after int64) {
	const victim, silence = 2, 5 * time.Second // so long do those wait who were about to connect with it
	c := newCrew(t, lane, 4, func(i int, open *order) { open.Fused, open.Timeout = i == victim, silence })
	groups := everyGroup([]int{0, 1, victim, 3}, 1)
	c.same([]int{victim}, order{Do: "arm", After: after, Signal: syscall.SIGKILL})
	create := order{Do: "create", Groups: groups}
	c.members[victim].tell(create)
	for at, answer := range c.order(c.others(victim), func(int) order { return create }) {
		if answer != "" && !strings.Contains(answer, memberName(victim)) {
			t.Errorf("%s does not say who died: %s", c.members[c.others(victim)[at]].name, answer)
		}
	}
	c.fall(victim)
	c.same(c.all(), order{Do: "regroup", Dead: []int{victim}})
	var rest []groupOrder
	for _, g := range everyGroup(c.all(), 1) {
		g.Name += ", without it"
		rest = append(rest, g)
	}
	c.carry(rest)
}

// A member stands still while groups are being formed, for much longer than devices bear the silence of a peer. That costs only
// time.
func TestStopForming(t *testing.T) {
	takesSeconds(t)
	t.Parallel()
	onLanesAtOnce(t, func(t *testing.T, lane string) {
		for after := int64(1); after <= 7; after += int64(inMachine(lane, 6, 2)) {
			t.Run(fmt.Sprint(after), func(t *testing.T) { stopForming(t, lane, after) })
		}
	})
}

func stopForming(t *testing.T, lane string, after int64) {
	const late, silence = 2, 2 * time.Second // which is the least that RDMA devices bear
	c := newCrew(t, lane, 4, func(i int, open *order) { open.Fused, open.Timeout = i == late, silence })
	c.same([]int{late}, order{Do: "arm", After: after, Signal: syscall.SIGSTOP})
	create := order{Do: "create", Groups: everyGroup([]int{0, 1, late, 3}, 1)}
	for _, i := range c.all() {
		c.members[i].tell(create)
	}
	c.halt(late)
	time.Sleep(2 * silence)
	_ = c.members[late].cmd.Process.Signal(syscall.SIGCONT)
	for _, i := range c.all() {
		if answer := c.members[i].answer(t); answer != "" {
			t.Errorf("%s: %s", c.members[i].name, answer)
		}
	}
}
