package verbs

import (
	"fmt"

	"github.com/weft-fabric/weft/verbs/driver"
)

// Send sends the bytes of from to the peer, into the next receive it has posted.
func (q *QueuePair) Send(tag Tag, from Span, flags Flags) error {
	r := q.draft(OpSend, flags, from)
	return q.commit(r, tag)
}

// SendImm is Send with a number that the receiver sees in its completion.
func (q *QueuePair) SendImm(tag Tag, from Span, imm uint32, flags Flags) error {
	r := q.draft(OpSendImm, flags, from)
	r.Imm = imm
	return q.commit(r, tag)
}

// Write puts the bytes of from at the beginning of to. The peer is not told.
func (q *QueuePair) Write(tag Tag, from Span, to RemoteSpan, flags Flags) error {
	r := q.draft(OpWrite, flags, from)
	r.Remote = to
	return q.commit(r, tag)
}

// WriteNow is Write for bytes of the program's that can be there at once: some devices in software can, when nothing is in the way. It
// reports whether it has. Then the bytes are in the peer's memory, behind all that was posted, and nothing completes. If not, nothing was
// done, and Write may do it, or says why it cannot.
func (q *QueuePair) WriteNow(from []byte, to RemoteSpan) bool {
	return q.immediate != nil && q.phase == phaseConnected && len(q.stagedRequests) == 0 && uint64(len(from)) <= to.Length &&
		q.immediate.WriteNow(from, to)
}

// WriteImm is Write, and then tells the peer a number: it takes a receive there, whose memory stays untouched.
func (q *QueuePair) WriteImm(tag Tag, from Span, to RemoteSpan, imm uint32, flags Flags) error {
	r := q.draft(OpWriteImm, flags, from)
	r.Remote, r.Imm = to, imm
	return q.commit(r, tag)
}

// Read fetches as many bytes as into has from the beginning of from.
func (q *QueuePair) Read(tag Tag, into Span, from RemoteSpan, flags Flags) error {
	r := q.draft(OpRead, flags, into)
	r.Remote = from
	return q.commit(r, tag)
}

// CompareSwap puts swap into the word at, if compare is there, in one indivisible step. The word's old value comes into
// old, 8 bytes. Both are aligned to 8.
func (q *QueuePair) CompareSwap(tag Tag, old Span, at RemoteSpan, compare, swap uint64, flags Flags) error {
	r := q.draft(OpCompareSwap, flags, old)
	r.Remote, r.Compare, r.Swap = at, compare, swap
	return q.commit(r, tag)
}

// FetchAdd adds to the word at in one indivisible step. The word's old value comes into old, 8 bytes. Both are aligned
// to 8.
func (q *QueuePair) FetchAdd(tag Tag, old Span, at RemoteSpan, add uint64, flags Flags) error {
	r := q.draft(OpFetchAdd, flags, old)
	r.Remote, r.Swap = at, add
	return q.commit(r, tag)
}

// Receive makes into ready for one incoming message. It is also staged.
func (q *QueuePair) Receive(tag Tag, into Span) error {
	return q.StageReceive(&Receive{Tag: tag, Span: into})
}

// Stage stages a request given in full: gathered from several pieces, or chained to an Arrival. The request and its
// slices are the caller's again when it returns.
func (q *QueuePair) Stage(r *Request) error {
	if r == nil {
		return fail(q, ErrArgument, "stage: the request is nil")
	}
	if r.Op.IsLocal() {
		return fail(q, ErrArgument, "stage: %v is made by a Window", r.Op)
	}
	draft := next(&q.stagedRequests)
	*draft = *r
	return q.commit(draft, r.Tag)
}

// next is the place of the next one behind those that are staged, with what an old one has left there. What is staged is
// written where it stays: built elsewhere and copied, it would cost twice as much.
func next[T any](list *[]T) *T {
	n := len(*list)
	if n == cap(*list) {
		var fresh T
		*list = append(*list, fresh)[:n]
	}
	return &(*list)[:n+1][n]
}

// draft begins the next request. The fields that only some operations have are theirs to fill in.
func (q *QueuePair) draft(op Op, flags Flags, span Span) *Request {
	r := next(&q.stagedRequests)
	r.Op, r.Flags, r.Imm, r.Span = op, flags, 0, span
	r.After = Arrival{}
	if r.More != nil {
		r.More = nil
	}
	return r
}

