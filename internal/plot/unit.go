package plot

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// scale is a unit in a size that suits a number.
type scale struct {
	factor float64
	name   string
}

// scales are the units that have sizes, the largest first.
var scales = map[string][]scale{
	"":        {{1e9, "billion"}, {1e6, "million"}, {1, ""}},
	"s":       {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}},
	"bits/s":  {{1e12, "Tbit/s"}, {1e9, "Gbit/s"}, {1e6, "Mbit/s"}, {1e3, "kbit/s"}, {1, "bit/s"}},
	"bytes/s": {{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}},
	"bytes":   {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}},
	"ratio":   {{1, "×"}},
}

// binaryBytes are for sizes that are whole in them, and not in powers of ten.
var binaryBytes = []scale{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}}

// scalesOf finds the sizes of a unit for some values. A unit that is not known is a word behind the number.
func scalesOf(unit string, values []float64) []scale {
	known, ok := scales[unit]
	switch {
	case !ok:
		return []scale{{1, unit}}
	case unit == "bytes" && isBinary(values):
		return binaryBytes
	}
	return known
}

// fit is the largest scale that a value reaches.
func fit(scales []scale, value float64) scale {
	for _, s := range scales {
		if math.Abs(value) >= s.factor*(1-1e-9) {
			return s
		}
	}
	return scales[len(scales)-1]
}

// isBinary reports whether sizes are rather KiB and MiB than kB and MB.
func isBinary(values []float64) bool {
	whole := func(scales []scale) func(float64) bool {
		return func(v float64) bool { q := 4 * v / fit(scales, v).factor; return q == math.Trunc(q) }
	}
	decimal, binary := whole(scales["bytes"]), whole(binaryBytes)
	return slices.ContainsFunc(values, func(v float64) bool { return !decimal(v) }) &&
		!slices.ContainsFunc(values, func(v float64) bool { return !binary(v) })
}

// worded prints a value in the unit's size that suits it, with so many digits unless it is a whole number.
func worded(scales []scale, value float64, digits int) string {
	s := fit(scales, value)
	if value == 0 {
		return "0"
	}
	return strings.TrimSpace(plain(value/s.factor, digits) + " " + s.name)
}

// plain prints a number without exponent and without zeros at its end. Whole numbers keep all their digits.
func plain(v float64, digits int) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e9 {
		return inThousands(strconv.FormatFloat(v+0, 'f', 0, 64))
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	if err != nil {
		return "?" // it prints what it can read
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// inThousands puts narrow spaces into a whole number of more than four digits.
func inThousands(digits string) string {
	if len(strings.TrimPrefix(digits, "-")) < 5 {
		return digits
	}
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "\u202f" + digits[at:]
	}
	return digits
}
