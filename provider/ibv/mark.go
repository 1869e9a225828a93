package ibv

import "github.com/weft-fabric/weft/provider/ibv/native"

// This file is how a queue pair that fails learns which of its Quiet requests had succeeded before: devices say nothing of those.

// failDevice has the device fail everything.
func (q *queuePair) failDevice() {
	err := q.native.SetState(native.ErrorState) // if it fails, the device is lost, or never does: giveUp ends everything then
	if err == nil && q.endsQuietly() {
		q.mark()
	}
}

// endsQuietly reports whether the device would be silent about the last request that it has, if that has succeeded.
func (q *queuePair) endsQuietly() bool {
	if q.requests.given == q.requests.first {
		return false
	}
	return q.requests.at(q.requests.given - 1).silent
}

// mark posts one more request, which the device flushes behind the others: what it has not flushed by then has succeeded. It takes the room of
// one that could have been posted; without room, or if the device does not take it, giveUp ends the others.
func (q *queuePair) mark() {
	if int(q.requests.next-q.requests.first) >= q.config.SendDepth {
		return
	}
	w := &q.native.Sends[0]
	w.ID = uint64(makeIdent(identMark, q.slot, q.generation, q.requests.given))
	w.Op, w.Flags, w.Count = native.Send, native.Signaled, 0
	_, _ = q.native.PostSends(1)
}

// passMark is called when the device has flushed the mark.
func (q *queuePair) passMark(given uint32) {
	if given == q.requests.given {
		q.requests.first = given
		q.queue.troubled = append(q.queue.troubled, q)
	}
}
