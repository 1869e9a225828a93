package sim

import "github.com/weft-fabric/weft/clock"

// finishQueue holds when each active flow will have sent its message. Shares change often, and a large message would
// leave a void event behind for every change; so this heap knows where each flow stands and moves it.
//
// Invariant: network.places has 1 + the place of each flow's entry, or 0 if it has none. It stands apart from the flows: to move
// an entry down the heap touches many of them.
type finishQueue []event

// set puts a flow at its new time.
func (q *finishQueue) set(n *network, id uint32, at clock.Time, order uint64) {
	e := event{at: at, order: order, index: id}
	i := n.placeOf(id)
	if i < 0 {
		*q = append(*q, e)
		q.rise(n, len(*q)-1, e)
		return
	}
	if e.before(&(*q)[i]) {
		q.rise(n, i, e)
	} else {
		q.sink(n, i, e)
	}
}

// remove takes a flow out, if it is in.
func (q *finishQueue) remove(n *network, id uint32) {
	i := n.placeOf(id)
	if i < 0 {
		return
	}
	n.places[id] = 0
	last := len(*q) - 1
	e := (*q)[last]
	*q = (*q)[:last]
	if i == last {
		return
	}
	if i > 0 && e.before(&(*q)[(i-1)/4]) {
		q.rise(n, i, e)
	} else {
		q.sink(n, i, e)
	}
}

// put places an entry and tells its flow where it stands.
func (q finishQueue) put(n *network, i int, e event) {
	q[i] = e
	n.places[e.index] = int32(i + 1)
}

// rise puts e at i or above.
func (q finishQueue) rise(n *network, i int, e event) {
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&q[parent]) {
			break
		}
		q.put(n, i, q[parent])
		i = parent
	}
	q.put(n, i, e)
}

// sink puts e at i or below.
func (q finishQueue) sink(n *network, i int, e event) {
	for c := heap(q).child(i); c > 0 && q[c].before(&e); c = heap(q).child(i) {
		q.put(n, i, q[c])
		i = c
	}
	q.put(n, i, e)
}

// placeOf is where a flow's entry stands, or -1.
func (n *network) placeOf(id uint32) int {
	if int(id) >= len(n.places) {
		n.places = append(n.places, make([]int32, int(id)+1-len(n.places))...)
	}
	return int(n.places[id]) - 1
}
