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
	draft := q.draft(r.Op, r.Flags, r.Span)
	draft.Imm, draft.Remote, draft.Compare, draft.Swap, draft.After = r.Imm, r.Remote, r.Compare, r.Swap, r.After
	if len(r.More) > 0 {
		draft.More = r.More
	}
	return q.commit(draft, r.Tag)
}

// draft is the place of the next request behind the staged ones. A request is written where it stays, field by field:
// built elsewhere and copied, it would cost twice as much.
func (q *QueuePair) draft(op Op, flags Flags, span Span) *Request {
	n := len(q.stagedRequests)
	if n == cap(q.stagedRequests) {
		q.stagedRequests = append(q.stagedRequests, Request{})[:n]
	}
	r := &q.stagedRequests[:n+1][n]
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
	if err := q.check(r); err != nil {
		return err
	}
	swallow := r.Flags&Quiet != 0
	if swallow && q.quietRun+1 >= (q.config.SendDepth+1)/2 {
		// Half the queue is Quiet. Without a sign of life the queue would fill up with requests whose end nobody hears
		// of, so one is signaled and its completion swallowed.
		r.Flags &^= Quiet
	}
	q.quietRun++
	if r.Flags&Quiet == 0 {
		q.quietRun = 0
	}
	sequence := q.requests.push(posted{tag: tag, signaled: r.Flags&Quiet == 0, swallow: swallow})
	r.Tag = makeToken(kindRequest, q.slot, q.generation, sequence)
	if len(r.More) > 0 {
		r.More = q.keepPieces(r.More)
	}
	q.stagedRequests = q.stagedRequests[:len(q.stagedRequests)+1]
	q.list()
	return nil
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
	if err := checkReceive(q, r, q.config.MaxSpans); err != nil {
		return err
	}
	sequence := q.receives.push(posted{tag: r.Tag, signaled: true})
	staged := Receive{Tag: makeToken(kindReceive, q.slot, q.generation, sequence), Span: r.Span}
	if len(r.More) > 0 {
		staged.More = q.keepPieces(r.More)
	}
	q.stagedReceives = append(q.stagedReceives, staged)
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

// keepPieces copies pieces to where they stay until Flush. Growing leaves earlier copies where they are.
func (q *QueuePair) keepPieces(pieces []Span) []Span {
	start := len(q.pieces)
	q.pieces = append(q.pieces, pieces...)
	return q.pieces[start:len(q.pieces):len(q.pieces)]
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
		if n, err := q.driver.PostReceive(q.stagedReceives); err != nil {
			q.receives.undo(staged - n)
			failed = fmt.Errorf("%v: %d of %d receives were not posted: %w", q, staged-n, staged, err)
		}
		q.stagedReceives = q.stagedReceives[:0]
	}
	if staged := len(q.stagedRequests); staged > 0 {
		if n, err := q.driver.Post(q.stagedRequests); err != nil {
			q.requests.undo(staged - n)
			q.quietRun = q.config.SendDepth // a signaled one may be among them: the next one is
			failed = fmt.Errorf("%v: %d of %d requests were not posted: %w", q, staged-n, staged, err)
		}
		q.stagedRequests = q.stagedRequests[:0]
	}
	q.pieces = q.pieces[:0]
	return failed
}

func (q *QueuePair) settleRequest(sequence uint32, w *Completion) (bool, error) {
	p, inOrder := q.requests.retire(sequence)
	if !inOrder {
		return true, fail(q, ErrProvider, "completed request %d out of order or twice (%v, %v)", sequence, w.Op, w.Status)
	}
	w.Tag = p.tag
	return !p.swallow || w.Status != OK, nil
}

func (q *QueuePair) settleReceive(sequence uint32, w *Completion) (bool, error) {
	if sequence != q.receives.first {
		return true, fail(q, ErrProvider, "completed receive %d out of order or twice (%v, %v)", sequence, w.Op, w.Status)
	}
	p, found := q.receives.retire(sequence)
	if !found {
		return true, fail(q, ErrProvider, "completed receive %d, which is not posted", sequence)
	}
	w.Tag = p.tag
	return true, nil
}
