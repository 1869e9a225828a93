package plot

import "math"

// linearTicks are multiples of 1, 2 or 5 times a power of ten, or of a power of two, from lo to hi: about so many.
func linearTicks(lo, hi float64, about int, binary bool) []float64 {
	step := niceStep((hi-lo)/float64(about), binary)
	var ticks []float64
	for i := math.Ceil(lo/step - 1e-9); i <= math.Floor(hi/step+1e-9); i++ {
		ticks = append(ticks, i*step+0) // not -0
	}
	return ticks
}

// niceStep is the first round number that is not below a width.
func niceStep(width float64, binary bool) float64 {
	if binary {
		return math.Exp2(math.Ceil(math.Log2(width) - 1e-9))
	}
	power := math.Pow(10, math.Floor(math.Log10(width)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= width*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// maxTicks is how many stand on an axis.
const maxTicks = 9

// logTicks are powers of two or ten, with 2 and 5 between these if there is room. Where not even three of them lie between lo
// and hi, they are as on a linear axis.
func logTicks(lo, hi float64, binary bool) []float64 {
	base, between := 10.0, [][]float64{{1, 2, 5}, {1}}
	if binary {
		base, between = 2, [][]float64{{1}}
	}
	for _, m := range between {
		if ticks := powers(lo, hi, base, m); len(ticks) >= 3 && len(ticks) <= maxTicks {
			return ticks
		}
	}
	for every := 2.0; every <= 16; every *= 2 {
		if ticks := powers(lo, hi, math.Pow(base, every), []float64{1}); len(ticks) >= 3 && len(ticks) <= maxTicks {
			return ticks
		}
	}
	return linearTicks(lo, hi, 5, binary)
}

// powers are all products of a power of base with one of the multipliers, from lo to hi.
func powers(lo, hi, base float64, multipliers []float64) (ticks []float64) {
	first := math.Floor(math.Log(lo) / math.Log(base))
	for e := first - 1; math.Pow(base, e) <= hi*(1+1e-9); e++ {
		for _, m := range multipliers {
			if v := m * math.Pow(base, e); v >= lo*(1-1e-9) && v <= hi*(1+1e-9) {
				ticks = append(ticks, v)
			}
		}
	}
	return ticks
}
