package rdmc

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Whatever becomes of a member while the group is formed: the others are ready and hear of it with the next message, or
// hear of it at once. Nobody waits for ever, but for one who never came: who forms the group bounds that.
func TestTroubleWhileForming(t *testing.T) {
	for _, algorithm := range []schedule.Algorithm{schedule.Pipeline, schedule.Circulant, schedule.Chain, schedule.Tree} {
		for how := range 3 {
			for after := time.Duration(0); after < 12*time.Microsecond; after += 500 * time.Nanosecond {
				t.Run(fmt.Sprint(algorithm, how, after), func(t *testing.T) { formWithTrouble(t, algorithm, how, after) })
			}
		}
	}
}

func formWithTrouble(t *testing.T, algorithm schedule.Algorithm, how int, after time.Duration) {
	r := &rig{t: t, memory: 1 << 12}
	r.open(Config{Name: "g", Members: names(5), Algorithm: algorithm, BlockSize: 64, Stall: time.Second})
	r.connect()
	r.pass(after)
	what := r.remove(1, how)
	r.pass(10 * time.Second)
	_, _ = r.members[0].group.Send(r.members[0].fill(1000), 1000)
	r.pass(10 * time.Second)
	for _, m := range r.members {
		if !m.crashed {
			check(t, m.group.Close())
			r.expectAnEnd(m, 1, what, func(rank int) bool { return rank == 1 })
		}
	}
	r.run("closed", func(m *member) bool { return m.closed == 1 })
}

// A group that is connected and has not begun does nothing, and costs the others only time: they are as far as they can be
// without it.
func TestBegin(t *testing.T) {
	const late = 2
	for _, first := range []bool{false, true} { // Begin comes before all are connected
		r := &rig{t: t, memory: 1 << 12}
		connected := 0
		r.change = func(rank int, c *Config) {
			if rank == late {
				c.Connected = func() { connected++ }
			}
		}
		r.open(Config{Name: "g", Members: names(4), BlockSize: 64})
		m := r.members[late]
		if first {
			m.group.Begin()
		}
		if got := m.group.Unconnected(); !slices.Equal(got, m.group.Peers()) {
			t.Errorf("unconnected are %v of %v", got, m.group.Peers())
		}
		r.connect()
		r.pass(time.Second)
		if got := m.group.Unconnected(); got != nil {
			t.Errorf("unconnected are still %v", got)
		}
		if connected != 1 || m.ready == 1 != first {
			t.Fatalf("begun: %t; Connected was called %d times, Ready %d times", first, connected, m.ready)
		}
		_, err := r.members[0].group.Send(r.members[0].fill(1000), 1000)
		check(t, err)
		r.pass(10 * time.Second)
		if !first && len(m.incoming)+len(m.completed) > 0 {
			t.Errorf("it has heard of %v before it began", m.incoming)
		}
		m.group.Begin()
		r.run("complete", func(m *member) bool { return len(m.completed) == 1 })
	}
}
