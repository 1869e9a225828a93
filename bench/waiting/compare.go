package waiting

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/figure"
)

// comparison is of some settings with others, each pair in the same round.
type comparison struct {
	text   string
	of     func(p *place, s setting) bool // which settings are compared
	with   func(setting) setting          // what each is compared with
	value  func(sample) float64
	bound  float64 // of the median at every place
	atMost bool
}

// ratios are those at a place, of all pairs and rounds.
func (c *comparison) ratios(taken samples, p *place) (all []float64) {
	for _, s := range settings() {
		if !c.of(p, s) {
			continue
		}
		theirs := taken[key{p.name, c.with(s)}]
		for round, mine := range taken[key{p.name, s}] {
			all = append(all, c.value(mine)/c.value(theirs[round]))
		}
	}
	return all
}

// claim judges what was measured at all places.
func (c *comparison) claim(taken samples, all []*place) figure.Claim {
	claim := figure.Claim{Text: c.text, Holds: true}
	var said []string
	for _, p := range all {
		ratios := c.ratios(taken, p)
		if len(ratios) == 0 {
			continue
		}
		median := contest.Median(ratios)
		claim.Holds = claim.Holds && (c.atMost && median <= c.bound || !c.atMost && median >= c.bound)
		said = append(said, fmt.Sprintf("%s %.2f × (%.2f to %.2f)", p.name, median, slices.Min(ratios), slices.Max(ratios)))
	}
	if len(said) == 0 {
		claim.Holds, said = false, []string{"not measured"}
	}
	claim.Measured = strings.Join(said, ", ")
	return claim
}
