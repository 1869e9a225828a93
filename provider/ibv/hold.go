package ibv

import (
	"slices"
	"unsafe"

	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/verbs/driver"
)

// This file is how windows are bound on Soft-RoCE. When a packet is lost, or a receiver was not ready, it starts over with the oldest request
// that has not ended, and does what it finds behind that again (Linux 6.1: req_retry). A second Bind fails, and the queue pair hangs. So the
// device gets a Bind or a Revoke only when all that was posted before has ended, and what is posted behind it waits here. Hardware
// gets everything at once.

// hasToHold reports whether that concerns the queue pair.
func (q *queuePair) hasToHold() bool { return q.windows != nil && q.queue.device.isSoftware() }

// hold keeps what has to wait, and returns what has not. The requests are remembered already.
func (q *queuePair) hold(list []driver.Request) []driver.Request {
	n := 0
	if len(q.held) == 0 {
		n = q.countRun(list)
	}
	q.domain.mu.RLock() // memory stays while its bytes are taken
	defer q.domain.mu.RUnlock()
	first := q.requests.next - uint32(len(list))
	for i := n; i < len(list); i++ {
		r := list[i]
		r.More = slices.Clone(r.More)
		if r.Flags&driver.Inline != 0 && q.owns(&r) {
			q.takeBytes(&r, first+uint32(i))
		}
		q.held = append(q.held, r)
	}
	return list[:n]
}

// countRun returns how many of a list can be given to the device now.
func (q *queuePair) countRun(list []driver.Request) int {
	for i := range list {
		if list[i].Op.IsLocal() && (i > 0 || q.isBusy()) {
			return i
		}
	}
	return len(list)
}

// isBusy reports whether the device has something to report. Silent requests that were posted before the first window was made are not
// waited for: nobody would hear of their end.
func (q *queuePair) isBusy() bool {
	for i := q.requests.first; i != q.requests.given; i++ {
		if !q.requests.at(i).silent {
			return true
		}
	}
	return false
}

// giveHeld gives what has waited to the device, as far as it can.
func (q *queuePair) giveHeld() {
	if len(q.held) == 0 || q.isBusy() {
		return
	}
	n := q.countRun(q.held)
	q.hand(q.held[:n])
	if q.state == driver.Ready {
		q.held = slices.Delete(q.held, 0, n)
	}
}

// takeBytes makes a copy of the bytes of an Inline request: the program may use the memory for something else while it is held.
func (q *queuePair) takeBytes(r *driver.Request, i uint32) {
	own := q.ownBytes(i)
	n := copy(own, bytesOf(r.Span))
	for _, s := range r.More {
		n += copy(own[n:], bytesOf(s))
	}
	r.Span, r.More = driver.Span{Address: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(own)))), Length: uint32(n)}, nil
}

func bytesOf(s driver.Span) []byte { return unsafe.Slice((*byte)(native.At(s.Address)), s.Length) }

// isTaken reports whether the bytes of an Inline request are our own copy.
func (q *queuePair) isTaken(r *driver.Request) bool {
	start := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(q.scratch))))
	return r.Span.Key == 0 && r.Span.Address-start < uint64(len(q.scratch))
}
