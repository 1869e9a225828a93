package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/push"
)

// rackedFleet starts two agents in each of some racks. The rack is a part of their names.
func rackedFleet(t *testing.T, racks, size int) *fleet {
	t.Helper()
	f := fleetOf(t, size)
	for i := range 2 * racks {
		f.agents = append(f.agents, &fleetAgent{name: fmt.Sprintf("127.0.%d.%d", 1+i/2, 1+i%2)})
	}
	return f.equip().launch()
}

// With an algorithm that knows racks, whoever has said which there are, each rack but the first is sent everything once. Others send more.
func TestPushAcrossRacks(t *testing.T) {
	t.Parallel()
	f := rackedFleet(t, 3, 4<<20)
	file := filepath.Join(t.TempDir(), "racks")
	put(t, file, "left: 127.0.1.[1-2]\nmiddle: 127.0.2.[1-2]\n127.0.3.1 right\n127.0.3.2 right\n")
	const expression = `127\.0\.(\d)\.`
	for _, c := range []struct {
		racks, algorithm string
		copies           float64 // of the content, from rack to rack
	}{
		{expression, "pipeline", 5},
		{file, "rack-pipeline", 2},
		{expression, "rack-stripes", 2},
		{expression, "rack-chain", 2},
	}[:long(3, 4)] {
		r := f.push("--racks", c.racks, "--algorithm", c.algorithm).end(push.ExitOK)
		f.clean(r)
		for what, bytes := range map[string]uint64{"the plan": r.Plan.CrossBytes, "the report": r.CrossBytes} {
			if copies := float64(bytes) / float64(f.layout().WireSize()); copies < c.copies || copies > c.copies+0.05 || r.Plan.Racks != 3 || r.Plan.Algorithm != c.algorithm {
				t.Errorf("%s, %+v: %s has %.2f copies", c.algorithm, r.Plan, what, copies)
			}
		}
		for _, a := range f.agents {
			a.forget(t)
		}
	}
	status, said := f.plainly(append(f.pushLine(), "--racks", file, "--algorithm", "rack-pipeline")...)
	twice := units.Bytes(2 * f.layout().WireSize())
	for _, want := range []string{"racks      3, this host in left; " + twice + " go from one to another\n", "racks      " + twice + " went from one rack to another\n"} {
		if status != push.ExitOK || !strings.Contains(said, want) {
			t.Errorf("status %d, no %q: %s", status, want, said)
		}
	}
	_, said = f.plainly(append(append([]string{"explain"}, f.pushLine()[1:]...), "--racks", file, "--algorithm", "rack-pipeline")...)
	if want := "8 transfers between racks, at least 8"; !strings.Contains(said, want) || !strings.Contains(said, "member 6, rack 2") {
		t.Errorf("no %q: %s", want, said)
	}
}
