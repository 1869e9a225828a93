package crew

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// lacking is what RDMA devices have not, by the test that needs it.
var lacking = map[string]string{"TestOffload": "chains"}

// skipsFile lists what real devices skip, for people.
const skipsFile = "../../../docs/rdma-skips.md"

// skipWithout skips a test on a lane that lacks what it needs.
func skipWithout(t *testing.T, lane string) {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	if lane == "ibv" {
		t.Skipf("the device has not: %s", lacking[name])
	}
}

// takesSeconds skips a test when time is short.
func takesSeconds(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
}

func TestSkipsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(skipsFile)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Groups between processes\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var listed, want []string
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "| Test") {
			listed = append(listed, strings.TrimSpace(line))
		}
	}
	for name, what := range lacking {
		want = append(want, fmt.Sprintf("| %s | %s |", name, what))
	}
	if slices.Sort(want); !slices.Equal(listed, want) {
		t.Errorf("%s lists %q, and skipped are %q", skipsFile, listed, want)
	}
}
