package leaktest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/internal/leak"
)

// leakVar makes this test binary, run as a child of itself, leave something behind.
const leakVar = "WEFT_LEAKTEST_CHILD"

func TestMain(m *testing.M) { Main(m) }

// TestChild does nothing but leak what its parent test asked for.
func TestChild(t *testing.T) {
	switch os.Getenv(leakVar) {
	case "":
		t.Skip("only for TestLeaksFailTheBinary")
	case "object":
		leak.Opened("door")
	case "goroutine":
		go runForever()
	}
}

// runForever is stopped by the end of the process only: it is the leak.
func runForever() { select {} }

func TestLeaksFailTheBinary(t *testing.T) {
	for _, c := range []struct {
		leak string
		code int
		says string
	}{
		{"nothing", 0, "PASS"},
		{"object", 1, "1 × door, opened by"},
		{"goroutine", 1, "runForever"},
	} {
		t.Run(c.leak, func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run=^TestChild$")
			child.Env = append(os.Environ(), fmt.Sprintf("%s=%s", leakVar, c.leak))
			out, _ := child.CombinedOutput()
			if code := child.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit status %d, want %d", code, c.code)
			}
			if !strings.Contains(string(out), c.says) {
				t.Errorf("the output lacks %q:\n%s", c.says, out)
			}
		})
	}
}
