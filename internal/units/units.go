// Package units reads and prints numbers as people write them: sizes as 256MB or 1MiB, lists and ranges of sizes, and
// measured values with no more digits than were measured.
package units

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes.
type Size int64

// What sizes are counted in.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
)

// unit is a word behind a number, and how many bytes it stands for.
type unit struct {
	name  string
	bytes Size
}

// sizeUnits are all units, the largest first. Binary ones stand before decimal ones of about the same size.
var sizeUnits = []unit{
	{"TiB", 1 << 40}, {"TB", 1e12}, {"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", MiB}, {"MB", 1e6}, {"KiB", KiB}, {"kB", 1e3}, {"B", 1},
}

// ErrSize is what ParseSize and ParseSizes fail with if a text is no size.
var ErrSize = errors.New("no size: write it as 8, 64KiB, 1.5MiB or 256MB")

// ParseSize reads a size: a number and, if it is not in bytes, a unit (kB, MB, GB, TB or KiB, MiB, GiB, TiB). Spaces
// between them and small or capital letters do not matter.
func ParseSize(text string) (Size, error) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	u, known := findUnit(text[len(digits):])
	if !known {
		return 0, fmt.Errorf("%q: there is no unit %q: %w", text, text[len(digits):], ErrSize)
	}
	size, exact := scale(strings.TrimRight(digits, " "), u.bytes)
	if !exact {
		return 0, fmt.Errorf("%q: %w", text, ErrSize)
	}
	return size, nil
}

func findUnit(name string) (unit, bool) {
	for _, u := range sizeUnits {
		if strings.EqualFold(name, u.name) {
			return u, true
		}
	}
	return unit{"B", 1}, name == ""
}

// maxDecimals is how many digits may stand behind the point: enough for every size that has a name.
const maxDecimals = 6

// scale multiplies a decimal number with the bytes of its unit. It is not exact if text is no number, or the product not
// a whole number of bytes, or too large.
func scale(text string, bytes Size) (product Size, exact bool) {
	whole, decimals, point := strings.Cut(text, ".")
	if !isDigits(whole) || point && !isDigits(decimals) || len(decimals) > maxDecimals {
		return 0, false
	}
	number, err := strconv.ParseInt(whole+decimals, 10, 64)
	if err != nil || number > math.MaxInt64/int64(bytes) {
		return 0, false
	}
	power := Size(math.Pow10(len(decimals)))
	product = Size(number) * bytes
	return product / power, product%power == 0
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// String prints the size exactly, in the largest unit that divides it: ParseSize reads it again.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if s >= u.bytes && s%u.bytes == 0 {
			return fmt.Sprintf("%d %s", s/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%d B", int64(s))
}

// ParseSizes reads sizes with commas between them. A range such as 1KiB..1MiB stands for its first size, twice that, four
// times that, and so on up to its last, which is always one of them.
func ParseSizes(text string) ([]Size, error) {
	var all []Size
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "..")
		from, err := ParseSize(first)
		if err != nil {
			return nil, err
		}
		to := from
		if isRange {
			if to, err = ParseSize(last); err != nil {
				return nil, err
			}
		}
		switch {
		case from < 1:
			return nil, fmt.Errorf("%q: sizes begin at 1", part)
		case to < from:
			return nil, fmt.Errorf("%q: a range goes upwards: write %s..%s", part, last, first)
		}
		all = append(all, Doubling(from, to)...)
	}
	return all, nil
}

// Doubling returns from, twice that, and so on up to to, which is the last one. Both are at least 1.
func Doubling(from, to Size) []Size {
	var all []Size
	for ; from < to; from *= 2 {
		all = append(all, from)
		if from > math.MaxInt64/2 {
			break
		}
	}
	return append(all, to)
}

// Digits prints a measured value with three significant digits and no exponent: 0.187, 12.4, 1230. What is smaller than
// a millionth is zero.
func Digits(value float64) string {
	size := math.Abs(value)
	switch {
	case math.IsNaN(value) || math.IsInf(value, 0):
		return "–"
	case size < 1e-6:
		return "0"
	}
	first := int(math.Floor(math.Log10(size))) // the power of ten of the first digit
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(value, 'e', 2, 64), 64)
	if math.Abs(rounded) >= math.Pow10(first+1) {
		first++ // 9.999 is 10.0, not 10.00
	}
	return strconv.FormatFloat(rounded, 'f', max(0, 2-first), 64)
}

// Bytes prints about how many there are, for people: 17 B, 3.15 MB.
func Bytes(n uint64) string {
	switch {
	case n >= 1e9:
		return Digits(float64(n)/1e9) + " GB"
	case n >= 1e6:
		return Digits(float64(n)/1e6) + " MB"
	case n >= 1e3:
		return Digits(float64(n)/1e3) + " kB"
	}
	return fmt.Sprintf("%d B", n)
}

// Seconds prints a time that was measured, with three significant digits: 881 ns, 187 µs, 12.4 ms, 1230 s.
func Seconds(s float64) string {
	switch {
	case s == 0:
		return "0"
	case s < 1e-6:
		return Digits(s*1e9) + " ns"
	case s < 1e-3:
		return Digits(s*1e6) + " µs"
	case s < 1:
		return Digits(s*1e3) + " ms"
	}
	return Digits(s) + " s"
}
