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
	skips    []skip
	kernel   []string // complaints of the kernel that its tests provoke: parts of lines
}

// Limits of a list.
const (
	maxList    = 1 << 20 // bytes
	maxEntries = 100
	maxRemarks = 100 // on one entry
)

// parseList reads a list of tests. A line is the path of a package, then perhaps machines=2, then flags for the test binary,
// which hold no spaces; or it begins with skip or kernel, and says what the entry above it may do. Empty lines and those that
// begin with # are for people.
func parseList(text string) ([]entry, error) {
	if len(text) > maxList {
		return nil, fmt.Errorf("the list has %d bytes, more than %d", len(text), maxList)
	}
	var list []entry
	number := 0
	for line := range strings.Lines(text) {
		number++
		var err error
		if list, err = parseLine(list, strings.Fields(line)); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the list has no entry")
	}
	return list, nil
}

// parseLine adds what a line says to the list.
func parseLine(list []entry, words []string) ([]entry, error) {
	switch {
	case len(words) == 0 || words[0][0] == '#':
		return list, nil
	case words[0] != "skip" && words[0] != "kernel":
		if len(list) == maxEntries {
			return nil, fmt.Errorf("there are more than %d entries", maxEntries)
		}
		e, err := parseEntry(words)
		return append(list, e), err
	case len(list) == 0:
		return nil, fmt.Errorf("%q belongs below the package that it is about", words[0])
	}
	return list, list[len(list)-1].allow(words[0], words[1:])
}

// allow reads what an entry may do.
func (e *entry) allow(what string, words []string) error {
	if len(e.skips)+len(e.kernel) == maxRemarks {
		return fmt.Errorf("%s has more than %d lines of skip and kernel", e.pkg, maxRemarks)
	}
	if what == "kernel" {
		if len(words) == 0 {
			return fmt.Errorf("kernel needs a part of a complaint")
		}
		e.kernel = append(e.kernel, strings.Join(words, " "))
		return nil
	}
	allowed, err := parseSkip(words)
	e.skips = append(e.skips, allowed)
	return err
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
