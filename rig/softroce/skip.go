package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// skip says which tests may skip themselves, and why. A test that begins to skip itself would otherwise go unnoticed: what it
// tested is tested no more, and the run is green.
type skip struct {
	Test   string // a regular expression for the whole name
	Reason string // how the reason begins
}

func parseSkip(words []string) (skip, error) {
	if len(words) < 2 {
		return skip{}, errors.New("skip needs a pattern of tests, and how their reason begins")
	}
	s := skip{Test: words[0], Reason: strings.Join(words[1:], " ")}
	if _, err := s.pattern(); err != nil {
		return s, fmt.Errorf("skip %s: %w", s.Test, err)
	}
	return s, nil
}

func (s skip) pattern() (*regexp.Regexp, error) { return regexp.Compile("^(?:" + s.Test + ")$") }

// allows reports whether a test may skip itself for a reason.
func (s skip) allows(test, reason string) bool {
	pattern, err := s.pattern()
	return err == nil && pattern.MatchString(test) && strings.HasPrefix(reason, s.Reason)
}

// judgeSkips returns why tests should not have been skipped, or nil, and what was allowed in vain.
func (v *verdict) judgeSkips(allowed []skip) (vain []skip, err error) {
	used := make([]bool, len(allowed))
	var bad []error
	for _, test := range v.which("SKIP") {
		isAllowed := false
		for i, s := range allowed {
			if s.allows(test, v.reason(test)) {
				isAllowed, used[i] = true, true
			}
		}
		if !isAllowed {
			bad = append(bad, fmt.Errorf("%s skipped itself, and no skip line of the list allows that: %s", test, v.reason(test)))
		}
	}
	for i, s := range allowed {
		if !used[i] {
			vain = append(vain, s)
		}
	}
	return vain, errors.Join(bad...)
}
