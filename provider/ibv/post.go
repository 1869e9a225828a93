package ibv

import (
	"fmt"
	"unsafe"

	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Post hands a list over with one call into the library.
func (q *queuePair) Post(list []driver.Request) (int, error) {
	if q.state == driver.New || q.state == driver.Connecting {
		return 0, fmt.Errorf("queue pair %d is %v: it takes requests when it is connected: %w", q.native.Number, q.state, driver.ErrArgument)
	}
	if room := q.config.SendDepth - int(q.requests.next-q.requests.first); len(list) > room {
		return 0, fmt.Errorf("%d requests, %d have room: %w", len(list), room, driver.ErrLimit)
	}
	if q.state != driver.Ready {
		for i := range list {
			q.remember(&list[i])
		}
		q.drain()
		return len(list), nil
	}
	if hasInline(list) {
		q.domain.mu.RLock()
		defer q.domain.mu.RUnlock()
	}
	for i := range list {
		q.fill(i, &list[i])
		q.remember(&list[i])
	}
	q.queue.watchful = true
	n, err := q.native.PostSends(len(list))
	q.requests.given += uint32(n)
	if err != nil {
		q.queue.device.log.Warn("an RDMA device did not take a request", "device", q.queue.device.Name(), "reason", err)
		q.requests.at(q.requests.given).refused = true
		q.fail(0) // what was not taken ends behind the rest
	}
	return len(list), nil
}

func hasInline(list []driver.Request) bool {
	for i := range list {
		if list[i].Flags&driver.Inline != 0 {
			return true
		}
	}
	return false
}

// remember keeps what must be known of a request when it ends.
func (q *queuePair) remember(r *driver.Request) {
	*q.requests.at(q.requests.next) = request{tag: r.Tag, bytes: uint32(r.Bytes()), op: r.Op, quiet: r.Flags.Has(driver.Quiet)}
	q.requests.next++
}

var opcodes = [driver.OpCount]native.Opcode{driver.OpSend: native.Send, driver.OpSendImm: native.SendImm, driver.OpWrite: native.Write,
	driver.OpWriteImm: native.WriteImm, driver.OpRead: native.Read, driver.OpCompareSwap: native.CompareSwap, driver.OpFetchAdd: native.FetchAdd}

// fill writes a request where the device reads it.
func (q *queuePair) fill(i int, r *driver.Request) {
	w, spans := &q.native.Sends[i], q.native.SendSpans(i)
	w.ID = uint64(makeIdent(identRequest, q.slot, q.generation, q.requests.next))
	w.Op, w.Flags, w.Imm = opcodes[r.Op], 0, networkOrder(r.Imm)
	// A Quiet Send is reported by the device all the same, and swallowed here: without that a message that waits for its receiver looks
	// like one that has arrived long ago.
	if r.Flags&driver.Quiet == 0 || r.Op.TakesReceive() {
		w.Flags |= native.Signaled
	}
	if r.Flags&driver.Fence != 0 {
		w.Flags |= native.Fence
	}
	w.Remote, w.Key = r.Remote.Address, r.Remote.Key
	if r.Op.IsAtomic() {
		w.Key, w.Swap, w.AtomKey = r.Compare, r.Swap, uint32(r.Remote.Key)
		if r.Op == driver.OpFetchAdd {
			w.Key = r.Swap
		}
	}
	w.Count = fillSpan(spans, 0, r.Span)
	for _, s := range r.More {
		w.Count = fillSpan(spans, w.Count, s)
	}
	if r.Flags&driver.Inline != 0 && q.owns(r) {
		w.Flags |= native.Inline
		q.joinPieces(i, w, spans)
	}
}

// owns reports whether the library may read the bytes of an Inline request. If not, the request goes on without Inline, and the device finds
// what is wrong.
func (q *queuePair) owns(r *driver.Request) bool {
	if r.Span.Length > 0 && !q.domain.owns(r.Span) {
		return false
	}
	for _, s := range r.More {
		if s.Length > 0 && !q.domain.owns(s) {
			return false
		}
	}
	return true
}

// joinPieces copies the pieces of an Inline request together: not every library gets several right (rdma-core 44, rxe).
func (q *queuePair) joinPieces(i int, w *native.SendWR, spans []native.SGE) {
	if w.Count < 2 {
		return
	}
	if q.scratch == nil {
		q.scratch = native.NewBytes(q.config.SendDepth * q.config.MaxInline)
	}
	own := q.scratch[i*q.config.MaxInline : (i+1)*q.config.MaxInline]
	n := 0
	for _, s := range spans[:w.Count] {
		n += copy(own[n:], unsafe.Slice((*byte)(native.At(s.Address)), s.Length))
	}
	spans[0] = native.SGE{Address: uint64(uintptr(unsafe.Pointer(&own[0]))), Length: uint32(n)}
	w.Count = 1
}

// PostReceive hands a list over with one call into the library.
func (q *queuePair) PostReceive(list []driver.Receive) (int, error) {
	if q.queue.device.lost.Load() && q.state == driver.New {
		return 0, q.queue.device.errLost()
	}
	if room := q.config.ReceiveDepth - int(q.receives.next-q.receives.first); len(list) > room {
		return 0, fmt.Errorf("%d receives, %d have room: %w", len(list), room, driver.ErrLimit)
	}
	given := q.state != driver.Error && !q.resetting
	for i := range list {
		if given {
			w := &q.native.Receives[i]
			w.ID = uint64(makeIdent(identReceive, q.slot, q.generation, q.receives.next))
			w.Count = fillReceive(q.native.ReceiveSpans(i), &list[i])
		}
		q.receives.at(q.receives.next).keep(&list[i])
		q.receives.next++
	}
	if !given {
		q.drain()
		return len(list), nil
	}
	n, err := q.native.PostReceives(len(list))
	q.receives.given += uint32(n)
	if err != nil {
		q.receives.next -= uint32(len(list) - n)
	}
	return n, err
}

// settleRequest books the end of a request. Quiet ones before it have succeeded.
func (q *queuePair) settleRequest(i uint32, from *native.WC, into *driver.Completion) bool {
	if !q.requests.has(i) {
		return false
	}
	r := *q.requests.at(i)
	q.requests.first = i + 1
	*into = driver.Completion{Tag: r.tag, Queue: q.native.Number, Op: r.op, Status: q.requestStatus(from.Status)}
	switch into.Status {
	case driver.OK:
		into.Bytes = r.bytes
	case driver.Flushed:
		into.Status = q.takeVerdict(r.op)
	default:
		q.verdict = driver.OK
	}
	q.noteTrouble(into.Status)
	return !r.quiet || into.Status != driver.OK // a device may report what it was asked not to
}

// noteTrouble has afterFailure called when the completion is where it belongs.
func (q *queuePair) noteTrouble(s driver.Status) {
	if s != driver.OK || q.drainedBy != 0 {
		q.queue.troubled = append(q.queue.troubled, q)
	}
}

// settleReceive books the end of a receive.
func (q *queuePair) settleReceive(i uint32, from *native.WC, into *driver.Completion) bool {
	if !q.receives.has(i) {
		return false
	}
	r := q.receives.at(i)
	q.receives.first = i + 1
	*into = driver.Completion{Tag: r.tag, Queue: q.native.Number}
	q.domain.fillArrival(r, from, into)
	q.noteTrouble(into.Status)
	return true
}

// afterFailure notices that the device has failed the queue pair, and whether it has flushed the last. It is left to the device to move to its
// error state: it may not have answered the peer yet, and would not any more (rxe).
func (q *queuePair) afterFailure() {
	if q.state == driver.Ready || q.state == driver.Connecting {
		q.becomeFailed(0)
	}
	q.drain()
}
