package sim

import (
	"math/bits"
	"slices"

	"github.com/weft-fabric/weft/clock"
)

// kind says what an event does, and so what its index names.
type kind uint8

const (
	evPump     kind = iota // queue pair: the message at the front of its flow may start now
	evArrive               // request: it, or its answer, reaches the other end
	evTurn                 // completion queue: there may be something to do
	evDrain                // queue pair: receives were posted for messages that wait
	evNotReady             // queue pair: the message that waits for a receive has waited long enough
	evSilence              // queue pair: nothing was heard from the peer for too long
	evGone                 // queue pair: the peer said that it left
	evHello                // queue pair: its wish to connect has reached the peer and come back
	evGiveUp               // queue pair: the peer did not connect in time
	evControl              // control: a change of access or a reset takes effect
	evCall                 // call: a function of the program
)

// event is one thing that will happen. Events of one moment happen in the order they were planned.
type event struct {
	at    clock.Time
	order uint64 // the number of the event, shifted over its kind
	index uint32 // of what the kind says
	gen   uint32 // the event is void if what it is about has another generation by then
}

const kindBits = 8

func (e *event) kind() kind { return kind(e.order) }

// before is the order of events, without ties: no two have the same number.
func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.order < o.order
}

// compare is the same for sorting.
func compare(e, o event) int {
	if e.before(&o) {
		return -1
	}
	return 1
}

// The wheel turns once in 65 µs: nearly everything that is planned comes sooner, and what comes later is seldom.
const (
	slotBits  = 6 // a slot is 64 ns
	slotCount = 1024
)

// queue holds the events in their order. In a large simulation there are thousands for each microsecond and hundreds of
// thousands far ahead, timeouts for the most part, so that a heap of all is slow. Here events are kept in slots of time,
// and sorted when their slot is due.
//
// Invariant: due, fresh, the slots from now+1 up to, not including, now+slotCount, and far come one after the other; what
// is in fresh belongs among what is left of due, or before.
type queue struct {
	due    []event // of the slot now, sorted
	next   int     // of due, the first that is left
	fresh  heap    // planned since the slot became due
	now    clock.Time
	slots  [slotCount][]event
	filled [slotCount / 64]uint64 // the slots that are not empty
	spare  [][]event              // for slots: memory that no event is in
	dealt  []event                // for sort: memory that no event is in
	far    heap
}

// slotOf is the number of the slot of a moment.
func slotOf(at clock.Time) clock.Time { return at >> slotBits }

// push adds an event.
func (q *queue) push(e event) {
	switch slot := slotOf(e.at); {
	case slot <= q.now:
		q.fresh.push(e)
	case slot < q.now+slotCount:
		q.enter(int(slot%slotCount), e)
	default:
		q.far.push(e)
	}
}

// enter adds an event to a slot of the wheel.
func (q *queue) enter(slot int, e event) {
	if q.filled[slot/64]>>(slot%64)&1 == 0 {
		q.filled[slot/64] |= 1 << (slot % 64)
		if n := len(q.spare); n > 0 {
			q.slots[slot] = q.spare[n-1]
			q.spare = q.spare[:n-1]
		}
	}
	q.slots[slot] = append(q.slots[slot], e)
}

// peek returns the first event, or nil if there is none by a moment, to within a slot. It is good until the next push or
// pop. The wheel does not turn on beyond the moment: what is planned then is fresh if it has, and a heap of all is slow.
func (q *queue) peek(by clock.Time) *event {
	if q.next == len(q.due) && len(q.fresh) == 0 && !q.turn(slotOf(by)) {
		return nil
	}
	if q.isFresh() {
		return &q.fresh[0]
	}
	return &q.due[q.next]
}

// isFresh reports whether the first event of those that are due is a fresh one.
func (q *queue) isFresh() bool {
	return len(q.fresh) > 0 && (q.next == len(q.due) || q.fresh[0].before(&q.due[q.next]))
}

// pop takes the event that peek has returned.
func (q *queue) pop() {
	if q.isFresh() {
		q.fresh.pop()
		return
	}
	q.next++
}

// turn goes on to the next slot with events, or to the last one. It reports false if there is no event in it.
func (q *queue) turn(last clock.Time) bool {
	slot := min(q.following(), last)
	if slot <= q.now || slot == slotOf(clock.Never) {
		return false
	}
	q.now, q.due, q.next = slot, q.due[:0], 0
	if i := int(slot % slotCount); q.slots[i] != nil {
		q.spare = append(q.spare, q.due)
		q.due, q.slots[i] = q.slots[i], nil
		q.filled[i/64] &^= 1 << (i % 64)
	}
	q.fetch()
	q.sort()
	return len(q.due) > 0
}

// few is up to how many events are compared with each other: to count 64 moments for them would not pay.
const few = 16

// sort puts due in order. Events of one moment are in order already: they entered their slot as they were planned, and those
// from far before all others. So they only have to be dealt out by moment.
func (q *queue) sort() {
	if len(q.due) <= few {
		slices.SortFunc(q.due, compare)
		return
	}
	var ends [1 << slotBits]int
	for i := range q.due {
		ends[q.due[i].moment()]++
	}
	for i := range len(ends) - 1 {
		ends[i+1] += ends[i]
	}
	sorted := slices.Grow(q.dealt[:0], len(q.due))[:len(q.due)]
	for i := len(q.due) - 1; i >= 0; i-- {
		m := q.due[i].moment()
		ends[m]--
		sorted[ends[m]] = q.due[i]
	}
	q.due, q.dealt = sorted, q.due
}

// moment is when in its slot an event is.
func (e *event) moment() int { return int(e.at & (1<<slotBits - 1)) }

// following is the first slot after now that has events.
func (q *queue) following() clock.Time {
	slot, ok := q.nextSlot()
	if len(q.far) > 0 && (!ok || slotOf(q.far[0].at) < slot) {
		slot, ok = slotOf(q.far[0].at), true
	}
	if !ok {
		return slotOf(clock.Never)
	}
	return slot
}

// nextSlot finds the first slot on the wheel that has events.
func (q *queue) nextSlot() (clock.Time, bool) {
	from := int((q.now + 1) % slotCount)
	for ahead := 0; ahead < slotCount; {
		i := (from + ahead) % slotCount
		if word := q.filled[i/64] >> (i % 64); word != 0 {
			return q.now + 1 + clock.Time(ahead+bits.TrailingZeros64(word)), true
		}
		ahead += 64 - i%64
	}
	return 0, false
}

// fetch takes from far what the wheel has come near to.
func (q *queue) fetch() {
	for len(q.far) > 0 && slotOf(q.far[0].at) < q.now+slotCount {
		e := q.far.pop()
		if slotOf(e.at) == q.now {
			q.due = append(q.due, e)
		} else {
			q.enter(int(slotOf(e.at)%slotCount), e)
		}
	}
}
