package waiting

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/printable"
)

// comparison is of some settings with others, each pair in the same round.
type comparison struct {
	name   string // what is divided by what, for the table
	text   string
	of     func(p *place, s setting) bool // which settings are compared
	with   func(setting) setting          // what each is compared with
	value  func(sample) float64
	bound  float64 // of the median at every place
	atMost bool
}

// judged is what a comparison has shown at a place.
type judged struct {
	place                   string
	median, lowest, highest string // as they are printed
	met                     bool   // by the median
	always                  bool   // by all pairs
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

// judge looks at every place where there is something to compare.
func (c *comparison) judge(taken samples, places []*place) (all []judged) {
	for _, p := range places {
		ratios := c.ratios(taken, p)
		if len(ratios) == 0 {
			continue
		}
		median := contest.Median(ratios)
		all = append(all, judged{place: p.name, median: contest.Beside(median, c.bound) + " ×",
			lowest: contest.Beside(slices.Min(ratios), c.bound), highest: contest.Beside(slices.Max(ratios), c.bound),
			met: c.meets(median), always: c.meets(slices.Min(ratios)) && c.meets(slices.Max(ratios))})
	}
	return all
}

func (c *comparison) meets(ratio float64) bool {
	return c.atMost && ratio <= c.bound || !c.atMost && ratio >= c.bound
}

// claim says what came out at all places; missing is why there are no limited links, if there are none.
func (c *comparison) claim(all []judged, missing error) figure.Claim {
	if len(all) == 0 {
		return figure.Claim{Text: c.text, Measured: "not measured", Why: without(missing)}
	}
	claim := figure.Claim{Text: c.text, Holds: true}
	var said []string
	for _, j := range all {
		claim.Holds = claim.Holds && j.met
		said = append(said, fmt.Sprintf("%s %s (%s to %s)%s", j.place, j.median, j.lowest, j.highest, j.mark()))
	}
	claim.Measured = strings.Join(said, ", ")
	return claim
}

// mark stands behind a place that is not like it should be.
func (j judged) mark() string {
	switch {
	case !j.met:
		return " ✗ missed here"
	case !j.always:
		return " by the median only"
	}
	return ""
}

// without says what is missing, if something is.
func without(missing error) string {
	if missing == nil {
		return ""
	}
	return printable.Clean(fmt.Sprintf("without limited links: %v", missing), figure.MaxReason)
}

// row is what came out at a place.
func (c *comparison) row(j judged) []string {
	limit := map[bool]string{true: "≤", false: "≥"}[c.atMost]
	verdict := map[bool]string{true: "met", false: "MISSED"}[j.met]
	if j.met && !j.always {
		verdict = "met by the median"
	}
	return []string{c.name, j.place, j.median, j.lowest, j.highest, fmt.Sprintf("%s %v", limit, c.bound), verdict}
}

// ratios is the figure of what the claims are about.
func (t samples) ratios(places []*place, missing error) *figure.Figure {
	f := &figure.Figure{
		Name: "waiting-ratios", Title: "What waiting costs: the ratios that the paper speaks of",
		Source: "RDMC, sections 4.4 and 5.2.3; measured on this machine",
		Text: "Each ratio is of two samples of the same round, by the same algorithm. The median, the lowest and the highest are of those of " +
			"both algorithms in all rounds, so they are not quotients of the medians of all rounds.",
		Table: &figure.Table{Columns: []string{"ratio", "members", "median", "lowest", "highest", "must be", ""}},
	}
	for _, c := range comparisons() {
		all := c.judge(t, places)
		for _, j := range all {
			f.Table.Rows = append(f.Table.Rows, c.row(j))
		}
		f.Claims = append(f.Claims, c.claim(all, missing))
	}
	return f
}
