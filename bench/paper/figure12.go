package paper

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// figure12 is what it brings to have NICs run the whole transfer.
func figure12() Scenario {
	s := Scenario{Name: "fig12", Title: "100 MB with and without offload on Fractus", Section: "5.2.3, figure 12",
		Claim: "NICs that relay by themselves are faster than hosts, most of all hosts that sleep"}
	s.Run = func(ctx context.Context, o Options) (*figure.Figure, error) {
		out, err := o.bandwidths(ctx, offloadLines(), o.groupSizes())
		if err != nil {
			return nil, err
		}
		f := s.figure(fmt.Sprintf("One message in blocks of 256 KiB. One credit is the original's: a member says that it is ready for one block at a time. "+
			"To wake a host that sleeps takes %v. The paper could only offload the chain. In the pipeline two nodes share a vertex where the group's size is no "+
			"power of two: NICs cannot hold a block back for the step it is meant for, and what they send at once shares the link.", wakeTime))
		for i, c := range offloadCharts() {
			f.Charts = append(f.Charts, out.chart(c, i*len(relays), (i+1)*len(relays)))
		}
		f.Table, f.Claims = out.table(), offloadClaims(out)
		return f, nil
	}
	return s
}

// relays are who sends blocks on.
var relays = []struct {
	name string
	set  func(*experiment)
}{
	{"hosts, one credit", func(e *experiment) { e.stripes, e.credits = 1, 1 }},
	{"hosts", func(*experiment) {}},
	{"NICs", func(e *experiment) { e.offload = true }},
}

// Indexes of relays.
const (
	oneCredit = iota
	hosts
	nics
)

var (
	offloadPatterns = []schedule.Algorithm{schedule.Chain, schedule.Pipeline, schedule.Circulant}
	offloadWaits    = []int{hybrid, interrupts}
)

// offloadCharts are the titles: the paper's two, and four more.
func offloadCharts() (titles []string) {
	for _, pattern := range offloadPatterns {
		for _, wait := range offloadWaits {
			titles = append(titles, fmt.Sprintf("%v, %s", pattern, waits[wait].name))
		}
	}
	return titles
}

func offloadLines() (lines []line) {
	for _, pattern := range offloadPatterns {
		for _, wait := range offloadWaits {
			for _, by := range relays {
				e := experiment{algorithm: pattern, size: 100e6, block: 256 * kib, node: waits[wait].node}
				by.set(&e)
				lines = append(lines, line{name: fmt.Sprintf("%v, %s, %s", pattern, waits[wait].name, by.name),
					of: func(int) crowd { return crowd{experiment: e} }})
			}
		}
	}
	return lines
}

// offloadLine is the index of a line, by indexes of offloadPatterns, offloadWaits and relays.
func offloadLine(pattern, wait, relay int) int {
	return (pattern*len(offloadWaits)+wait)*len(relays) + relay
}

func offloadClaims(out *bandwidths) []figure.Claim {
	const chain, pipeline, circulant = 0, 1, 2
	const awake, asleep = 0, 1
	gains := func(pattern, wait, than int) []float64 {
		return out.against(offloadLine(pattern, wait, nics), offloadLine(pattern, wait, than))
	}
	say := func(text string, ratios []float64, least, most float64) figure.Claim {
		low, high := slices.Min(ratios), slices.Max(ratios)
		return claim(text, low >= least && high <= most, "%.3f to %.3f ×", low, high)
	}
	var cubes []float64 // groups that fill a hypercube: 4, 8 and 16
	for i, gain := range gains(pipeline, asleep, hosts) {
		if n := out.members[i]; n&(n-1) == 0 {
			cubes = append(cubes, gain)
		}
	}
	return []figure.Claim{
		say("chain, hybrid: NICs that relay are faster than hosts with one credit", gains(chain, awake, oneCredit), 1.02, 1.5),
		say("chain, interrupts: much faster", gains(chain, asleep, oneCredit), 1.3, 3),
		say("chain, NICs: to sleep costs nothing any more", out.against(offloadLine(chain, asleep, nics), offloadLine(chain, awake, nics)), 0.97, 1),
		say("chain, interrupts: several credits do the same for hosts (beyond the paper)", gains(chain, asleep, hosts), 0.99, 1.01),
		say("circulant, interrupts: NICs are faster than hosts with several credits (beyond the paper)", gains(circulant, asleep, hosts), 1.1, 3),
		say("pipeline, interrupts: so they are where the group fills a hypercube (beyond the paper)", cubes, 1.1, 3),
	}
}
