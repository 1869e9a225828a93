package sim

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weft-fabric/weft/clock"
)

// Events come out by time, and those of one moment in the order they were planned.
func TestQueueOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		var want []event
		var last event
		for i := range rapid.IntRange(1, 400).Draw(t, "events") {
			// Near and far, and never before the latest that was taken.
			at := last.at + clock.Time(rapid.SampledFrom([]int{0, 64, 200, 3000, 65_000, 66_000, 200_000}).Draw(t, "at"))
			e := event{at: at + clock.Time(rapid.IntRange(0, 9).Draw(t, "more")), order: uint64(i)}
			q.push(e)
			want = append(want, e)
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1:
				last = takeFirst(t, &q, &want)
			case 2: // look no further than the moment, and find nothing after it that is not of its slot
				by := last.at + clock.Time(rapid.SampledFrom([]int{0, 63, 64, 5000, 70_000}).Draw(t, "by"))
				first := slices.MinFunc(want, compare)
				if e := q.peek(by); (e == nil) != (slotOf(first.at) > max(slotOf(by), q.now)) || e != nil && *e != first {
					t.Fatalf("by %v there is %v, want %+v", by, e, first)
				}
				last.at = max(last.at, min(by, first.at))
			}
		}
		for len(want) > 0 {
			takeFirst(t, &q, &want)
		}
		if e := q.peek(clock.Never); e != nil {
			t.Fatalf("%+v is left", *e)
		}
	})
}

// So they do if there are many in one slot, some of them planned when it was far away.
func TestQueueDealsOutASlot(t *testing.T) {
	var q queue
	var want []event
	random := rand.New(rand.NewPCG(1, 2))
	number := uint64(0)
	plan := func(count int, slot clock.Time) {
		for range count {
			e := event{at: slot<<slotBits + clock.Time(random.IntN(1<<slotBits)), order: number}
			number++
			q.push(e)
			want = append(want, e)
		}
	}
	plan(3*few, 2*slotCount)
	plan(1, slotCount+5) // to get nearer
	slices.SortFunc(want, compare)
	for range len(want) - 3*few {
		_ = q.peek(clock.Never)
		q.pop()
	}
	want = want[1:]
	plan(5*few, 2*slotCount)
	slices.SortFunc(want, compare)
	for _, e := range want {
		if got := q.peek(clock.Never); got == nil || *got != e {
			t.Fatalf("got %+v, want %+v", got, e)
		}
		q.pop()
	}
}

// left is how many events a queue holds, and room for how many it has.
func (q *queue) left() (count, room int) {
	count, room = len(q.due)-q.next+len(q.fresh)+len(q.far), cap(q.due)+cap(q.dealt)+cap(q.fresh)+cap(q.far)
	for _, list := range append(q.spare, q.slots[:]...) {
		count, room = count+len(list), room+cap(list)
	}
	return count, room
}

func takeFirst(t *rapid.T, q *queue, want *[]event) event {
	slices.SortFunc(*want, compare)
	first := (*want)[0]
	if got := q.peek(clock.Never); got == nil || *got != first {
		t.Fatalf("got %+v, want %+v", got, first)
	}
	q.pop()
	*want = (*want)[1:]
	return first
}

// However flows are moved and removed, the first to finish stands first and every flow knows its place.
func TestFinishQueueOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := &network{}
		times := map[uint32]event{}
		for range 30 {
			n.newFlow(0, nil)
		}
		for i := range rapid.IntRange(1, 150).Draw(t, "changes") {
			id := rapid.Uint32Range(1, 30).Draw(t, "flow")
			if rapid.IntRange(0, 2).Draw(t, "what") == 0 {
				n.finish.remove(n, id)
				delete(times, id)
			} else {
				at := clock.Time(rapid.IntRange(0, 99).Draw(t, "at"))
				n.finish.set(n, id, at, uint64(i))
				times[id] = event{at: at, order: uint64(i), index: id}
			}
			if len(n.finish) != len(times) {
				t.Fatalf("%d entries for %d flows", len(n.finish), len(times))
			}
			for id, e := range times {
				place := int(n.places[id]) - 1
				above := &n.finish[max(place-1, 0)/4]
				if n.finish[place] != e || e.before(above) {
					t.Fatalf("flow %d stands at %d as %+v, want %+v, behind %+v", id, place, n.finish[place], e, *above)
				}
			}
		}
	})
}

func TestSlabUsesItemsAgain(t *testing.T) {
	var s slab[int]
	seen := map[uint32]bool{}
	for i := range 3 * slabPage {
		n := s.take()
		if n == 0 || seen[n] {
			t.Fatalf("item %d is number %d", i, n)
		}
		seen[n] = true
		*s.at(n) = i
	}
	s.give(7)
	s.give(300)
	if a, b := s.take(), s.take(); a != 300 || b != 7 || s.live() != 3*slabPage {
		t.Errorf("took %d and %d again, %d are live", a, b, s.live())
	}
}

func TestRingKeepsOrderWhileItGrows(t *testing.T) {
	var r ring[int]
	in, out := 0, 0
	for round := range 50 {
		for range round {
			r.push(in)
			in++
		}
		for range round / 2 {
			if got := r.pop(); got != out {
				t.Fatalf("got %d, want %d", got, out)
			}
			out++
		}
	}
	if int(r.count) != in-out || *r.front() != out {
		t.Errorf("%d are left, the first is %d", r.count, *r.front())
	}
}
