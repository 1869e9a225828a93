package main

import (
	"slices"
	"strings"
	"testing"
)

func verdictOf(text string) *verdict {
	v := &verdict{}
	for line := range strings.Lines(text) {
		v.read(strings.TrimSuffix(line, "\n"))
	}
	return v
}

// parentOnly is what a test binary writes if a test passes that consists of skipped ones.
const parentOnly = `=== RUN   TestSuite
=== RUN   TestSuite/Atomic
    suite.go:12: the device has no atomics
=== RUN   TestSuite/Inline
--- PASS: TestSuite (0.00s)
    --- SKIP: TestSuite/Atomic (0.00s)
    --- SKIP: TestSuite/Inline (0.00s)
PASS
`

func TestSkippedSuiteIsNoPass(t *testing.T) {
	v := verdictOf(parentOnly)
	if err := v.judge(0); err == nil || !strings.Contains(err.Error(), "2 were skipped") {
		t.Errorf("the verdict is %v", err)
	}
	want := []string{"TestSuite/Atomic: the device has no atomics", "TestSuite/Inline: it does not say why"}
	if got := v.skips(); !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

func TestJudge(t *testing.T) {
	for text, want := range map[string]string{
		"--- PASS: TestA (0.00s)\nPASS\n":                                    "",
		"testing: warning: no tests to run\nPASS\n":                          "no test has passed",
		"--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\n":           "failed: TestB",
		"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/x (0.00s)\nFAIL\n":     "failed: TestA/x",
		"=== NAME  TestA\n    a_test.go:1: --- PASS: TestB (0s)\nPASS\n":     "no test has passed",
		parentOnly + "--- PASS: TestB (0.00s)\n":                             "",
		"--- PASS: TestA (0.00s)\n--- PASS: TestA/x (0.00s)\nok (nothing)\n": "",
	} {
		status := strings.Count(text, "FAIL\n")
		err := verdictOf(text).judge(status)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s\nthe verdict is %v, not %q", text, err, want)
		}
	}
	if err := verdictOf("--- PASS: TestA (0.00s)\n").judge(2); err == nil {
		t.Error("a binary that panics at its end passes")
	}
}

func FuzzVerdict(f *testing.F) {
	f.Add(parentOnly)
	f.Fuzz(func(t *testing.T, text string) {
		v := verdictOf(text)
		if err := v.judge(0); err == nil && !strings.Contains(text, "--- PASS: ") {
			t.Error("it passes, though nothing passed")
		}
		if len(v.skips()) > strings.Count(text, "--- SKIP: ") {
			t.Errorf("%q", v.skips())
		}
	})
}
