package multicast

import (
	"strings"
	"testing"

	"github.com/weft-fabric/weft/bench/figure"
)

// Records say how they came about, those of earlier versions too. What a record says itself stays, and others are not ours.
func TestDescribe(t *testing.T) {
	r := newRecord("v1")
	if !strings.Contains(r.Method, "link of 200 Mbit/s") || linkRate != "200mbit" || len(r.Simulated) == 0 {
		t.Errorf("a new record: %+v", r)
	}
	for _, c := range []struct{ command, method, want string }{{command, "", method}, {command, "by hand", "by hand"}, {"weft sim paper", "", ""}} {
		r := &figure.Record{Method: c.method}
		r.Command = c.command
		if Describe(r); r.Method != c.want || (len(r.Simulated) > 0) != (c.want == method) {
			t.Errorf("%+v: %+v", c, r)
		}
	}
}
