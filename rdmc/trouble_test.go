package rdmc

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Whatever becomes of one or two members, whenever: each of the others has all messages, or hears once of somebody who is
// gone; and all can close.
func TestTroubles(t *testing.T) {
	seeds := uint64(2000)
	if testing.Short() {
		seeds = 300
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { trouble(t, rand.New(rand.NewPCG(seed, 7))) })
	}
}

func trouble(t *testing.T, random *rand.Rand) {
	r := &rig{t: t, memory: 1 << 16}
	members := 2 + random.IntN(7)
	algorithm := schedule.Algorithms()[random.IntN(5)] // those without racks
	r.form(Config{Name: "g", Members: names(members), Algorithm: algorithm, BlockSize: 256, Stall: time.Second})
	messages := 1 + random.IntN(3)
	for range messages {
		size := uint64(random.IntN(15_000))
		_, err := r.members[0].group.Send(r.members[0].fill(size), size)
		check(t, err)
	}
	gone := map[int]string{}
	for range 1 + random.IntN(2) {
		r.pass(time.Duration(random.IntN(40_000)))
		if rank := random.IntN(members); gone[rank] == "" {
			gone[rank] = r.remove(rank, random.IntN(3))
		}
	}
	r.pass(30 * time.Second)
	for _, m := range r.members {
		if !m.crashed {
			check(t, m.group.Close())
			r.expectAnEnd(m, messages, fmt.Sprintf("%v, %v", algorithm, gone), func(rank int) bool { return gone[rank] != "" })
		}
	}
	r.run("closed", func(m *member) bool { return m.closed == 1 })
}

// remove has a member crash, close, or stand still, and says which.
func (r *rig) remove(rank, how int) string {
	m := r.members[rank]
	switch how {
	case 0:
		r.crash(rank)
		return "crashes"
	case 1:
		check(r.t, m.group.Close())
		m.crashed = true
		return "closes"
	default:
		m.queue.Drive(nil)
		m.crashed = true
		return "stands still"
	}
}

func (r *rig) expectAnEnd(m *member, messages int, what string, gone func(rank int) bool) {
	r.t.Helper()
	switch {
	case len(m.failures) == 0 && len(m.completed) < messages:
		r.t.Errorf("%s: member %d hears nothing\n%s", what, m.rank, r.describe())
	case len(m.failures) > 1 || len(m.late) > 0:
		r.t.Errorf("%s: member %d heard %v, late calls %v", what, m.rank, m.failures, m.late)
	case len(m.failures) == 1 && !gone(m.failures[0].Rank):
		r.t.Errorf("%s: member %d names %v", what, m.rank, m.failures[0])
	}
}
