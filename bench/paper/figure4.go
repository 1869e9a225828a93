package paper

import (
	"context"
	"math/bits"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/plot"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// figure4a is the algorithms side by side on a large message.
func figure4a() Scenario {
	s := Scenario{Name: "fig4a", Title: "256 MiB by each algorithm on Fractus", Section: "5.2, figure 4a",
		Claim: "sequential and tree do poorly as the group grows; the chain keeps up with the pipeline"}
	return s.rivals(experiment{size: 256 * mib, stripes: 1}, largeClaims)
}

// figure4b is the same on a small message.
func figure4b() Scenario {
	s := Scenario{Name: "fig4b", Title: "8 MiB by each algorithm on Fractus", Section: "5.2, figure 4b",
		Claim: "the chain falls behind the pipeline where a small message goes to many"}
	return s.rivals(experiment{size: 8 * mib, stripes: 1}, smallClaims)
}

// The lines of figure 4. Circulant graphs are ours; MPI, which the paper has too, is measured on real links elsewhere.
var rivals = []schedule.Algorithm{schedule.Sequential, schedule.Tree, schedule.Chain, schedule.Pipeline, schedule.Circulant}

const (
	sequential = iota
	tree
	chain
	pipeline
)

// rivals has a scenario do an experiment with all algorithms.
func (s Scenario) rivals(e experiment, claims func(swept) []figure.Claim) Scenario {
	s.Run = func(ctx context.Context, o Options) (*figure.Figure, error) {
		out, err := o.sweep(ctx, rivalry(e, o.Short))
		if err != nil {
			return nil, err
		}
		f := s.figure("One message in blocks of 1 MiB, one at a time as in the paper, on up to 16 nodes with NICs of 100 Gbit/s. Group sizes include the root. " +
			"In the paper MPI_Bcast of MVAPICH takes 1.03 × to 3 × as long as the pipeline; here it is compared on real links " +
			"(weft bench multicast). The paper has no circulant graphs.")
		f.Charts = []plot.Chart{{Title: s.Title, X: plot.Axis{Label: "group size"},
			Y: plot.Axis{Label: "latency", Unit: "s"}, Series: out.lines(seconds)}}
		f.Table = out.table("members", number, milliseconds)
		f.Claims = claims(out)
		return f, nil
	}
	return s
}

// rivalry is an experiment with groups of 2 to 16.
func rivalry(e experiment, short bool) sweep {
	w := sweep{}
	for members := 2; members <= 16; members++ {
		if !short || bits.OnesCount(uint(members)) == 1 {
			w.xs = append(w.xs, float64(members))
		}
	}
	for _, a := range rivals {
		w.series = append(w.series, a.String())
	}
	w.at = func(series, x int) (experiment, bool) {
		e.members, e.algorithm = int(w.xs[x]), rivals[series]
		return e, true
	}
	return w
}

// times is how many times as long as the pipeline an algorithm takes, with so many members.
func (s swept) times(series int, members float64) float64 {
	for j, x := range s.xs {
		if x == members {
			return ratio(s.results[series][j].last, s.results[pipeline][j].last)
		}
	}
	return 0
}

func largeClaims(out swept) []figure.Claim {
	apart := func(series int) [3]float64 {
		return [3]float64{out.times(series, 4), out.times(series, 8), out.times(series, 16)}
	}
	worse, trees, chains := apart(sequential), apart(tree), apart(chain)
	return []figure.Claim{
		claim("sequential takes n − 1 times as long as the pipeline", near(worse, 3, 7, 15),
			"%.2f, %.2f and %.2f × with 4, 8 and 16 members", worse[0], worse[1], worse[2]),
		claim("a binomial tree takes ⌈log₂ n⌉ times as long", near(trees, 2, 3, 4),
			"%.2f, %.2f and %.2f × with 4, 8 and 16 members", trees[0], trees[1], trees[2]),
		claim("a chain is competitive for a large message", near(chains, 1, 1, 1),
			"%.2f, %.2f and %.2f × with 4, 8 and 16 members", chains[0], chains[1], chains[2]),
	}
}

func smallClaims(out swept) []figure.Claim {
	few, many := out.times(chain, 4), out.times(chain, 16)
	trees, worse := out.times(tree, 16), out.times(sequential, 16)
	return []figure.Claim{
		claim("a chain is competitive for a small message to few", few < 1.25, "%.2f × the pipeline with 4 members", few),
		claim("it falls behind for a small message to many", many > 1.8, "%.2f × with 16 members", many),
		claim("sequential and tree do poorly with 16 members", worse > 8 && trees > 2, "%.1f × and %.1f ×", worse, trees),
	}
}

// near reports whether what was measured is within a tenth of what is expected.
func near(measured [3]float64, expected ...float64) bool {
	for i, m := range measured {
		if m < 0.9*expected[i] || m > 1.1*expected[i] {
			return false
		}
	}
	return true
}
