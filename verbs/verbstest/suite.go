package verbstest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// This file is the list of tests, and how they are run.

// Test is one promise of the contract.
type Test struct {
	Name     string
	Contract string     // the sentence that it holds
	Needs    Capability // of the lab; without it the test is skipped
	Run      func(*T)
}

// TB is the part of testing.TB that tests use, so that they can also be run where they must fail.
type TB interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any) // ends the calling goroutine
	Skipf(format string, args ...any)  // ends the calling goroutine
}

// Options choose what Run runs. The zero value is everything.
type Options struct {
	Only []string // names of tests; nil: all
}

// Tests returns the suite, in the order in which a reader would want to learn it.
func Tests() []Test {
	return slices.Concat(dataTests, orderTests, queueTests, gateTests, revokeTests, windowTests, lendTests, errorTests, resetTests, closeTests,
		deathTests, killTests, stopTests, atomicTests, poolTests, chainTests, wakeTests, argumentTests, scaleTests)
}

// Run runs the suite as subtests. It makes a new lab for each of them.
func Run(t *testing.T, lab func(TB) Lab, options Options) {
	for _, test := range Tests() {
		if options.Only == nil || slices.Contains(options.Only, test.Name) {
			t.Run(test.Name, func(t *testing.T) { run(t, lab, test) })
		}
	}
}

func run(tb TB, lab func(TB) Lab, test Test) {
	tb.Helper()
	t := &T{TB: tb, lab: lab(tb)}
	defer t.finish()
	t.can = t.lab.Capabilities()
	if missing := t.can.missing(test.Needs); missing != 0 {
		tb.Skipf("the lab has not: %v", missing)
	}
	test.Run(t)
}

// Verdict is how a test has gone.
type Verdict struct {
	Passed bool // a test that was skipped has passed, too
	Hung   bool // something that was waited for did not come within the lab's limit: the provider hangs, or is slow
	Log    string
}

// Outcome runs one test and says how it has gone. It is for labs that lie, where tests must fail.
func Outcome(lab func(TB) Lab, name string) Verdict {
	i := slices.IndexFunc(Tests(), func(t Test) bool { return t.Name == name })
	if i < 0 {
		return Verdict{Log: fmt.Sprintf("there is no test %q", name)}
	}
	r := &recorder{name: name, done: make(chan struct{})}
	go r.runTest(lab, Tests()[i])
	<-r.done
	return Verdict{Passed: !r.failed, Hung: r.hung, Log: r.log.String()}
}

// recorder is a TB that writes down what happens.
type recorder struct {
	name   string
	failed bool
	hung   bool
	log    strings.Builder
	done   chan struct{}
}

// runTest runs a test in a goroutine of its own, which Fatalf and Skipf may end. Outcome waits for it.
func (r *recorder) runTest(lab func(TB) Lab, test Test) {
	defer close(r.done)
	run(r, lab, test)
}

func (r *recorder) Helper()      {}
func (r *recorder) Name() string { return r.name }

func (r *recorder) Logf(format string, args ...any) { fmt.Fprintf(&r.log, format+"\n", args...) }

func (r *recorder) Errorf(format string, args ...any) {
	r.failed = true
	r.hung = r.hung || slices.ContainsFunc(args, isHang)
	r.Logf(format, args...)
}

func isHang(arg any) bool {
	err, ok := arg.(error)
	return ok && errors.Is(err, ErrHang)
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skipf(format string, args ...any) {
	r.Logf("skipped: "+format, args...)
	runtime.Goexit()
}