// commit stages the draft under the program's tag, or says why not.
func (q *QueuePair) commit(r *Request, tag Tag) error {
	if q.phase != phaseConnected || q.requests.outstanding() >= q.config.SendDepth {
		return q.refuse(r.Op)
	}
	if !q.isPlain(r) {
		if err := q.check(r); err != nil {
			return err
		}
	}
	if q.requests.isFull() {
		q.requests.grow()
	}
	sequence, p := q.requests.push()
	p.tag, p.swallow = tag, r.Flags&Quiet != 0
	if p.swallow {
		q.hush(r)
	} else {
		q.quietRun = 0
	}
	p.signaled = r.Flags&Quiet == 0
	r.Tag = makeToken(kindRequest, q.slot, q.generation, sequence)
	if len(r.More) > 0 {
		q.pieces, r.More = keepPieces(q.pieces, r.More)
	}
	q.stagedRequests = q.stagedRequests[:len(q.stagedRequests)+1]
	q.list()
	return nil
}

// hush counts a Quiet request. If half the queue is, it is signaled, and its completion swallowed: without a sign of life the
// queue would fill up with requests whose end nobody hears of.
func (q *QueuePair) hush(r *Request) {
	q.quietRun++
	if q.quietRun >= (q.config.SendDepth+1)/2 {
		r.Flags &^= Quiet
		q.quietRun = 0
	}
}

// refuse says why nothing can be staged now.
func (q *QueuePair) refuse(op Op) error {
	switch q.phase {
	case phaseClosed:
		return fail(q, ErrClosed, "%v", op)
	case phaseResetting:
		return fail(q, ErrState, "%v: a Reset is under way", op)
	case phaseNew:
		return fail(q, ErrState, "%v: it is not connected", op)
	}
	return fail(q, ErrQueueFull, "%v: %d requests are outstanding", op, q.config.SendDepth)
}

// isPlain reports whether nothing can be wrong with a request: it sends or writes one piece, at once. Most do.
func (q *QueuePair) isPlain(r *Request) bool {
	return (r.Op == OpSend || r.Op == OpSendImm || r.Op == OpWrite && uint64(r.Span.Length) <= r.Remote.Length) && r.Flags.Valid() && len(r.More) == 0 && r.After.Count == 0 &&
		r.Span.Key != driver.BadKey && r.Span.Length <= q.limits.MaxMessage &&
		(r.Flags&Inline == 0 || int(r.Span.Length) <= q.config.MaxInline)
}

// check finds what is wrong with a request before the NIC sees it.
func (q *QueuePair) check(r *Request) error {
	bytes := uint64(r.Span.Length)
	if len(r.More) > 0 {
		bytes = r.Bytes()
	}
	limits := q.limits
	switch {
	case !r.Op.IsRequest() || !r.Flags.Valid():
		return fail(q, ErrArgument, "%v with flags %#x", r.Op, uint8(r.Flags))
	case r.Span.Key == driver.BadKey || len(r.More) > 0 && hasBadKey(r.More):
		return fail(q, ErrBounds, "%v: a span is not inside its memory", r.Op)
	case r.Op.IsLocal():
		return nil
	case bytes > uint64(limits.MaxMessage):
		return fail(q, ErrLimit, "%v of %d bytes, at most %d", r.Op, bytes, limits.MaxMessage)
	case len(r.More)+1 > q.config.MaxSpans:
		return fail(q, ErrLimit, "%v of %d pieces, at most %d", r.Op, len(r.More)+1, q.config.MaxSpans)
	case r.Op.HasRemote() && bytes > r.Remote.Length:
		return fail(q, ErrBounds, "%v of %d bytes, the remote span has %d; one cut outside its memory has 0", r.Op, bytes,
			r.Remote.Length)
	case r.Op.IsAtomic() && (bytes != 8 || len(r.More) > 0 || r.Remote.Address&7 != 0 || r.Span.Address&7 != 0):
		return fail(q, ErrArgument, "%v: needs one aligned word of 8 bytes at both ends", r.Op)
	case r.After.Count > 0 && !limits.Chains:
		return fail(q, ErrNotSupported, "%v after an arrival", r.Op)
	case r.Flags&Inline != 0:
		return q.checkInline(r.Op, bytes)
	}
	return nil
}

func hasBadKey(pieces []Span) bool {
	for _, s := range pieces {
		if s.Key == driver.BadKey {
			return true
		}
	}
	return false
}

func (q *QueuePair) checkInline(op Op, bytes uint64) error {
	if op == OpRead || op.IsAtomic() {
		return fail(q, ErrArgument, "%v cannot be Inline: it has nothing to send", op)
	}
	if bytes > uint64(q.config.MaxInline) {
		return fail(q, ErrLimit, "%v of %d bytes inline, at most %d", op, bytes, q.config.MaxInline)
	}
	return nil
}

