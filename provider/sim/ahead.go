package sim

import (
	"math/bits"
	"unsafe"

	"github.com/weft-fabric/weft/internal/prefetch"
	"github.com/weft-fabric/weft/verbs/driver"
)

// In a large simulation nearly everything that an event touches has left the processor's caches since the last one of its
// node, and a core that waits for memory does nothing else: with 10,000 nodes an event took four times as long as with 500.
// But it is known what will happen next. So what coming events will touch is asked for now, a step at a time: an address
// found in one step is what the next one follows.

// manyNodes is from how many on a fabric looks ahead. Those of fewer fit the caches, or nearly.
const manyNodes = 1000

// How many events ahead each step is. Nearer, memory is not there in time; farther, it has left the first cache again.
const (
	farAhead  = 6
	midAhead  = 4
	nearAhead = 2
)

// lookAhead asks for what the next events of the slot will touch.
func (f *Fabric) lookAhead() {
	due := f.events.due[f.events.next:]
	if farAhead < len(due) {
		f.lookFar(&due[farAhead])
	}
	if midAhead < len(due) {
		f.lookNearer(&due[midAhead])
	}
	if nearAhead < len(due) {
		f.lookNear(&due[nearAhead])
	}
}

// lookFar asks for what an event names.
func (f *Fabric) lookFar(e *event) {
	switch e.kind() {
	case evArrive:
		ask(f.requests.at(e.index))
	case evTurn:
		ask(f.queues[e.index])
	case evPump:
		ask(&f.pairs[e.index])
	}
}

// lookNearer asks for what that leads to.
func (f *Fabric) lookNearer(e *event) {
	switch e.kind() {
	case evArrive:
		f.pairs[f.goal(e.index)].askFor()
	case evTurn:
		f.queues[e.index].askForTurn()
	case evPump:
		f.pairs[e.index].askFor()
	}
}

// lookNear asks for what only those know.
func (f *Fabric) lookNear(e *event) {
	switch e.kind() {
	case evArrive:
		f.pairs[f.goal(e.index)].askForArrival()
	case evTurn:
		f.queues[e.index].askForOwner()
	case evPump:
		f.pairs[e.index].askForSending()
	}
}

// goal is the queue pair that a request, or its answer, is on its way to.
func (f *Fabric) goal(i uint32) uint32 {
	r := f.requests.at(i)
	if r.stage == returning {
		return r.pair
	}
	return r.to
}

// lookAtFinish asks for the flows that may finish next.
func (f *Fabric) lookAtFinish() {
	if !f.ahead {
		return
	}
	finish := f.network.finish
	for i := range finish[:min(len(finish), 5)] {
		ask(f.network.flows.at(finish[i].index))
	}
	if len(finish) > 0 {
		f.pairs[f.network.flows.at(finish[0].index).owner].askFor()
	}
}

// ask asks for all of something.
func ask[T any](p *T) { prefetch.Memory(unsafe.Pointer(p), unsafe.Sizeof(*p)) }

// askFor asks for what a queue pair needs to send and to receive.
func (q *queuePair) askFor() {
	prefetch.Memory(unsafe.Pointer(q), unsafe.Offsetof(q.shared)) // also of none: it is only computed
}

// askForArrival asks for where a message, or an answer, will be put and reported.
func (q *queuePair) askForArrival() {
	if q == nil {
		return
	}
	prefetch.Memory(unsafe.Pointer(q.queue), unsafe.Offsetof(q.queue.areas))
	if q.receives.count > 0 {
		ask(q.receives.front())
		ask(q.recent)
	}
}

// askForSending asks for the message at the front, and its flow.
func (q *queuePair) askForSending() {
	if q == nil || q.out.head == 0 {
		return
	}
	ask(q.fabric.requests.at(q.out.head))
	ask(q.fabric.network.flows.at(q.flow))
}

// area is memory that turns touch.
type area struct {
	start unsafe.Pointer
	size  uintptr
}

// askForTurn asks for what the runner's turns touch, and for whose completion is the first.
func (c *completionQueue) askForTurn() {
	for _, a := range c.areas[:c.areaCount] {
		prefetch.Memory(a.start, a.size)
	}
	if c.items.count > 0 {
		ask(c.items.front().owner)
	}
}

// recordSize is how much of package verbs' record of a queue pair a completion touches.
const recordSize = 320

// askForOwner asks for what package verbs knows of the queue pair whose completion is the first.
func (c *completionQueue) askForOwner() {
	if c.items.count == 0 || c.items.front().owner == nil {
		return
	}
	prefetch.Memory(c.items.front().owner.record, recordSize)
	if c.footprint != nil {
		prefetch.Memory(c.footprint.FootprintOf(c.items.front().Tag), 1)
	}
}

// learnAreas asks the runner now and then what its turns touch: often at the beginning, seldom later.
func (c *completionQueue) learnAreas() {
	const seldom = 1024
	c.turnCount++
	if bits.OnesCount32(c.turnCount) != 1 && c.turnCount%seldom != 0 {
		return
	}
	c.forgetAreas()
	runner, ok := c.runner.(driver.Footprint)
	if !ok {
		return
	}
	c.footprint = runner
	runner.Footprint(func(start unsafe.Pointer, size uintptr) {
		if c.areaCount < len(c.areas) {
			c.areas[c.areaCount] = area{start, size}
			c.areaCount++
		}
	})
}

// forgetAreas lets go of what a runner has named.
func (c *completionQueue) forgetAreas() {
	clear(c.areas[:c.areaCount])
	c.footprint, c.areaCount = nil, 0
}
