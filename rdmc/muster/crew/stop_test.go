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

// briefly is how long those are waited for that will never move.
func briefly(lane string) time.Duration { return time.Duration(inMachine(lane, 4, 2)) * time.Second }

// stopped makes groups of which one has a member that stops itself in the middle of a transfer.
func stopped(t *testing.T, lane string, stall time.Duration) (c *crew, with, without groupOrder) {
	t.Helper()
	c = newCrew(t, lane, 4, func(i int, open *order) { open.Fused = i == 3 })
	with = groupOrder{Name: "with", Ranks: []int{0, 1, 2, 3}, BlockSize: blockSize, Stall: stall}
	without = groupOrder{Name: "without", Ranks: []int{2, 1, 0}, BlockSize: blockSize, Stall: stall}
	c.create(with, without)
	c.same([]int{3}, order{Do: "arm", After: 20, Signal: syscall.SIGSTOP})
	c.send(with, 30*blockSize, 30*blockSize)
	c.halt(3)
	return c, with, without
}

// A member that stands still is named, and its group ends; others go on.
func TestStopped(t *testing.T) {
	takesSeconds(t)
	t.Parallel()
	onLanesAtOnce(t, func(t *testing.T, lane string) {
		c, with, without := stopped(t, lane, briefly(lane))
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
		c, with, without := stopped(t, lane, deadPeer)
		c.send(without, sizes...)
		c.arrive(without, without.Ranks, len(sizes))
		_ = c.members[3].cmd.Process.Signal(syscall.SIGCONT)
		c.arrive(with, with.Ranks, 2)
	})
}
