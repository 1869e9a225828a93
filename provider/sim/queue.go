package sim

import "github.com/weft-fabric/weft/clock"

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

// queue is a heap with four children to a parent: half as deep as a binary one, and the children share cache lines.
type queue []event

// push adds an event. It moves a hole up from the end until e fits.
func (q *queue) push(e event) {
	h := append(*q, e)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
	*q = h
}

// pop takes the first event of a queue that is not empty.
func (q *queue) pop() event {
	h := *q
	top := h[0]
	last := h[len(h)-1]
	h = h[:len(h)-1]
	if len(h) > 0 {
		h.sink(last)
	}
	*q = h
	return top
}

// sink puts e, which replaces the top, where it belongs.
func (q queue) sink(e event) {
	i := 0
	for c := q.child(i); c > 0 && q[c].before(&e); c = q.child(i) {
		q[i] = q[c]
		i = c
	}
	q[i] = e
}

// child returns the first of the children of i, or 0 if it has none.
func (q queue) child(i int) int {
	first := 4*i + 1
	if first >= len(q) {
		return 0
	}
	least := first
	for c := first + 1; c < min(first+4, len(q)); c++ {
		if q[c].before(&q[least]) {
			least = c
		}
	}
	return least
}
