package hook

import (
	"encoding/binary"

	"github.com/weft-fabric/weft/verbs/driver"
)

// postingLies are told by changing a request on its way to the device. What they need of the completion too is found
// by sent.told; a Quiet request is then signalled, and its success swallowed.
var postingLies = [...]struct {
	lie     Lie
	touches func(e Event, r *driver.Request) bool // only these count as events of the rule
	tell    func(p *faultyQueuePair, s *sent, r *driver.Request)
}{
	{CorruptPayload, func(e Event, _ *driver.Request) bool { return e.Bytes > 0 && !e.Op.IsAtomic() }, corrupt},
	{DropWrite, func(e Event, _ *driver.Request) bool { return e.Op == driver.OpWrite && e.Bytes > 0 }, empty},
	{IgnoreQuiet, func(e Event, _ *driver.Request) bool { return e.Flags.Has(driver.Quiet) }, signal},
	{IgnoreFence, func(e Event, _ *driver.Request) bool { return e.Flags.Has(driver.Fence) }, unfence},
	{IgnoreAfter, func(_ Event, r *driver.Request) bool { return r.After.Count > 0 }, unchain},
	{LateInline, func(e Event, _ *driver.Request) bool { return e.Flags.Has(driver.Inline) }, borrow},
	{UnconditionalSwap, func(e Event, _ *driver.Request) bool { return e.Op == driver.OpCompareSwap }, signal},
	{FetchAddNew, func(e Event, _ *driver.Request) bool { return e.Op == driver.OpFetchAdd }, signal},
	{Overtake, func(e Event, _ *driver.Request) bool { return e.Op == driver.OpWrite || e.Op == driver.OpSend }, nothing},
	{TearWrites, canTear, shorten},
	{IgnoreRevoke, isRevoke, keepLent},
	{EarlyRevoke, isRevoke, keepLent},
	{WidenWindow, isBind, lendForAll},
	{GenerousWindow, isBind, lendAll},
}

// tornBytes is how much of a Write comes late: half a word.
const tornBytes = 4

// canTear leaves Quiet requests alone: the program may take their room in the send queue before the rest has completed.
func canTear(e Event, r *driver.Request) bool {
	return e.Op == driver.OpWrite && e.Flags == 0 && len(r.More) == 0 && e.Bytes > tornBytes
}

func signal(_ *faultyQueuePair, _ *sent, r *driver.Request)  { r.Flags &^= driver.Quiet }
func unfence(_ *faultyQueuePair, _ *sent, r *driver.Request) { r.Flags &^= driver.Fence }
func borrow(_ *faultyQueuePair, _ *sent, r *driver.Request)  { r.Flags &^= driver.Inline }
func unchain(_ *faultyQueuePair, _ *sent, r *driver.Request) { r.After = driver.Arrival{} }

func nothing(*faultyQueuePair, *sent, *driver.Request)       {}
func shorten(_ *faultyQueuePair, _ *sent, r *driver.Request) { r.Span.Length -= tornBytes }

// empty keeps the key and the place in the queue, but moves no byte.
func empty(_ *faultyQueuePair, _ *sent, r *driver.Request) { r.Span.Length, r.More = 0, nil }

// corrupt flips a bit of the source until the request completes: the memory is the program's, and only the program
// can register a copy. What a Read fetched is changed when it completes.
func corrupt(p *faultyQueuePair, s *sent, r *driver.Request) {
	r.Flags &^= driver.Quiet
	if r.Op == driver.OpRead {
		return
	}
	s.flipped = firstSpan(r)
	p.faults.flip(s.flipped)
}

// flipBack repairs the source of a request that was corrupted.
func (p *faultyQueuePair) flipBack(s *sent) {
	p.faults.flip(s.flipped)
	s.flipped = driver.Span{}
}

// flip flips a bit of the first byte under a span, if the span has one and its memory is still open.
func (f *faults) flip(s driver.Span) {
	if s.Length == 0 {
		return
	}
	if b := f.bytes(s); b != nil {
		b[0] ^= 1
	}
}

// firstSpan returns the first piece that holds bytes.
func firstSpan(r *driver.Request) driver.Span {
	if r.Span.Length > 0 {
		return r.Span
	}
	for _, s := range r.More {
		if s.Length > 0 {
			return s
		}
	}
	return r.Span
}

