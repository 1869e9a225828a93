package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// verdict reads what a test binary writes with -test.v, and keeps how its tests ended. It knows names up to a limit, and
// forgets the others.
type verdict struct {
	ends    map[string]string // PASS, FAIL or SKIP of a test, by its name
	remarks map[string]string // what a test said last: for one that was skipped, why
	current string            // the test that writes
}

const maxNames = 10_000

var (
	endLine    = regexp.MustCompile(`^ *--- (PASS|FAIL|SKIP): (\S+) \(`)
	nameLine   = regexp.MustCompile(`^=== (?:RUN|NAME|CONT) +(\S+)$`)
	remarkLine = regexp.MustCompile(`^ +\S+\.go:\d+: (.+)$`)
)

// read takes one line of output, without its end.
func (v *verdict) read(line string) {
	if v.ends == nil {
		v.ends, v.remarks = make(map[string]string), make(map[string]string)
	}
	if m := nameLine.FindStringSubmatch(line); m != nil {
		v.current = m[1]
	} else if m := remarkLine.FindStringSubmatch(line); m != nil && len(v.remarks) < maxNames {
		v.remarks[v.current] = m[1]
	} else if m := endLine.FindStringSubmatch(line); m != nil && len(v.ends) < maxNames {
		v.ends[m[2]] = m[1]
	}
}

// which returns the names of the tests that ended so, sorted. A test that consists of others does not count: it passes also
// when all of them were skipped.
func (v *verdict) which(end string) []string {
	parents := make(map[string]bool)
	for name := range v.ends {
		for i, c := range name {
			if c == '/' {
				parents[name[:i]] = true
			}
		}
	}
	var names []string
	for name, e := range v.ends {
		if e == end && !parents[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// skips lists the tests that were skipped, with their reasons.
func (v *verdict) skips() []string {
	var lines []string
	for _, name := range v.which("SKIP") {
		lines = append(lines, name+": "+v.reason(name))
	}
	return lines
}

// reason is why a test was skipped.
func (v *verdict) reason(test string) string { return cmp.Or(v.remarks[test], "it does not say why") }

// judge returns why a binary that ended with a status has failed, or nil. One that tested nothing has failed, too.
func (v *verdict) judge(status int) error {
	if failed := v.which("FAIL"); len(failed) > 0 {
		return fmt.Errorf("failed: %s", strings.Join(failed, " "))
	}
	if status != 0 {
		return fmt.Errorf("the tests ended with exit status %d", status)
	}
	if len(v.which("PASS")) == 0 {
		return fmt.Errorf("no test has passed: %d were skipped, and nothing was tested", len(v.which("SKIP")))
	}
	return nil
}
