package hosts

import (
	"fmt"
	"strconv"
	"strings"
)

// maxDigits is how long a number in a range may be.
const maxDigits = 18

// expand writes out the ranges of an item, which may stand for at most so many hosts. The last range changes fastest.
func expand(item string, limit int) ([]string, error) {
	before, inside, after, found, err := cutRange(item)
	if err != nil {
		return nil, err
	}
	if !found {
		if limit < 1 {
			return nil, tooMany(item)
		}
		return []string{item}, nil
	}
	numbers, err := parseRanges(item, inside, limit)
	if err != nil {
		return nil, err
	}
	tails, err := expand(after, limit/len(numbers))
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(numbers)*len(tails))
	for _, number := range numbers {
		for _, tail := range tails {
			out = append(out, before+number+tail)
		}
	}
	return out, nil
}

func tooMany(item string) error {
	return fmt.Errorf("%w: with %q there are more than %d", ErrList, item, MaxHosts)
}

// cutRange finds the first brackets that are not those of an address.
func cutRange(item string) (before, inside, after string, found bool, err error) {
	for at := 0; ; {
		open := strings.IndexByte(item[at:], '[')
		if open < 0 {
			return item, "", "", false, nil
		}
		open += at
		end := strings.IndexByte(item[open:], ']')
		if end < 0 {
			return "", "", "", false, fmt.Errorf("%w: %q: a bracket is not closed", ErrList, item)
		}
		end += open
		if inside = item[open+1 : end]; !strings.Contains(inside, ":") {
			return item[:open], inside, item[end+1:], true, nil
		}
		at = end + 1
	}
}

// parseRanges reads 01-04,07.
func parseRanges(item, inside string, limit int) (numbers []string, err error) {
	for part := range strings.SplitSeq(inside, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		low, ok1 := number(first)
		high, ok2 := number(last)
		if !ok1 || !ok2 || low > high {
			return nil, fmt.Errorf("%w: %q: in brackets are numbers and ranges as in [01-04,07], the lower first", ErrList, item)
		}
		if high-low >= uint64(max(limit-len(numbers), 0)) {
			return nil, tooMany(item)
		}
		for n := low; n <= high; n++ {
			numbers = append(numbers, padded(n, len(first)))
		}
	}
	return numbers, nil
}

// number reads decimal digits only.
func number(text string) (uint64, bool) {
	if text == "" || len(text) > maxDigits || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

// padded writes a number with at least so many digits.
func padded(n uint64, width int) string { return fmt.Sprintf("%0*d", width, n) }
