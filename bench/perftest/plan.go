package perftest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft/internal/units"
)

// Plan says what is measured, and how. The client has it, and tells the server.
type Plan struct {
	Operations []Operation   `json:"operations"`
	Measures   []Measure     `json:"measures"`
	Sizes      []units.Size  `json:"sizes"`       // bytes of a message; the atomics always have 8
	Depth      int           `json:"depth"`       // requests outstanding on a queue pair, at most
	List       int           `json:"list"`        // requests handed to the NIC at a time
	QuietEvery int           `json:"quiet_every"` // one in so many requests is reported, the others are Quiet
	Pairs      int           `json:"pairs"`       // queue pairs, divided among the threads
	Threads    int           `json:"threads"`     // of either side, each with a completion queue of its own
	Iterations int64         `json:"iterations"`  // messages of each thread; 0: Duration counts
	Duration   time.Duration `json:"duration_ns"` // of each run
	WarmUp     time.Duration `json:"warm_up_ns"`  // before each run; at least one message is sent
	Batch      int           `json:"batch"`       // messages of a latency sample; 0: enough for a microsecond
	Wait       Wait          `json:"wait"`
}

// Limits of a plan.
const (
	MaxSize    = 64 * units.MiB
	MaxPairs   = 10_000
	MaxThreads = 256
	maxRuns    = 10_000
	MaxBatch   = 1 << 20
	maxTime    = 24 * time.Hour
	maxMemory  = 4 << 30 // of either side, in bytes
	maxPosted  = 1 << 21 // requests of all pairs
)

// ErrPlan is what a plan that cannot be carried out fails with.
var ErrPlan = errors.New("cannot be measured")

// Validate says what is wrong with the plan. Words are those of the command's flags.
func (p *Plan) Validate() error {
	for _, limit := range []struct {
		name               string
		value, least, most int
		why                string
	}{
		{"threads", p.Threads, 1, MaxThreads, ""},
		{"pairs", p.Pairs, p.Threads, MaxPairs, ", one for each of --threads at least"},
		{"depth", p.Depth, 1, 1 << 14, ""},
		{"list", p.List, 1, p.Depth, ", which is --depth"},
		{"quiet-every", p.QuietEvery, 1, p.Depth, ", which is --depth"},
		{"batch", p.Batch, 0, MaxBatch, ""},
	} {
		if limit.value < limit.least || limit.value > limit.most {
			return fmt.Errorf("--%s %d %w: it is between %d and %d%s", limit.name, limit.value, ErrPlan, limit.least, limit.most,
				limit.why)
		}
	}
	if p.Pairs*p.Depth > maxPosted {
		return fmt.Errorf("%d pairs of depth %d %w: they post %d requests, at most %d; lower --depth to %d, or --pairs", p.Pairs, p.Depth,
			ErrPlan, p.Pairs*p.Depth, maxPosted, maxPosted/p.Pairs)
	}
	if err := p.validateTimes(); err != nil {
		return err
	}
	return p.validateRuns()
}

func (p *Plan) validateTimes() error {
	switch {
	case p.Iterations < 0:
		return fmt.Errorf("--iterations %d %w: it is at least 1", p.Iterations, ErrPlan)
	case p.Iterations == 0 && (p.Duration <= 0 || p.Duration > maxTime):
		return fmt.Errorf("--duration %v %w: it is above 0 and at most %v", p.Duration, ErrPlan, maxTime)
	case p.WarmUp < 0 || p.WarmUp > maxTime:
		return fmt.Errorf("--warm-up %v %w: it is between 0 and %v", p.WarmUp, ErrPlan, maxTime)
	}
	return nil
}

func (p *Plan) validateRuns() error {
	if len(p.Operations)*len(p.Measures)*len(p.Sizes) == 0 {
		return fmt.Errorf("a plan without operation, measure or size %w", ErrPlan)
	}
	if n := len(p.Operations) * len(p.Measures) * len(p.Sizes); n > maxRuns {
		return fmt.Errorf("%d runs %w: name fewer sizes, at most %d runs", n, ErrPlan, maxRuns)
	}
	for _, size := range p.Sizes {
		if size < 1 || size > MaxSize {
			return fmt.Errorf("size %v %w: a message has 1 B to %v", size, ErrPlan, MaxSize)
		}
	}
	if need := 2 * int64(p.Pairs) * int64(p.slot()); need > maxMemory {
		return fmt.Errorf("%d pairs with messages of %v %w: they need %v of memory on either side, at most %v; lower --pairs, or --size to %v",
			p.Pairs, slices.Max(p.Sizes), ErrPlan, units.Size(need), units.Size(maxMemory), units.Size(maxMemory/2/p.Pairs)&^4095)
	}
	return p.validateWait()
}

func (p *Plan) validateWait() error {
	if p.Wait != Polling && slices.Contains(p.Operations, Write) && slices.Contains(p.Measures, Latency) {
		return fmt.Errorf("write latency with wait %v %w: a Write wakes nobody, so it is polled for; take writeimm or send, or wait polling",
			p.Wait, ErrPlan)
	}
	return nil
}

// Run is one row of the result: one operation, measured in one way, with one size.
type Run struct {
	Operation Operation  `json:"operation"`
	Measure   Measure    `json:"measure"`
	Size      units.Size `json:"size_bytes"`
}

// Runs are the runs of the plan in their order: operation by operation, first latency, then bandwidth, by size.
func (p *Plan) Runs() []Run {
	var runs []Run
	for _, operation := range p.Operations {
		sizes := p.Sizes
		if operation.Atomic() {
			sizes = []units.Size{wordBytes}
		}
		for _, measure := range p.Measures {
			for _, size := range sizes {
				runs = append(runs, Run{operation, measure, size})
			}
		}
	}
	return runs
}

// slot is how many bytes a queue pair has for incoming messages, and as many for outgoing ones.
func (p *Plan) slot() int { return slotOf(slices.Max(p.Sizes)) }

func slotOf(message units.Size) int {
	const line, page = 64, 4096
	size := int(max(wordBytes, message))
	if size >= page {
		return (size + page - 1) / page * page
	}
	return (size + line - 1) / line * line
}

// limits is what a side says of itself when the plan is made known.
func (s *Side) limits(plan *Plan) note {
	return note{Plan: plan, MaxMessage: s.Device.Limits().MaxMessage}
}

// cut leaves out the sizes that the device of either side does not take, and returns the largest that they do. Both sides
// come to the same. If nothing were left it does nothing: then opening the side fails, and says why.
func (p *Plan) cut(mine, theirs note) units.Size {
	most := units.Size(min(mine.MaxMessage, theirs.MaxMessage))
	fits := slices.DeleteFunc(slices.Clone(p.Sizes), func(size units.Size) bool { return slotOf(size) > int(most) })
	if len(fits) > 0 {
		p.Sizes = fits
	}
	return most
}

// maxInFlight bounds the bytes outstanding on all queue pairs, so that a run with large messages can end in time.
const maxInFlight = 256 * units.MiB

// window is how many requests of a run may be outstanding on a queue pair: two at least, if the depth allows it.
func (p *Plan) window(r Run) int {
	return min(p.Depth, max(2, int(maxInFlight/r.Size)/p.Pairs))
}
