package sim

import (
	"cmp"
	"slices"

	"github.com/weft-fabric/weft/clock"
)

// Events and requests name queue pairs and completion queues by their slot in the fabric. Slots are used again, so that a
// long run that opens and closes many does not grow; and a late event must find the one it was planned for, not a
// stranger. Of a completion queue only turns are late, and their generation is the slot's, not the queue's. A queue pair
// keeps its slot until nothing names it any more: see pins.

// enterPair gives a queue pair its slot, and the program's pin.
func (f *Fabric) enterPair(q *queuePair) {
	q.pins = 1
	if n := len(f.freePairs); n > 0 {
		q.index = f.freePairs[n-1]
		f.freePairs = f.freePairs[:n-1]
		f.pairs[q.index] = q
		return
	}
	q.index = uint32(len(f.pairs))
	f.pairs = append(f.pairs, q)
}

// plan makes an event of the queue pair happen at a moment; at Never it does not.
func (q *queuePair) plan(at clock.Time, k kind, gen uint32) {
	if at == clock.Never {
		return
	}
	q.pins++ // until the event has happened, or turned out to be void
	q.fabric.plan(at, k, q.index, gen)
}

// unpin takes one pin away. With the last the slot is free.
func (q *queuePair) unpin() {
	q.pins--
	if q.pins > 0 {
		return
	}
	f := q.fabric
	f.pairs[q.index] = nil
	f.freePairs = append(f.freePairs, q.index)
}

// enterQueue gives a completion queue its slot, and the slot's generation, which is not that of the last one in it: turns
// which were planned for that are void.
func (f *Fabric) enterQueue(c *completionQueue) {
	if n := len(f.freeQueues); n > 0 {
		c.index = f.freeQueues[n-1]
		f.freeQueues = f.freeQueues[:n-1]
		c.gen = f.queues[c.index].gen
		f.queues[c.index] = c
		return
	}
	c.index = uint32(len(f.queues))
	f.queues = append(f.queues, c)
}

// place is where the queue pair with a number stands in the device's pairs, or would stand, and whether it does.
func (d *Device) place(number uint32) (int, bool) {
	return slices.BinarySearchFunc(d.pairs, number, func(q *queuePair, n uint32) int { return cmp.Compare(q.number, n) })
}

// pair returns the open queue pair with a number, or nil.
func (d *Device) pair(number uint32) *queuePair {
	if i, ok := d.place(number); ok {
		return d.pairs[i]
	}
	return nil
}
