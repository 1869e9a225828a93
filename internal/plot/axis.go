package plot

import (
	"math"
	"slices"
	"strings"
)

// axis is an Axis with values on it: where each lies between two pixels.
type axis struct {
	Axis
	lo, hi   float64 // values at the ends
	from, to float64 // pixels at the ends
	binary   bool    // powers of two suit the values
	scales   []scale
	ticks    []float64
}

// newAxis fits an axis to values, of which there is one at least. From 0 on, if they are not negative: lengths can be compared
// then, and what costs nearly the same looks like it.
func newAxis(a Axis, values []float64) *axis {
	x := &axis{Axis: a, lo: slices.Min(values), hi: slices.Max(values), scales: scalesOf(a.Unit, values)}
	x.binary = a.Unit == "bytes" && isBinary(values) || a.Unit == "" && a.Log && allPowersOfTwo(values)
	if a.Log {
		x.fitLog()
		return x
	}
	x.lo, x.hi = min(x.lo, 0), max(x.hi, 0)
	if x.hi-x.lo < tiny {
		x.hi = x.lo + 1
	}
	factor := x.common().factor
	x.ticks = linearTicks(x.lo/factor, x.hi/factor, 5, x.binary)
	step := x.ticks[1] - x.ticks[0]
	x.lo, x.hi = math.Floor(x.lo/factor/step+1e-9)*step*factor, math.Ceil(x.hi/factor/step-1e-9)*step*factor
	x.ticks = linearTicks(x.lo/factor, x.hi/factor, 5, x.binary)
	for i := range x.ticks {
		x.ticks[i] *= factor
	}
	return x
}

// fitLog leaves some room on both sides, and much where values are nearly the same: they shall look like it.
func (x *axis) fitLog() {
	room := max(math.Pow(x.hi/x.lo, 0.05), math.Sqrt(4*x.lo/x.hi))
	x.lo, x.hi = x.lo/room, x.hi*room
	x.ticks = logTicks(x.lo, x.hi, x.binary)
}

func allPowersOfTwo(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { fraction, _ := math.Frexp(v); return fraction != 0.5 })
}

// common is the scale of all ticks of a linear axis.
func (x *axis) common() scale { return fit(x.scales, max(math.Abs(x.lo), math.Abs(x.hi))) }

// at is the pixel of a value.
func (x *axis) at(v float64) float64 {
	share := (v - x.lo) / (x.hi - x.lo)
	if x.Log {
		share = math.Log(v/x.lo) / math.Log(x.hi/x.lo)
	}
	return x.from + share*(x.to-x.from)
}

// name is the label, with the unit where the ticks do without. Who reads of a ratio knows that it has none.
func (x *axis) name() string {
	if x.Log || x.Unit == "ratio" {
		return x.Label
	}
	return strings.TrimSuffix(strings.TrimPrefix(x.Label+", "+x.common().name, ", "), ", ")
}

// tick is what stands at a tick.
func (x *axis) tick(v float64) string {
	if x.Log {
		return worded(x.scales, v, 6)
	}
	return plain(v/x.common().factor, 6)
}

// full is a value with its unit, and the three digits that a measurement has.
func (x *axis) full(v float64) string { return worded(x.scales, v, 3) }

// cutOff ends a linear axis soon behind the last value, instead of at a tick.
func (x *axis) cutOff(values []float64) {
	if last := slices.Max(values); !x.Log && last > 0 {
		x.hi = min(x.hi, last+0.03*(last-x.lo))
		x.ticks = slices.DeleteFunc(x.ticks, func(v float64) bool { return v > x.hi })
	}
}

// widest is about how wide the widest tick is.
func (x *axis) widest() (width float64) {
	for _, v := range x.ticks {
		width = max(width, textWidth(x.tick(v)))
	}
	return width
}

// standAt puts the ticks at the values themselves, if they are few and there is room for each: who sweeps 3, 7 and 15 receivers looks
// for these numbers.
func (x *axis) standAt(values []float64) {
	own := slices.Compact(slices.Sorted(slices.Values(values)))
	if len(own) < 2 || len(own) > 2*maxTicks {
		return
	}
	for i, v := range own[1:] {
		need := (textWidth(x.tick(v)) + textWidth(x.tick(own[i]))) / 2
		if x.at(v)-x.at(own[i]) < need+10 {
			return
		}
	}
	x.ticks = own
}
