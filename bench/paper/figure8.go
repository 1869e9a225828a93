package paper

import (
	"context"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/plot"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// figure8 is how the time grows with the number of copies: for the pipeline hardly, for sequential sends in proportion.
func figure8() Scenario {
	s := Scenario{Name: "fig8", Title: scalingTitle(256 * mib), Section: "5.2.2, figure 8",
		Claim: "127, 255 and 511 copies cost nearly the same; sequential sends grow in proportion"}
	s.Run = func(ctx context.Context, o Options) (*figure.Figure, error) {
		size := uint64(256 * mib)
		if o.Short {
			size = 64 * mib
		}
		s := s // its title is that of this run
		s.Title = scalingTitle(size)
		out, err := o.sweep(ctx, scaling(size))
		if err != nil {
			return nil, err
		}
		f := s.figure("One message of " + bytes(float64(size)) + " in blocks of 1 MiB, one at a time as in the paper, on NICs of 40 Gbit/s. Group sizes include " +
			"the root. In the paper the last point of sequential sends is extrapolated, here it is simulated.")
		f.Charts = []plot.Chart{{Title: s.Title, X: plot.Axis{Label: "group size", Log: true},
			Y: plot.Axis{Label: "time", Unit: "s", Log: true}, Series: out.lines(seconds)}}
		f.Table = out.table("members", number, milliseconds)
		f.Claims = scalingClaims(out)
		return f, nil
	}
	return s
}

func scalingTitle(size uint64) string {
	return bytes(float64(size)) + " to up to 511 receivers on Sierra"
}

// scaling is a message to groups of 2 to 512.
func scaling(size uint64) sweep {
	algorithms := []schedule.Algorithm{schedule.Pipeline, schedule.Sequential}
	w := sweep{series: []string{"pipeline", "sequential"}}
	for members := 2; members <= 512; members *= 2 {
		w.xs = append(w.xs, float64(members))
	}
	w.at = func(series, x int) (experiment, bool) {
		return experiment{members: 2 << x, algorithm: algorithms[series], node: rated(sierra), size: size, stripes: 1}, true
	}
	return w
}

func scalingClaims(out swept) []figure.Claim {
	pipeline, sequential := out.results[0], out.results[1]
	last := len(out.xs) - 1
	grows := ratio(pipeline[last].last, pipeline[last-2].last)
	linear := ratio(sequential[last].last, sequential[last-2].last)
	apart := ratio(sequential[last].last, pipeline[last].last)
	skew, spread := ratio(pipeline[last].skew(), pipeline[last].last), ratio(sequential[last].skew(), sequential[last].last)
	return []figure.Claim{
		claim("127, 255 and 511 copies take almost the same time", grows <= 1.05, "%.1f, %.1f and %.1f ms: %.3f ×",
			pipeline[last-2].last.Seconds()*1e3, pipeline[last-1].last.Seconds()*1e3, pipeline[last].last.Seconds()*1e3, grows),
		claim("sequential sends grow with the number of receivers", linear > 3.9 && linear < 4.1,
			"from 127 to 511 receivers, 4.02 × as many: %.2f ×", linear),
		claim("the difference is orders of magnitude", apart > 100, "511 receivers: %.0f ×", apart),
		claim("the pipeline ends nearly at once everywhere, sequential sends do not", skew < 0.01 && spread > 0.9,
			"between the first of 511 receivers and the last pass %.3f %% of the time, and %.1f %%", 100*skew, 100*spread),
	}
}
