package contest

import (
	"fmt"
	"math"
)

const (
	digits       = 3  // that a measurement has
	mostDecimals = 20 // more than a float64 near its bound can tell
	noDecimals   = math.MinInt32
)

// Beside prints a value that stands beside its bound: with the three digits that a measurement has, or with so many that two
// of them say how far it is from there. What misses 1 by little is 1.012 and not 1.01, and never 1.
func Beside(value, bound float64) string { return number(value, decimalsBeside(value, bound)) }

// decimalsBeside is how many decimals show two digits of a value's distance from its bound.
func decimalsBeside(value, bound float64) int {
	gap := math.Abs(value - bound)
	if gap == 0 || math.IsNaN(gap) || math.IsInf(gap, 0) {
		return noDecimals
	}
	return 1 - firstDigit(gap*(1+1e-9)) // 0.9 - 0.8 is a little less than 0.1
}

// firstDigit is the power of ten of a positive value's first digit.
func firstDigit(v float64) int { return int(math.Floor(math.Log10(v))) }

// number prints a value with three digits, or with so many decimals if those are more. Only what is below 0.0001 may have a
// power of ten behind it.
func number(v float64, decimals int) string {
	unit := ""
	if v >= 1e6 {
		v, decimals, unit = v/1e6, decimals+6, "M"
	}
	switch {
	case v > 0 && !math.IsInf(v, 0) && decimals >= digits-firstDigit(v):
		return fmt.Sprintf("%.*f", min(decimals, mostDecimals), v) + unit
	case v >= 999.5:
		return fmt.Sprintf("%.0f", v) + unit
	}
	return fmt.Sprintf("%.*g", digits, v) + unit
}

// side prints what one side of a contest took: a digit more, for those who divide it by the other's.
func side(v float64) string {
	if v >= 1e6 && v < 999.5e6 {
		return fmt.Sprintf("%.*gM", digits+1, v/1e6)
	}
	if v >= 999.5 {
		return number(v, noDecimals)
	}
	return fmt.Sprintf("%.*g", digits+1, v)
}
