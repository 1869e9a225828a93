package hook

import "github.com/weft-fabric/weft/verbs/driver"

// completionLies are told by changing a completion, or by dropping it.
var completionLies = [...]struct {
	lie     Lie
	touches func(p *faultyQueuePair, e Event) bool // only these count as events of the rule
	tell    func(c driver.Completion) (told driver.Completion, keep bool)
}{
	{DropUnreceived, isUnreceived, beOK},
	{HideFailure, isFailure, beOK},
	{DropQuietFailure, isQuietFailure, drop},
	{DropFlushed, isFlushed, drop},
	{ResetWithoutFlush, isReset, drop},
	{IgnorePeerDeath, isPeerDeath, drop},
	{DropCompletion, always, drop},
	{WrongTag, always, beOtherTag},
	{WrongBytes, isSuccess, beLonger},
	{WrongImm, hasImm, beOtherImm},
	{WrongOp, always, beOtherOp},
	{WrongQueue, always, beOtherQueue},
}

func drop(c driver.Completion) (driver.Completion, bool)         { return c, false }
func beOK(c driver.Completion) (driver.Completion, bool)         { c.Status = driver.OK; return c, true }
func beOtherTag(c driver.Completion) (driver.Completion, bool)   { c.Tag ^= 1; return c, true }
func beLonger(c driver.Completion) (driver.Completion, bool)     { c.Bytes++; return c, true }
func beOtherImm(c driver.Completion) (driver.Completion, bool)   { c.Imm ^= 1; return c, true }
func beOtherOp(c driver.Completion) (driver.Completion, bool)    { c.Op = otherOp(c.Op); return c, true }
func beOtherQueue(c driver.Completion) (driver.Completion, bool) { c.Queue ^= 1; return c, true }

func always(*faultyQueuePair, Event) bool { return true }

func isSuccess(_ *faultyQueuePair, e Event) bool { return e.Status == driver.OK }

func isFailure(_ *faultyQueuePair, e Event) bool { return e.Status != driver.OK }

func isUnreceived(_ *faultyQueuePair, e Event) bool { return e.Status == driver.ReceiverNotReady }

func isQuietFailure(_ *faultyQueuePair, e Event) bool {
	return e.Status != driver.OK && e.Flags.Has(driver.Quiet)
}

func isFlushed(p *faultyQueuePair, e Event) bool {
	return p != nil && e.Status == driver.Flushed && !p.resetting
}

func isReset(p *faultyQueuePair, e Event) bool {
	return p != nil && e.Status == driver.Flushed && p.resetting
}

// isPeerDeath takes what is flushed while no request has failed of its own fault to be the peer's.
func isPeerDeath(p *faultyQueuePair, e Event) bool {
	return p != nil && !p.failed && !p.resetting && (e.Status == driver.RetryExceeded || e.Status == driver.Flushed)
}

func hasImm(_ *faultyQueuePair, e Event) bool {
	return e.Op == driver.OpReceiveImm || e.Op == driver.OpReceiveWriteImm
}

// otherOp returns a wrong operation of the same side, so that the lie is no more than that.
func otherOp(op driver.Op) driver.Op {
	switch op {
	case driver.OpReceive:
		return driver.OpReceiveImm
	case driver.OpReceiveImm, driver.OpReceiveWriteImm:
		return driver.OpReceive
	case driver.OpSend:
		return driver.OpWrite
	}
	return driver.OpSend
}

func eventOf(c *driver.Completion) Event {
	return Event{Op: c.Op, Queue: c.Queue, Tag: c.Tag, Bytes: uint64(c.Bytes), Status: c.Status}
}

// report puts a completion in the backlog as the plan wants it. p is its queue pair, nil if it has none; s is its
// request, nil if it is not of a request.
func (q *faultyQueue) report(p *faultyQueuePair, s *sent, c driver.Completion) {
	e := eventOf(&c)
	e.control = !c.Op.IsRequest() && !c.Op.IsReceive()
	if s != nil {
		e.Flags = s.request.Flags
	}
	q.faults.kills(e, false)
	if p != nil {
		p.noteFailure(c.Status)
	}
	for i := range completionLies {
		l := &completionLies[i]
		if !q.faults.knows(l.lie) || !l.touches(p, e) || !q.faults.tells(l.lie, e) {
			continue
		}
		told, keep := l.tell(c)
		if !keep {
			return
		}
		c = told
	}
	if s != nil && e.Status != driver.OK && c.Status == driver.OK {
		c.Bytes = s.bytes // a failed request reported none
		if s.silent(c.Status) {
			return
		}
	}
	q.queueUp(p, s, c, e)
}

// noteFailure tells a fault of this end's own from the peer's.
func (p *faultyQueuePair) noteFailure(status driver.Status) {
	switch status {
	case driver.OK, driver.Flushed, driver.RetryExceeded:
	default:
		p.failed = true
	}
}

// queueUp puts a completion in its place in the backlog, once or twice.
func (q *faultyQueue) queueUp(p *faultyQueuePair, s *sent, c driver.Completion, e Event) {
	out := entry{Completion: c}
	if rule := struck(q.faults.hold, e); rule != nil {
		out.polls = rule.Polls
		if rule.Delay > 0 {
			out.at = q.faults.clock.Now().Add(rule.Delay)
		}
	}
	if s != nil && q.swaps(p, s, &out, e) {
		return
	}
	q.push(out)
	if q.faults.tells(DoubleCompletion, e) {
		q.push(entry{Completion: c})
	}
}

// swaps deals with completions that change places, and reports whether it has put the completion in its place. Only a
// completion that has a next one to wait for is kept back, so that none is lost.
func (q *faultyQueue) swaps(p *faultyQueuePair, s *sent, out *entry, e Event) bool {
	switch {
	case p.hasBehind:
		q.push(*out)
		p.reportBehind()
		return true
	case p.signalledBehind(s) && q.faults.tells(SwapCompletions, e):
		p.behind, p.hasBehind = out.Completion, true
		return true
	}
	return false
}
