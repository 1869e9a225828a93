package hosts

import (
	"cmp"
	"slices"
	"strings"
)

// Fold writes names of hosts as a short list: node[01-03,07],other. Parse reads it again.
func Fold(names []string) string {
	items := make([]pattern, 0, len(names))
	most := 0
	for _, name := range names {
		p := patternOf(name)
		items, most = append(items, p), max(most, len(p)/2)
	}
	slices.SortFunc(items, compare)
	items = slices.CompactFunc(items, slices.Equal)
	for fromEnd := range most {
		items = foldAt(items, fromEnd)
	}
	texts := make([]string, len(items))
	for i, p := range items {
		texts[i] = strings.Join(p, "")
	}
	return strings.Join(texts, ",")
}

// pattern is a name, cut into text and numbers in turn, beginning and ending with text, which may be empty. A number may have become
// ranges in brackets.
type pattern []string

func patternOf(name string) pattern {
	if strings.Contains(name, "[") || strings.Count(name, ":") > 1 {
		return pattern{name} // an address of IPv6: its brackets and numbers mean something else
	}
	var p pattern
	for name != "" {
		digit := strings.IndexFunc(name, isDigit)
		if digit < 0 {
			break
		}
		end := digit + len(name[digit:]) - len(strings.TrimLeft(name[digit:], "0123456789"))
		p, name = append(p, name[:digit], name[digit:end]), name[end:]
	}
	return append(p, name)
}

// compare orders names as people do: numbers by their value.
func compare(a, b pattern) int {
	for i := range min(len(a), len(b)) {
		if c := comparePart(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func comparePart(a, b string) int {
	n, ok1 := number(a)
	m, ok2 := number(b)
	if ok1 && ok2 && n != m {
		return cmp.Compare(n, m)
	}
	return cmp.Compare(a, b)
}

// foldAt joins patterns that differ only in one number: that which has so many numbers behind it.
func foldAt(items []pattern, fromEnd int) []pattern {
	var out []pattern
	groups := map[string]int{} // where in out a group is
	numbers := map[int][]string{}
	for _, p := range items {
		at := len(p) - 2 - 2*fromEnd
		if _, ok := number(p[max(at, 0)]); !ok {
			out = append(out, p)
			continue
		}
		key := strings.Join(p[:at], "") + "\x00" + strings.Join(p[at+1:], "")
		group, known := groups[key]
		if !known {
			group = len(out)
			groups[key], out = group, append(out, slices.Clone(p))
		}
		numbers[group] = append(numbers[group], p[at])
	}
	for group, list := range numbers {
		p := out[group]
		p[len(p)-2-2*fromEnd] = ranges(list)
	}
	return out
}

// ranges writes numbers as 01-03,07 in brackets; a single one as it is.
func ranges(list []string) string {
	slices.SortFunc(list, comparePart)
	if list = slices.Compact(list); len(list) == 1 {
		return list[0]
	}
	var parts []string
	for len(list) > 0 {
		n := runLength(list)
		part := list[0]
		if n > 1 {
			part += "-" + list[n-1]
		}
		parts, list = append(parts, part), list[n:]
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// runLength is how many numbers at the beginning of a list are one range.
func runLength(list []string) int {
	low, ok := number(list[0])
	n := 1
	for ok && n < len(list) && list[n] == padded(low+uint64(n), len(list[0])) {
		n++
	}
	return n
}
