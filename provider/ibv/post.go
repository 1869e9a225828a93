package ibv

import (
	"errors"
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
	for i := range list {
		q.remember(&list[i])
	}
	if q.state != driver.Ready {
		q.drain()
		return len(list), nil
	}
	q.queue.watchful = true
	now := list
	if q.hasToHold() {
		now = q.hold(list)
	}
	q.hand(now)
	return len(list), nil
}

// hand gives a list to the device. What it does not take ends the queue pair, behind the rest.
func (q *queuePair) hand(list []driver.Request) {
	if err := q.tryHand(list); err != nil {
		q.queue.device.log.Warn("an RDMA device did not take a request", "device", q.queue.device.Name(), "reason", err)
		q.requests.at(q.requests.given).refused = true
		q.fail(0)
	}
}

func (q *queuePair) tryHand(list []driver.Request) error {
	inline, local := kinds(list)
	switch {
	case local: // it changes what is lent
		q.domain.mu.Lock()
		defer q.domain.mu.Unlock()
	case inline:
		q.domain.mu.RLock()
		defer q.domain.mu.RUnlock()
	}
	filled := 0
	for i := range list {
		if !list[i].Op.IsLocal() {
			q.fill(filled, &list[i])
			filled++
			continue
		}
		var err error
		if filled, err = q.fillLocal(filled, &list[i]); err != nil {
			return errors.Join(q.give(filled), err) // those before it come first
		}
	}
	return q.give(filled)
}

// give posts the first n requests that were filled.
func (q *queuePair) give(n int) error {
	n, err := q.native.PostSends(n)
	q.requests.given += uint32(n)
	q.calls++
	return err
}

// kinds reports whether some of a list are Inline, and some are about windows.
func kinds(list []driver.Request) (inline, local bool) {
	for i := range list {
		inline = inline || list[i].Flags&driver.Inline != 0
		local = local || list[i].Op.IsLocal()
	}
	return inline, local
}

// remember keeps what must be known of a request when it ends.
func (q *queuePair) remember(r *driver.Request) {
	kept := request{tag: r.Tag, op: r.Op, quiet: r.Flags.Has(driver.Quiet), silent: q.isSilent(r)}
	if r.Op.IsLocal() {
		kept.window = uint32(r.Compare)
	} else {
		kept.bytes = uint32(r.Bytes())
	}
	*q.requests.at(q.requests.next) = kept
	q.requests.next++
}

var opcodes = [driver.OpCount]native.Opcode{driver.OpSend: native.Send, driver.OpSendImm: native.SendImm, driver.OpWrite: native.Write,
	driver.OpWriteImm: native.WriteImm, driver.OpRead: native.Read, driver.OpCompareSwap: native.CompareSwap, driver.OpFetchAdd: native.FetchAdd}

// fill writes a request where the device reads it.
func (q *queuePair) fill(i int, r *driver.Request) {
	w, spans := &q.native.Sends[i], q.native.SendSpans(i)
	w.ID, w.Flags = q.label(i, r)
	w.Op, w.Imm = opcodes[r.Op], networkOrder(r.Imm)
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
	if r.Flags&driver.Inline != 0 && (q.isTaken(r) || q.owns(r)) {
		w.Flags |= native.Inline
		q.joinPieces(q.requests.given+uint32(i), w, spans)
	}
}

// label returns what the device knows the i-th of those that it is given next by, and whether it reports its success.
func (q *queuePair) label(i int, r *driver.Request) (id uint64, flags native.SendFlags) {
	id = uint64(makeIdent(identRequest, q.slot, q.generation, q.requests.given+uint32(i)))
	if !q.isSilent(r) {
		flags = native.Signaled
	}
	return id, flags
}

// isSilent reports whether the device is to say nothing of a success. Of some Quiet requests it has to, which is swallowed here: without that a
// Send that waits for its receiver would look like one that has arrived long ago, and nobody would know what a window is bound to.
func (q *queuePair) isSilent(r *driver.Request) bool {
	return r.Flags&driver.Quiet != 0 && !r.Op.TakesReceive() && !r.Op.IsLocal() && !q.hasToHold()
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
func (q *queuePair) joinPieces(i uint32, w *native.SendWR, spans []native.SGE) {
	if w.Count < 2 {
		return
	}
	own, n := q.ownBytes(i), 0
	for _, s := range spans[:w.Count] {
		n += copy(own[n:], unsafe.Slice((*byte)(native.At(s.Address)), s.Length))
	}
	spans[0] = native.SGE{Address: uint64(uintptr(unsafe.Pointer(&own[0]))), Length: uint32(n)}
	w.Count = 1
}

// ownBytes is room for the bytes of the i-th request.
func (q *queuePair) ownBytes(i uint32) []byte {
	slots := uint32(len(q.requests.slots))
	if q.scratch == nil {
		q.scratch = native.NewBytes(int(slots) * q.config.MaxInline)
	}
	at := int(i&(slots-1)) * q.config.MaxInline
	return q.scratch[at : at+q.config.MaxInline]
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
		if r.op == driver.OpRevoke {
			q.revoked(r.window)
		}
	case driver.Flushed:
		into.Status = q.flushedStatus(&r)
		q.hasFlushed = true
	default:
		q.verdict, q.hasFlushed = driver.OK, true
	}
	q.noteTrouble(q.requestStatus(from.Status))
	if len(q.held) > 0 {
		q.queue.holding = append(q.queue.holding, q)
	}
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
