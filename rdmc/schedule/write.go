package schedule

import (
	"bufio"
	"fmt"
	"io"
)

// Send is a transfer as somebody sees it who looks at the whole group.
type Send struct {
	From  int `json:"from"`
	To    int `json:"to"`
	Block int `json:"block"`
}

// Whole computes what no member needs, but a reader: everything that is sent, step by step, in the order of the senders. It takes
// memory for each transfer.
func Whole(config Config, blocks int) ([][]Send, error) {
	plans, err := plans(config, blocks)
	if err != nil {
		return nil, err
	}
	steps := make([][]Send, plans[0].Steps())
	for rank, plan := range plans {
		from, to := plan.Sending()
		for step := from; step < to; step++ {
			if t, ok := plan.Send(step); ok {
				steps[step] = append(steps[step], Send{rank, t.Peer, t.Block})
			}
		}
	}
	return steps, nil
}

// Write prints the schedule of a whole group for people, a line for each step, with each transfer as from→to:block. Long lines
// go on below.
func Write(w io.Writer, config Config, blocks int) error {
	steps, err := Whole(config, blocks)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%v: %d members, %d blocks, %d steps (from→to:block)\n", config.Algorithm, config.Members, blocks, len(steps))
	for step, sends := range steps {
		if err := writeStep(out, step, sends); err != nil {
			return err
		}
	}
	return out.Flush()
}

// plans are those of all members.
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

func writeStep(out *bufio.Writer, step int, sends []Send) error {
	const columns = 100
	used, _ := fmt.Fprintf(out, "%4d", step)
	for _, s := range sends {
		text := fmt.Sprintf("  %d→%d:%d", s.From, s.To, s.Block)
		if used += len(text) - 2; used > columns { // the arrow has three bytes
			fmt.Fprint(out, "\n    ")
			used = 4 + len(text) - 2
		}
		fmt.Fprint(out, text)
	}
	return out.WriteByte('\n')
}
