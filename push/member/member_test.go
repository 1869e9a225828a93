package member

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Two streams come to all, whatever the algorithm; pages are filled once and in order.
func TestTwoStreams(t *testing.T) {
	for _, algorithm := range schedule.Algorithms() {
		for _, n := range []int{2, 3, 8} {
			t.Run(fmt.Sprintf("%v/%d", algorithm, n), func(t *testing.T) {
				p := newPush(rand.New(rand.NewPCG(1, 2)), 1000, 0, 123_456)
				m := newTeam(t, p, n, func(int) int { return 1 << 20 })
				m.form(m.plan(algorithm), 1, p.streams)
				for stream := range p.streams {
					check(t, m.ends[0].member.Send(m.ctx, stream))
					for _, e := range m.ends {
						if v := e.await(m.ctx, Completed, stream); v == nil || v.Kind != Completed || v.Epoch != 1 {
							t.Fatalf("member %d: %+v", e.rank, v)
						}
						if !e.member.Have(stream).Full() {
							t.Errorf("member %d has %d blocks", e.rank, e.member.Have(stream).Count())
						}
					}
					m.compare(stream)
				}
				m.endAll()
				if filled := m.ends[0].disk.filled[1]; !slices.Equal(filled, upTo(p.streams[1].Pages())) {
					t.Errorf("pages were filled in the order %v", filled)
				}
			})
		}
	}
}

func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// Pages are filled in order, whatever is asked for first: whoever reads the source may count on it.
func TestPagesInOrder(t *testing.T) {
	p := newPush(rand.New(rand.NewPCG(1, 2)), 1000, 100_000)
	m := newTeam(t, p, 2, func(int) int { return 1 << 20 })
	m.form(m.plan(schedule.Chain), 1, p.streams)
	s, err := m.ends[0].member.present("test")
	check(t, err)
	for isHere := false; !isHere; {
		check(t, s.do(m.ctx, func() error { isHere = s.store.prepare(key{0, 40}, true); return nil }))
		check(t, s.do(m.ctx, func() error { s.take(); return nil }))
	}
	m.endAll()
	if filled := m.ends[0].disk.filled[0]; len(filled) < 2 || !slices.Equal(filled, upTo(len(filled))) { // the last may not have begun
		t.Errorf("pages were filled in the order %v", filled)
	}
}