// completed takes the completion of a request from the device.
func (p *faultyQueuePair) completed(c driver.Completion) {
	s := p.find(c.Tag)
	switch {
	case s == nil: // the device made it up; that is for others to find
		p.queue.push(entry{Completion: c})
		return
	case s.retried:
		p.completedAgain(s, &c)
		return
	}
	p.restore(s, &c)
	if c.Status == driver.OK && p.postMore(s) {
		p.awaitMore(s, &c)
		return
	}
	switch silent := s.silent(c.Status); {
	case silent && s.overtaken:
		p.reportBehind()
	case silent:
	case s.overtook:
		p.behind, p.hasBehind = c, true
	default:
		p.queue.report(p, s, c)
	}
}

// reportBehind reports the completion that waited for another, if there is one.
func (p *faultyQueuePair) reportBehind() {
	if p.hasBehind {
		p.hasBehind = false
		p.queue.push(entry{Completion: p.behind})
	}
}

// restore makes a completion name the request that the program posted, and ends what was done to its memory.
func (p *faultyQueuePair) restore(s *sent, c *driver.Completion) {
	c.Tag, c.Op = s.request.Tag, s.request.Op
	p.flipBack(s)
	if s.told != 0 && c.Status == driver.OK {
		c.Bytes = s.bytes
		p.change(s)
	}
	if s.fail != driver.OK && c.Status != driver.Flushed {
		c.Status = s.fail
	}
}

// change lies about what a request brought back.
func (p *faultyQueuePair) change(s *sent) {
	switch {
	case s.told.has(CorruptPayload) && s.request.Op == driver.OpRead:
		p.faults.flip(s.request.Span)
	case s.told.has(FetchAddNew):
		if b := p.faults.bytes(s.request.Span); len(b) == 8 {
			binary.NativeEndian.PutUint64(b, binary.NativeEndian.Uint64(b)+s.request.Swap)
		}
	case s.told.has(EarlyRevoke):
		p.takeBackLate(uint32(s.request.Compare))
	}
}

// postMore posts what a lie has left to do of a request that has completed, and reports whether there is something. The
// room in the send queue is its own: the program does not know yet that it has completed.
func (p *faultyQueuePair) postMore(s *sent) bool {
	switch {
	case s.told.has(UnconditionalSwap):
		return p.postSwap(s)
	case s.told.has(TearWrites) && !s.retried:
		return p.postRest(s)
	}
	return false
}

// awaitMore holds the completion of a request of which more was posted, and with it what comes behind.
func (p *faultyQueuePair) awaitMore(s *sent, c *driver.Completion) {
	s.retried = true
	if !s.quiet() {
		p.queue.push(entry{Completion: *c, awaits: s.ticket})
	}
}

// completedAgain takes the completion of what was posted more. There may be still more: a word may have changed again.
func (p *faultyQueuePair) completedAgain(s *sent, c *driver.Completion) {
	if c.Status == driver.OK && p.postMore(s) {
		return
	}
	s.retried = false
	p.queue.letGo(p.number, s.ticket)
}

// postRest posts the end of a Write that was torn.
func (p *faultyQueuePair) postRest(s *sent) bool {
	rest := s.request
	done := rest.Span.Length - tornBytes
	rest.Span, rest.Remote = rest.Span.Sub(done, tornBytes), rest.Remote.Sub(uint64(done), tornBytes)
	return p.postAgain(s, rest)
}

// postSwap repeats a CompareSwap if it found something else than expected, and remembers what it expects now.
func (p *faultyQueuePair) postSwap(s *sent) bool {
	b := p.faults.bytes(s.request.Span)
	if len(b) != 8 {
		return false
	}
	found := binary.NativeEndian.Uint64(b)
	if found == s.request.Compare {
		return false
	}
	s.request.Compare = found
	return p.postAgain(s, s.request)
}

// postAgain posts a request under the ticket of one that has completed.
func (p *faultyQueuePair) postAgain(s *sent, r driver.Request) bool {
	r.Tag, r.Flags, r.After = s.ticket, 0, driver.Arrival{}
	n, err := p.QueuePair.Post([]driver.Request{r})
	return n == 1 && err == nil
}
