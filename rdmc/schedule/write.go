package schedule

import (
	"bufio"
	"fmt"
	"io"
)

// Write prints the schedule of a whole group for people, a line for each step, with each transfer as from→to:block.
func Write(w io.Writer, config Config, blocks int) error {
	plans, err := plans(config, blocks)
	if err != nil {
		return err
	}
	steps := plans[0].Steps()
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%v: %d members, %d blocks, %d steps (from→to:block)\n", config.Algorithm, config.Members, blocks, steps)
	for step := range steps {
		if err := writeStep(out, plans, step); err != nil {
			return err
		}
	}
	return out.Flush()
}

// plans computes what nobody needs to but a reader: the plans of all members.
func plans(config Config, blocks int) ([]Plan, error) {
	var plans []Plan
	for rank := range max(config.Members, 1) {
		part, err := New(config, rank)
		if err != nil {
			return nil, err
		}
		plans = append(plans, part.Plan(blocks))
	}
	return plans, nil
}

func writeStep(out *bufio.Writer, plans []Plan, step int) error {
	fmt.Fprintf(out, "%4d", step)
	for rank, plan := range plans {
		if t, ok := plan.Send(step); ok {
			fmt.Fprintf(out, "  %d→%d:%d", rank, t.Peer, t.Block)
		}
	}
	return out.WriteByte('\n')
}
