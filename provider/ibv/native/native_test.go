package native

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

// Our declarations lie as the real headers do. Where there are none, the Soft-RoCE rig has installed them.
func TestLayout(t *testing.T) {
	if _, err := os.Stat("/usr/include/infiniband/verbs.h"); err != nil {
		t.Skip("libibverbs-dev is not installed: make test-roce installs it and runs this")
	}
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc: make test-roce installs it and runs this")
	}
	if text, err := exec.Command(compiler, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "testdata/layout.c").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// Load either works or says what is missing; twice is the same.
func TestLoad(t *testing.T) {
	first := Load()
	if second := Load(); !errors.Is(second, first) {
		t.Errorf("first %v, then %v", first, second)
	}
	t.Logf("libibverbs: %v", first)
}

// Whoever forgets Load gets an error for a device that is not there, not a crash.
func TestOpenLoads(t *testing.T) {
	if c, err := Open("no such device"); err == nil {
		t.Errorf("it opened %v", c)
	}
}

// What one call into C costs.
func BenchmarkCall(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Nothing()
	}
}
