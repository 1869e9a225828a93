package hook

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft/verbs/driver"
)

// faultyQueuePair renames the requests that pass, so that a completion leads back to its request whatever tags the
// program uses: the tag inside is the request's ticket, which counts the requests of the queue pair.
type faultyQueuePair struct {
	driver.QueuePair
	number uint32
	faults *faults
	queue  *faultyQueue

	// sent holds the request with ticket t at t % len. It is twice as long as the send queue: a list that the device
	// may yet refuse does not overwrite what is under way.
	sent    []sent
	tickets driver.Tag // given out so far
	staged  []driver.Request
	late    []driver.Request // by LateInline: not handed to the device yet

	madeWith driver.Access  // by the program
	kept     driver.Address // by KeepAddress: from before a Reset

	behind    driver.Completion // by SwapCompletions, IgnoreFence and Overtake: to be reported behind the next one
	hasBehind bool
	failed    bool // a request failed by its own fault since the last Reset
	resetting bool // a Reset is under way

	windows  map[uint32]*faultyWindow // open ones, by number
	leftOpen []driver.Window          // by lies: to be closed with the connection
}

// sent is a request as the program posted it.
type sent struct {
	ticket  driver.Tag     // 0: none
	request driver.Request // without More, which is the program's again
	bytes   uint32
	fail    driver.Status // OK: not made to fail
	told    lieSet        // about this request
	flipped driver.Span   // by CorruptPayload: the source, until it is repaired
	retried bool          // by UnconditionalSwap and TearWrites: more of it was posted when it had completed
	// By IgnoreFence and Overtake: this one has gone in front of the request before it, or was overtaken by the one behind it.
	overtook, overtaken bool
}

func (s *sent) quiet() bool { return s.request.Flags.Has(driver.Quiet) }

// silent reports whether a completion with this status is not for the program to see.
func (s *sent) silent(status driver.Status) bool {
	return s.quiet() && status == driver.OK && !s.told.has(IgnoreQuiet)
}

// lieSet is a set of lies.
type lieSet uint64

const _ = uint(64 - lieCount) // they must fit

func (s *lieSet) add(l Lie)     { *s |= 1 << l }
func (s lieSet) has(l Lie) bool { return s&(1<<l) != 0 }

func (p *faultyQueuePair) Post(list []driver.Request) (int, error) {
	if most := len(p.sent) / 2; len(list) > most {
		return 0, fmt.Errorf("hook: %d requests at once for a send queue of %d", len(list), most)
	}
	p.staged = p.staged[:0] // the program's list is not ours to change
	late := len(p.late) > 0
	for i := range list {
		s := p.ticket(&list[i])
		p.staged = append(p.staged, list[i])
		p.prepare(s, &p.staged[i])
		if s.told.has(IgnoreFence) || s.told.has(Overtake) {
			p.overtake(s, i)
		}
		late = late || s.told.has(LateInline)
	}
	if late {
		p.postLater(p.staged)
		return len(list), nil
	}
	n, err := p.QueuePair.Post(p.staged)
	p.settlePost(n)
	return n, err
}

// ticket remembers a request.
func (p *faultyQueuePair) ticket(r *driver.Request) *sent {
	p.tickets++
	s := &p.sent[p.tickets%driver.Tag(len(p.sent))]
	*s = sent{ticket: p.tickets, request: *r, bytes: uint32(r.Bytes())}
	s.request.More = nil
	return s
}

// prepare turns the program's request into the one that goes to the device.
func (p *faultyQueuePair) prepare(s *sent, r *driver.Request) {
	e := Event{Op: r.Op, Flags: r.Flags, Queue: p.number, Tag: r.Tag, Bytes: r.Bytes()}
	p.faults.kills(e, true)
	r.Tag = s.ticket
	if rule := struck(p.faults.fail, e); rule != nil {
		s.fail = rule.Fail
		*r = p.doomed(r, rule.Fail)
		return
	}
	for i := range postingLies {
		if l := &postingLies[i]; p.faults.knows(l.lie) && l.touches(e, r) && p.faults.tells(l.lie, e) {
			s.told.add(l.lie)
			l.tell(p, s, r)
		}
	}
}

// doomed returns a request that really fails: at the target by a key that was never given out if the status says that
// the target refused it, otherwise at once by a local key that was never given out.
func (p *faultyQueuePair) doomed(r *driver.Request, status driver.Status) driver.Request {
	span := firstSpan(r)
	if span.Length == 0 {
		span = p.faults.anyByte()
	}
	span.Length = 1 // nothing checks the key of an empty message
	if !status.Refused() {
		span.Key = ^span.Key
	}
	return driver.Request{
		Tag: r.Tag, Op: driver.OpWrite, Flags: r.Flags & driver.Fence, After: r.After, Span: span,
		Remote: driver.RemoteSpan{Address: r.Remote.Address, Length: 1, Key: ^r.Remote.Key},
	}
}

