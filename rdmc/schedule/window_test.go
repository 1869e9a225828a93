package schedule

import (
	"fmt"
	"testing"
)

// window is how many blocks a member other than the root holds at most, at the end of a step, that it has yet to send.
func (c *cluster) window() int {
	widest := 0
	for rank, plan := range c.plans[1:] {
		last := make([]int, len(c.has[0])) // by block: the step of its last send
		for step := range plan.Steps() {
			if out, ok := plan.Send(step); ok {
				last[out.Block] = step
			}
		}
		for step := range plan.Steps() {
			held := 0
			for block, received := range c.has[rank+1] {
				if received <= step && last[block] > step {
					held++
				}
			}
			widest = max(widest, held)
		}
	}
	return widest
}

// TestWindow: who stores blocks only until they have been passed on needs few at a time, however long the message.
func TestWindow(t *testing.T) {
	for algorithm, limit := range map[Algorithm]func(members int) int{
		Chain:     func(int) int { return 1 },
		Pipeline:  func(int) int { return 1 },
		Circulant: func(n int) int { return ceilLog2(n) - 1 },
	} {
		some(t, Config{Algorithm: algorithm}, func(c *cluster, _ int) error {
			if held := c.window(); held > limit(c.config.Members) {
				return fmt.Errorf("a member holds %d blocks", held)
			}
			return nil
		})
	}
}
