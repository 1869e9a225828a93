package rdmc

import (
	"fmt"
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
