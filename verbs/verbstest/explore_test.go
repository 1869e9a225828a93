package verbstest_test

import (
	"testing"
	"time"
	"fmt"
	"os"

	"github.com/weft-fabric/weft/provider/hook"
	"github.com/weft-fabric/weft/verbs/verbstest"
)

func TestExplore(t *testing.T) {
	var rules []hook.Rule
	var names []string
	for _, l := range hook.Lies() {
		rules = append(rules, hook.Rule{Lie: l}); names = append(names, l.String())
	}
	if os.Getenv("WHERE") == "" { t.Skip() }
	for i, r := range rules {
		for _, test := range verbstest.Tests() {
			v := verbstest.Outcome(func(tb verbstest.TB) verbstest.Lab {
				if os.Getenv("WHERE") == "sim" { return simLab(tb, r) }
				return softLab(realTime, 300*time.Millisecond, r)
			}, test.Name)
			if !v.Passed {
				h := ""; if v.Hung { h = " HUNG" }
				fmt.Println(os.Getenv("WHERE"), names[i], test.Name, h)
			}
		}
	}
}
