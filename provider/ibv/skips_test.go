package ibv_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/weft-fabric/weft/verbs/verbstest"
)

// skipsFile lists the tests that real devices skip, for people. It is compared with what the labs declare.
const skipsFile = "../../docs/rdma-skips.md"

// skips are the lines of a lab's table: a test is skipped exactly when its lab has not what it needs.
func skips(has verbstest.Capability) (list []string) {
	for _, test := range verbstest.Tests() {
		if missing := test.Needs &^ has; missing != 0 {
			list = append(list, fmt.Sprintf("| %s | %v |", test.Name, missing))
		}
	}
	return list
}

func TestSkipsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(skipsFile)
	if err != nil {
		t.Fatal(err)
	}
	documented := func(title string) (list []string) {
		section := regexp.MustCompile(`(?s)## ` + title + `\n(.*?)(\n## |$)`).FindSubmatch(text)
		if section == nil {
			t.Fatalf("%s has no section %q", skipsFile, title)
		}
		for _, row := range regexp.MustCompile(`(?m)^\| [A-Z]\w+ \| .* \|$`).FindAll(section[1], -1) {
			list = append(list, string(row))
		}
		return list
	}
	for _, c := range []struct {
		title string
		has   verbstest.Capability
	}{{"Between processes", inProcesses}, {"Between devices of one process", inProcess}, {"Between two machines", onTheWire}} {
		want := skips(c.has)
		if got := documented(c.title); !slices.Equal(got, want) {
			t.Errorf("%s, %q: it has\n%q\nand the suite skips\n%q", skipsFile, c.title, got, want)
		}
	}
}
