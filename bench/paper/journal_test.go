package paper

import (
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
)

// A block goes from 0 to 1 and on to 3; then two more come, of which the last overlaps with one that 3 sends.
func TestSharesOfAMember(t *testing.T) {
	j := &journal{passages: []*passage{
		{from: 0, to: 1, started: 105, landed: 200},
		{from: 1, to: 3, started: 220, landed: 300},
		{from: 2, to: 3, started: 310, landed: 400},
		{from: 3, to: 1, started: 425, landed: 500},
		{from: 1, to: 3, started: 420, landed: 520},
	}, words: []word{{from: 3, at: 90}, {from: 1, at: 301}, {from: 3, at: 304}}}
	got := *j.shares(3, result{start: 100, at: []time.Duration{0, 0, 0, 430}})
	want := shares{remoteSetup: 5 + 20, remoteTransfers: 95 + 80, localSetup: 4, transfers: 90 + 100, waiting: 6 + 20 + 10, total: 430}
	if got != want {
		t.Errorf("shares are %+v, want %+v", got, want)
	}
}

func TestStepsOfAMember(t *testing.T) {
	got := steps([]*passage{{started: 150, landed: 200}, {started: 110, landed: 140}, {started: 190, landed: 250}}, clock.Time(100))
	want := []step{{30, 10}, {50, 10}, {60, 0}}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("step %d is %v, want %v", i, got[i], want[i])
		}
	}
	if longest(got) != 0 || usual(got) != (step{50, 10}) {
		t.Errorf("the longest wait near the end is %v, the usual step %v", longest(got), usual(got))
	}
}

// In every experiment that is recorded, each block comes to each receiver once, and the shares add up.
func TestJournalIsComplete(t *testing.T) {
	for _, way := range ways() {
		j, r, err := way.record(t.Context())
		check(t, err)
		for member := uint32(1); member <= farthest; member++ {
			if n := len(j.into(member)); n != 256 {
				t.Errorf("%s: %d blocks came to member %d", way.name, n, member)
			}
			s := j.shares(member, r)
			if sum := s.remoteSetup + s.remoteTransfers + s.localSetup + s.transfers + s.waiting + s.copying; sum != s.total {
				t.Errorf("%s: the shares of member %d are %v, the total is %v", way.name, member, sum, s.total)
			}
		}
		if len(j.under) > 0 || j.landing != nil {
			t.Errorf("%s: %d blocks are still under way", way.name, len(j.under))
		}
	}
}
