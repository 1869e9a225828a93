package paper

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/provider/sim"
)

// figure11 is what it costs to sleep instead of looking for completions.
func figure11() Scenario {
	s := Scenario{Name: "fig11", Title: "Hybrid waiting and pure interrupts on Fractus", Section: "5.2.3, figure 11",
		Claim: "polling is no faster than the hybrid, and pure interrupts cost little bandwidth, for large messages least"}
	s.Run = func(ctx context.Context, o Options) (*figure.Figure, error) {
		out, err := o.bandwidths(ctx, waitingLines(), o.groupSizes())
		if err != nil {
			return nil, err
		}
		f := s.figure(fmt.Sprintf("Pipeline, one sender, messages one after the other. To wake a host that sleeps takes %v; the hybrid sleeps after %v without "+
			"work. Simulated hosts need less than a microsecond for a block, so that waking shows more in small messages than on the paper's machines. "+
			"Processor time is measured with real processes: weft bench waiting.", wakeTime, pollTime))
		for i, messages := range streams {
			f.Charts = append(f.Charts, out.chart(messages.name, i*len(waits), (i+1)*len(waits)))
		}
		f.Table, f.Claims = out.table(), waitingClaims(out)
		return f, nil
	}
	return s
}

const (
	wakeTime = 5 * time.Microsecond  // our guess of an interrupt and a switch to the process
	pollTime = 50 * time.Millisecond // section 4.2
)

// waits are the ways of a host to wait.
var waits = []struct {
	name string
	node func(int) sim.NodeConfig
}{
	{"polling", func(int) sim.NodeConfig { return sim.NodeConfig{} }},
	{"hybrid", func(int) sim.NodeConfig { return sim.NodeConfig{Wake: wakeTime, Spin: pollTime} }},
	{"interrupts", func(int) sim.NodeConfig { return sim.NodeConfig{Wake: wakeTime} }},
}

// Indexes of waits.
const (
	polling = iota
	hybrid
	interrupts
)

// waitingLines are the lines of figure 11: of each size each way to wait.
func waitingLines() (lines []line) {
	for _, messages := range streams {
		for _, wait := range waits {
			lines = append(lines, line{name: messages.name + ", " + wait.name, dashed: wait.name == waits[interrupts].name,
				of: func(int) crowd { return messages.in(crowd{experiment: experiment{node: wait.node}}) }})
		}
	}
	return lines
}

func waitingClaims(out *bandwidths) []figure.Claim {
	var slower, sleeping []float64 // the worst of each size
	for i := range streams {
		slower = append(slower, slices.Max(out.against(i*len(waits)+polling, i*len(waits)+hybrid)))
		sleeping = append(sleeping, slices.Min(out.against(i*len(waits)+interrupts, i*len(waits)+hybrid)))
	}
	return []figure.Claim{
		claim("pure polling is not measurably faster than the hybrid", slices.Max(slower) < 1.01, "at most %.3f ×", slices.Max(slower)),
		claim("100 MB: pure interrupts cost little bandwidth", sleeping[0] >= 0.93, "at least %.3f of the hybrid's", sleeping[0]),
		claim("the larger the message, the less they cost", slices.IsSortedFunc(sleeping, func(a, b float64) int { return int(1e3 * (b - a)) }),
			"at least %.2f of the hybrid's for 100 MB, %.2f for 1 MB, %.2f for 10 KB", sleeping[0], sleeping[1], sleeping[2]),
	}
}
