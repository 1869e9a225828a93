package paper

import (
	"context"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/plot"
)

// figure6 is the rate of messages by the size of their blocks.
func figure6() Scenario {
	s := Scenario{Name: "fig6", Title: "Block sizes for messages of 16 KiB to 128 MiB on Fractus", Section: "5.2.1, figure 6",
		Claim: "larger blocks are faster, up to a peak; then there are too few of them for a pipeline"}
	s.Run = func(ctx context.Context, o Options) (*figure.Figure, error) {
		out, err := o.sweep(ctx, blockSizes(o.Short))
		if err != nil {
			return nil, err
		}
		f := s.figure("One message to a group of 4 by the pipeline, one block at a time as in the paper, on NICs of 100 Gbit/s. The bandwidth is the size of the " +
			"message divided by the time until all have it.")
		f.Charts = []plot.Chart{{Title: s.Title, X: plot.Axis{Label: "block size", Unit: "bytes", Log: true},
			Y: plot.Axis{Label: "bandwidth", Unit: "bits/s"}, Series: out.lines(bitRate)}}
		f.Table = out.table("Gbit/s, by block", bytes, gigabits)
		f.Claims = peakClaims(out)
		return f, nil
	}
	return s
}

// blockSizes is messages of 16 KiB to 128 MiB in blocks from a quarter of the smallest to half of the largest.
func blockSizes(short bool) sweep {
	const from, to = 4 * kib, 64 * mib
	sizes, step := []int{16 * kib, 128 * kib, mib, 8 * mib, 32 * mib, 128 * mib}, 2
	if short {
		sizes, step = []int{16 * kib, mib, 128 * mib}, 4
	}
	w := sweep{}
	for block := from; block <= to; block *= step {
		w.xs = append(w.xs, float64(block))
	}
	for _, size := range sizes {
		w.series = append(w.series, bytes(float64(size)))
	}
	w.at = func(series, x int) (experiment, bool) {
		size, block := sizes[series], int(w.xs[x])
		return experiment{members: 4, block: block, size: uint64(size), stripes: 1}, block <= size
	}
	return w
}

// peakClaims look at messages of a MiB and more.
func peakClaims(out swept) []figure.Claim {
	var claims []figure.Claim
	var peaks []float64
	for i := range out.series {
		at, gain, loss := out.peak(i)
		peaks = append(peaks, out.xs[at])
		if out.results[i][at].size >= mib {
			claims = append(claims, claim("the bandwidth of "+out.series[i]+" rises with the block size, has a peak, and falls",
				gain > 1.2 && loss > 1.2, "at %s %.2f × that of the smallest blocks, %.2f × that of the largest",
				bytes(out.xs[at]), gain, loss))
		}
	}
	smallest, largest := peaks[0], peaks[len(peaks)-1]
	return append(claims, claim("the larger the message, the larger the best block", largest > smallest,
		"%s for %s, %s for %s", bytes(smallest), out.series[0], bytes(largest), out.series[len(peaks)-1]))
}

// peak is where a line is highest, and how many times as high as at its ends.
func (s swept) peak(series int) (at int, gain, loss float64) {
	line := s.results[series]
	last := 0
	for i, r := range line {
		if r == nil {
			continue
		}
		last = i
		if r.rate() > line[at].rate() {
			at = i
		}
	}
	return at, line[at].rate() / line[0].rate(), line[at].rate() / line[last].rate()
}
