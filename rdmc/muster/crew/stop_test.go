package crew

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// halt waits until every thread of a member that stops itself has stopped.
func (c *crew) halt(member int) {
	c.t.Helper()
	for deadline := time.Now().Add(patience); !c.members[member].isStopped(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("%s has not stopped", c.members[member].name)
		}
	}
}

func (p *process) isStopped() bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
	for _, file := range threads {
		text, err := os.ReadFile(file)
		_, state, _ := strings.Cut(string(text), ") ")
		if err == nil && !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return len(threads) > 0
}

// briefly is how long those are waited for that will never move. The others need less to answer than they needed to start and
// meet, however slow the machine is.
func (c *crew) briefly() time.Duration { return max(2*time.Second, min(2*c.pace, patience/5)) }

// newStoppable starts members of which one can stop itself.
func newStoppable(t *testing.T, lane string) *crew {
	t.Helper()
	return newCrew(t, lane, 4, func(i int, open *order) { open.Fused = i == 3 })
}

// stop makes groups of which one has a member that stops itself in the middle of a transfer.
func (c *crew) stop(stall time.Duration) (with, without groupOrder) {
	c.t.Helper()
	with = groupOrder{Name: "with", Ranks: []int{0, 1, 2, 3}, BlockSize: blockSize, Stall: stall}
	without = groupOrder{Name: "without", Ranks: []int{2, 1, 0}, BlockSize: blockSize}
	c.create(with, without)
	c.same([]int{3}, order{Do: "arm", After: 20, Signal: syscall.SIGSTOP})
	c.send(with, 30*blockSize, 30*blockSize)
	c.halt(3)
	return with, without
}

// A member that stands still is named, and its group ends; others go on.
func TestStopped(t *testing.T) {
	takesSeconds(t)
	t.Parallel()
	onLanesAtOnce(t, func(t *testing.T, lane string) {
		c := newStoppable(t, lane)
		with, without := c.stop(c.briefly())
		c.send(without, sizes...)
		c.arrive(without, without.Ranks, len(sizes))
		c.lose(with, []int{0, 1, 2}, 3)
		c.send(without, sizes...)
		c.arrive(without, without.Ranks, 2*len(sizes))
		_ = c.members[3].cmd.Process.Signal(syscall.SIGCONT)
	})
}

// A member that stands still for less than Stall costs only time.
func TestContinued(t *testing.T) {
	onLanes(t, func(t *testing.T, lane string) {
		c := newStoppable(t, lane)
		with, without := c.stop(deadPeer)
		c.send(without, sizes...)
		c.arrive(without, without.Ranks, len(sizes))
		_ = c.members[3].cmd.Process.Signal(syscall.SIGCONT)
		c.arrive(with, with.Ranks, 2)
	})
}