// StageReceive stages a receive given in full: scattered into several pieces. It fails with ErrState on a queue pair
// that takes shared receives, and with ErrQueueFull, ErrBounds, ErrLimit or ErrClosed as the requests do.
func (q *QueuePair) StageReceive(r *Receive) error {
	switch {
	case r == nil:
		return fail(q, ErrArgument, "receive: it is nil")
	case q.phase == phaseClosed || q.phase == phaseResetting:
		return q.refuse(OpReceive)
	case q.pool != nil:
		return fail(q, ErrState, "receive: it takes shared receives; post to those")
	case q.receives.outstanding() >= q.config.ReceiveDepth:
		return fail(q, ErrQueueFull, "receive: %d are posted", q.config.ReceiveDepth)
	}
	if r.Span.Key == driver.BadKey || len(r.More) > 0 {
		if err := checkReceive(q, r, q.config.MaxSpans); err != nil {
			return err
		}
	}
	if q.receives.isFull() {
		q.receives.grow()
	}
	sequence, p := q.receives.push()
	*p = posted{tag: r.Tag, signaled: true}
	staged := next(&q.stagedReceives)
	staged.Tag, staged.Span = makeToken(kindReceive, q.slot, q.generation, sequence), r.Span
	if len(r.More) > 0 || staged.More != nil {
		q.pieces, staged.More = keepPieces(q.pieces, r.More)
	}
	q.stagedReceives = q.stagedReceives[:len(q.stagedReceives)+1]
	q.list()
	return nil
}

func checkReceive(what fmt.Stringer, r *Receive, maxSpans int) error {
	if r.Span.Key == driver.BadKey || hasBadKey(r.More) {
		return fail(what, ErrBounds, "receive: a span is not inside its memory")
	}
	if len(r.More)+1 > maxSpans {
		return fail(what, ErrLimit, "receive of %d pieces, at most %d", len(r.More)+1, maxSpans)
	}
	return nil
}

// keepPieces copies pieces behind all, where they stay until Flush. Growing leaves earlier copies where they are.
func keepPieces(all, pieces []Span) (longer, kept []Span) {
	if len(pieces) == 0 {
		return all, nil
	}
	longer = append(all, pieces...)
	return longer, longer[len(all):len(longer):len(longer)]
}

func (q *QueuePair) list() {
	if !q.inStaged {
		q.inStaged = true
		q.queue.staged = append(q.queue.staged, q)
	}
}

// Flush hands what is staged to the NIC: one doorbell for the receives and one for the requests. It fails only if the
// provider refuses, which it does when the device is closed or lost; what it refused is dropped, and the error says how
// much that was.
func (q *QueuePair) Flush() error {
	q.inStaged = false
	var failed error
	if staged := len(q.stagedReceives); staged > 0 {
		n, err := q.driver.PostReceive(q.stagedReceives)
		q.stagedReceives = q.stagedReceives[:0]
		if err != nil {
			q.receives.undo(staged - n)
			failed = notPosted(q, "receives", staged-n, staged, err)
		}
	}
	if staged := len(q.stagedRequests); staged > 0 {
		n, err := q.driver.Post(q.stagedRequests)
		q.stagedRequests = q.stagedRequests[:0]
		if err != nil {
			q.requests.undo(staged - n)
			q.quietRun = q.config.SendDepth // a signaled one may be among them: the next one is
			failed = notPosted(q, "requests", staged-n, staged, err)
		}
	}
	q.pieces = q.pieces[:0]
	return failed
}

// notPosted is the error of a Flush.
func notPosted(what fmt.Stringer, kind string, refused, staged int, err error) error {
	return fmt.Errorf("%v: %d of %d %s were not posted: %w", what, refused, staged, kind, err)
}

func (q *QueuePair) settleRequest(sequence uint32, w *Completion) bool {
	if sequence == q.requests.first || q.requests.skip(sequence) {
		if p := q.requests.pop(); p != nil {
			w.Tag = p.tag
			return !p.swallow || w.Status != OK
		}
	}
	return q.outOfOrder("request", sequence, w)
}

func (q *QueuePair) settleReceive(sequence uint32, w *Completion) bool {
	if sequence == q.receives.first {
		if p := q.receives.pop(); p != nil {
			w.Tag = p.tag
			return true
		}
	}
	return q.outOfOrder("receive", sequence, w)
}

// outOfOrder notes a completion of something that is not posted, or that others should have come before.
func (q *QueuePair) outOfOrder(what string, sequence uint32, w *Completion) bool {
	q.queue.breaks(fail(q, ErrProvider, "completed %s %d out of order or twice (%v, %v)", what, sequence, w.Op, w.Status))
	return true
}