// overtake puts a staged request in front of the one before it: of the Read or atomic that its fence was for, because on a
// NIC that does one request after the other leaving out the fence would not be seen; or of one of the same kind. Their
// completions keep the order of the program.
func (p *faultyQueuePair) overtake(s *sent, i int) {
	if i == 0 {
		return
	}
	slow, fast := &p.staged[i-1], &p.staged[i]
	other := p.find(slow.Tag)
	fetches := slow.Op == driver.OpRead || slow.Op.IsAtomic()
	if other.overtaken || s.told.has(IgnoreFence) && !fetches || s.told.has(Overtake) && slow.Op != fast.Op {
		return
	}
	s.overtook, other.overtaken = true, true
	slow.Flags &^= driver.Quiet // its completion lets go of the other's
	*slow, *fast = *fast, *slow
}

// settlePost takes back what the device did not take of the staged requests, and repairs sources that were taken.
func (p *faultyQueuePair) settlePost(taken int) {
	for i := range p.staged {
		s := p.find(p.staged[i].Tag)
		if i >= taken || s.request.Flags.Has(driver.Inline) {
			p.flipBack(s)
		}
		if i >= taken {
			s.ticket = 0
		}
	}
	for p.tickets > 0 && p.find(p.tickets) == nil {
		p.tickets--
	}
}

// postLater keeps a list until the next Poll, in memory of its own: More is the program's again when Post returns.
func (p *faultyQueuePair) postLater(list []driver.Request) {
	if len(p.late) == 0 {
		p.queue.later(0, p, p.postLate)
	}
	for _, r := range list {
		r.More = slices.Clone(r.More)
		p.late = append(p.late, r)
	}
}

// postLate hands over what was kept. The program was told that it is posted, so an error comes out of Poll.
func (p *faultyQueuePair) postLate() error {
	list := p.late
	p.late = nil
	if len(list) == 0 {
		return nil
	}
	_, err := p.QueuePair.Post(list)
	return err
}

// find returns the request with a ticket, or nil.
func (p *faultyQueuePair) find(ticket driver.Tag) *sent {
	if s := &p.sent[ticket%driver.Tag(len(p.sent))]; ticket != 0 && s.ticket == ticket {
		return s
	}
	return nil
}

// signalledBehind reports whether a request behind this one will be reported even if it succeeds.
func (p *faultyQueuePair) signalledBehind(s *sent) bool {
	for ticket := s.ticket + 1; ticket <= p.tickets; ticket++ {
		if next := p.find(ticket); next != nil && !next.quiet() {
			return true
		}
	}
	return false
}

func (p *faultyQueuePair) PostReceive(list []driver.Receive) (int, error) {
	return p.QueuePair.PostReceive(p.faults.order(list, p.number))
}

// State hides the death of the peer if the plan says so.
func (p *faultyQueuePair) State() driver.State {
	state := p.QueuePair.State()
	if state == driver.Error && !p.failed && p.faults.knows(IgnorePeerDeath) {
		return driver.Ready
	}
	return state
}

func (p *faultyQueuePair) SetAccess(tag driver.Tag, access driver.Access) error {
	c := driver.Completion{Tag: tag, Queue: p.number, Op: driver.OpQueueAccess}
	if p.faults.tells(WidenQueueAccess, eventOf(&c)) {
		access = driver.RemoteAll
	}
	return p.queue.changeAccess(c, IgnoreQueueAccess, p, func() error { return p.QueuePair.SetAccess(tag, access) })
}

// Address is the one from before a Reset if the plan says so.
func (p *faultyQueuePair) Address() driver.Address {
	if p.kept != "" {
		return p.kept
	}
	return p.QueuePair.Address()
}

// Reset flushes late requests too, so they are posted first.
func (p *faultyQueuePair) Reset(tag driver.Tag) error {
	if err := p.postLate(); err != nil {
		return err
	}
	if err := p.lieAtReset(tag); err != nil {
		return err
	}
	if err := p.closeLeftOpen(); err != nil {
		return err
	}
	p.resetting = true
	err := p.QueuePair.Reset(tag)
	if err != nil {
		p.resetting = false
	}
	return err
}

// lieAtReset keeps or forgets what a Reset should not.
func (p *faultyQueuePair) lieAtReset(tag driver.Tag) error {
	e := Event{Op: driver.OpReset, Queue: p.number, Tag: tag}
	if p.faults.tells(KeepAddress, e) {
		p.kept = p.Address()
	}
	if !p.faults.tells(ForgetAccess, e) {
		return nil
	}
	p.queue.swallow = append(p.queue.swallow, driver.Completion{Tag: tag, Queue: p.number, Op: driver.OpQueueAccess})
	return p.QueuePair.SetAccess(tag, p.madeWith)
}

func (p *faultyQueuePair) Close() error {
	p.queue.forget(p)
	for i := range p.sent {
		p.flipBack(&p.sent[i])
	}
	return errors.Join(p.closeLeftOpen(), p.QueuePair.Close())
}

// faultyReceives are shared receives.
type faultyReceives struct {
	driver.SharedReceives
	faults *faults
}

func (r *faultyReceives) PostReceive(list []driver.Receive) (int, error) {
	return r.SharedReceives.PostReceive(r.faults.order(list, 0))
}

// order returns the receives in the order in which the device gets them.
func (f *faults) order(list []driver.Receive, queue uint32) []driver.Receive {
	if len(list) < 2 || !f.tells(ReverseReceives, Event{Op: driver.OpReceive, Queue: queue}) {
		return list
	}
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}
