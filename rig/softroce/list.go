package main

import (
	"fmt"
	"strings"
)

// entry is one line of the list of tests.
type entry struct {
	pkg      string // as in "./provider/ibv"
	machines int    // 1 or 2
	flags    []string
}

// Limits of a list.
const (
	maxList    = 1 << 20 // bytes
	maxEntries = 100
)

// parseList reads a list of tests. A line is the path of a package, then perhaps machines=2, then flags for the test binary,
// which hold no spaces. Empty lines and those that begin with # are for people.
func parseList(text string) ([]entry, error) {
	if len(text) > maxList {
		return nil, fmt.Errorf("the list has %d bytes, more than %d", len(text), maxList)
	}
	var list []entry
	number := 0
	for line := range strings.Lines(text) {
		number++
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		e, err := parseEntry(words)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if list = append(list, e); len(list) > maxEntries {
			return nil, fmt.Errorf("line %d: there are more than %d entries", number, maxEntries)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the list has no entry")
	}
	return list, nil
}

func parseEntry(words []string) (entry, error) {
	e := entry{pkg: words[0], machines: 1}
	if !strings.HasPrefix(e.pkg, "./") {
		return e, fmt.Errorf("%q is no package of this tree; it would begin with ./", e.pkg)
	}
	for _, word := range words[1:] {
		switch {
		case word == "machines=1" || word == "machines=2":
			e.machines = int(word[len(word)-1] - '0')
		case strings.HasPrefix(word, "-test."):
			e.flags = append(e.flags, word)
		default:
			return e, fmt.Errorf("%q is neither machines=2 nor a flag of a test binary, -test.…", word)
		}
	}
	return e, nil
}
