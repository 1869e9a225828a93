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
}

func signal(_ *faultyQueuePair, _ *sent, r *driver.Request)  { r.Flags &^= driver.Quiet }
func unfence(_ *faultyQueuePair, _ *sent, r *driver.Request) { r.Flags &^= driver.Fence }
func borrow(_ *faultyQueuePair, _ *sent, r *driver.Request)  { r.Flags &^= driver.Inline }
func unchain(_ *faultyQueuePair, _ *sent, r *driver.Request) { r.After = driver.Arrival{} }

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
		p.swappedAgain(s, &c)
		return
	}
	p.restore(s, &c)
	if s.told.has(UnconditionalSwap) && p.swapAgain(s, &c) {
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
	}
}

// swapAgain posts a CompareSwap that did not swap once more, with the value it found. Meanwhile its completion, and
// what comes behind it, waits. It reports whether that was needed.
func (p *faultyQueuePair) swapAgain(s *sent, c *driver.Completion) bool {
	if c.Status != driver.OK || !p.postSwap(s) {
		return false
	}
	s.retried = true
	if !s.quiet() {
		p.queue.push(entry{Completion: *c, swapping: s.ticket})
	}
	return true
}

// swappedAgain takes the completion of a repeated CompareSwap. The word may have changed again.
func (p *faultyQueuePair) swappedAgain(s *sent, c *driver.Completion) {
	if c.Status == driver.OK && p.postSwap(s) {
		return
	}
	s.retried = false
	p.queue.swapped(p.number, s.ticket)
}

// postSwap repeats a CompareSwap if it found something else than expected, and remembers what it expects now. The
// room in the send queue is its own: the program does not know yet that it has completed.
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
	again := s.request
	again.Tag, again.Flags, again.After = s.ticket, 0, driver.Arrival{}
	n, err := p.QueuePair.Post([]driver.Request{again})
	return n == 1 && err == nil
}
