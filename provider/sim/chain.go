package sim

import (
	"slices"

	"github.com/weft-fabric/weft/verbs/driver"
)

// A chained request (driver.Request.After) means a queue pair of its device as it is when the request is posted: the one
// that has the number then, until it leaves Ready or is reset. Whatever that one does before the request's turn comes,
// the request is told by it: the moment has come, or never will.
//
// Invariant: a request that has not started and whose after.Count is not 0 is counted in the awaited of the open queue
// pair that after names, and that one has not left its connection since.

// await ties a chained request to what it waits for. If that is not there, or broken, the request ends as Flushed when
// its turn comes. A queue pair that is New or Connecting only has not received anything yet.
func (q *queuePair) await(r *request) {
	target := q.device.pair(r.after.Queue)
	switch {
	case target == nil:
		r.abandon()
	case target.arrived >= r.after.Count:
		r.after.Count = 0
	case target.state == driver.Error:
		r.abandon()
	default:
		target.awaited++
	}
}

// abandon makes a request fail when its turn comes: what it waits for will never be.
func (r *request) abandon() {
	r.after.Count = 0
	if r.status == driver.OK {
		r.status = driver.Flushed
	}
}

// arrivalCame reports whether a chained request may start. If not, the queue pair is told when to look again.
func (q *queuePair) arrivalCame(r *request) bool {
	target := q.device.pair(r.after.Queue)
	if target.arrived >= r.after.Count {
		r.after.Count = 0
		target.awaited--
		if r.chained {
			r.ready = max(r.ready, q.fabric.after(q.fabric.delay.chain))
		}
		return true
	}
	if q.waitsFor == nil {
		r.chained = true
		q.waitsFor = target
		target.chained = append(target.chained, q)
	}
	return false
}

// releaseChained lets those look again that wait for messages on this queue pair: one has arrived, or none will. Who
// must wait further enters the list anew.
func (q *queuePair) releaseChained() {
	for n := len(q.chained); n > 0 && len(q.chained) > 0; n-- {
		other := q.chained[0]
		other.stopWaiting()
		other.startRequests()
	}
}

// endChained tells every request that waits for this queue pair, which leaves its connection, whether its moment has
// come by now, also those whose turn has not.
func (q *queuePair) endChained() {
	if q.awaited > 0 {
		for _, other := range q.device.pairs {
			q.endChainedOf(other)
		}
	}
	q.awaited = 0
	q.releaseChained()
}

// endChainedOf is endChained for the requests of one queue pair that have not started.
func (q *queuePair) endChainedOf(other *queuePair) {
	f := q.fabric
	for i := other.start; i != 0; i = f.requests.at(i).next {
		r := f.requests.at(i)
		switch {
		case r.after.Count == 0 || r.after.Queue != q.number:
		case r.after.Count <= q.arrived:
			r.after.Count = 0
		default:
			r.abandon()
		}
	}
}

// stopWaiting takes the queue pair out of the list of the one that it waits for, if any.
func (q *queuePair) stopWaiting() {
	if q.waitsFor != nil {
		q.waitsFor.chained = without(q.waitsFor.chained, q)
		q.waitsFor = nil
	}
}

// without takes q, which is in the list once, out of it. The order of the others stays.
func without(list []*queuePair, q *queuePair) []*queuePair {
	i := slices.Index(list, q)
	return slices.Delete(list, i, i+1)
}
