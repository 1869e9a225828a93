package sim

import "github.com/weft-fabric/weft/verbs/driver"

// sweep completes requests, in posting order, up to the first that is not done.
func (q *queuePair) sweep() {
	f := q.fabric
	for q.head != 0 {
		i := q.head
		r := f.requests.at(i)
		if r.stage != done {
			return
		}
		status := r.status
		q.unlink(r)
		q.complete(i, status)
		if status != driver.OK {
			q.becomeError(driver.Flushed)
			return
		}
	}
}

// unlink takes r, the head, out of the queue.
func (q *queuePair) unlink(r *request) {
	if q.start == q.head {
		q.start = r.next
	}
	q.head = r.next
	if q.head == 0 {
		q.tail = 0
	}
}

// complete reports how a request ended, and releases it.
func (q *queuePair) complete(i uint32, status driver.Status) {
	r := q.fabric.requests.at(i)
	q.report(r, status)
	q.fabric.release(i)
}

// report queues the completion of a request, unless it is Quiet and ended well.
func (q *queuePair) report(r *request, status driver.Status) {
	if status == driver.OK && r.flags.Has(driver.Quiet) {
		return
	}
	c := driver.Completion{Tag: r.tag, Queue: q.number, Op: r.op, Status: status}
	if status == driver.OK {
		c.Bytes = r.bytes
	}
	q.tell(c)
}

// flushRequests completes everything outstanding, the oldest as told, the others as Flushed. Messages on the wire
// travel on, and may still land.
func (q *queuePair) flushRequests(oldest driver.Status) {
	for q.head != 0 {
		q.report(q.fabric.requests.at(q.head), oldest)
		q.dropHead()
		oldest = driver.Flushed
	}
	q.forgetRequests()
}

// dropRequests forgets everything outstanding without completions.
func (q *queuePair) dropRequests() {
	for q.head != 0 {
		q.dropHead()
	}
	q.forgetRequests()
}

// forgetRequests clears what is counted over requests that are no more.
func (q *queuePair) forgetRequests() {
	q.reads = 0
	q.stopWaiting()
}

// dropHead takes the head out of the queue. If something still travels for it, that will release it.
func (q *queuePair) dropHead() {
	i := q.head
	r := q.fabric.requests.at(i)
	q.unlink(r)
	if r.after.Count > 0 {
		q.device.pair(r.after.Queue).awaited--
	}
	if r.stage == queued || r.stage == done || r.stage == lost {
		q.fabric.release(i)
		return
	}
	r.dropped = true
}

// lose ends the journey of a request whose connection is no more.
func (f *Fabric) lose(i uint32) {
	r := f.requests.at(i)
	if r.dropped {
		f.release(i)
		return
	}
	r.stage = lost
}

// release gives a request back.
func (f *Fabric) release(i uint32) {
	r := f.requests.at(i)
	f.dropSpans(r.local)
	if r.payload != 0 {
		f.payloads.give(r.payload)
	}
	f.requests.give(i)
	q := f.pairs[r.pair]
	switch {
	case r.to == 0:
	case q.state == driver.Ready && q.epoch == r.epoch:
		q.abroad--
	default:
		f.pairs[r.to].unpin()
	}
	q.unpin()
}
