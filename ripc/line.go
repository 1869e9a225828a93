package ripc

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
)

// Line is one end of a private way between two processes, for those who need more than messages to services: what is sent on it
// arrives once and in order, and it ends with the link that it goes over. Package stream makes connections of lines.
//
// It belongs to the node's loop: but for Do and Await, its methods are called from its user's, or from a function given to Do.
type Line struct {
	node    *Node
	id      ID         // this end; who is told it may speak to it
	remote  ID         // the other end; nobody: it is not known yet
	link    *link.Link // nil: it is not known yet
	user    LineUser
	opening *operation // the call that asks for it; nil: it has ended
	isGone  bool
}

// LineUser is told what happens on a line. It is called on the loop, and must not wait.
type LineUser interface {
	// Ready: the service has accepted the line, so it may be sent on.
	Ready()
	// Arrived: a message has come. It is only valid during the call. What it lends, the user pulls or releases.
	Arrived(m *wire.Message)
	// Ended: the line was not accepted, or is lost. It is of no use any more.
	Ended(why error)
}

// maxLines is how many lines one process can have with this one.
const maxLines = 1 << 16

// NewLine makes an end of a line, to be opened, or to accept one with.
func (n *Node) NewLine(user LineUser) *Line {
	return &Line{node: n, id: serviceID(n.id, newSalt()), user: user}
}

// Open asks a service for a line, by a call with these items. It does not wait: the user is told. It is called from outside the loop.
func (l *Line) Open(to ID, items ...[]byte) error {
	n := l.node
	if l.user == nil {
		return fmt.Errorf("open a line: nobody uses it: NewLine was given nil: %w", ErrArgument)
	}
	o := n.newOperation(wire.Call, nil, &Request{To: to, Items: append([][]byte{l.id[:]}, items...)})
	o.line, l.opening = l, o
	err := l.Do(func() {
		n.office.lines[l.id] = l
		o.start()
	})
	if err != nil {
		return fmt.Errorf("open a line: %w", err)
	}
	return nil
}

// answered hears how the call has ended that asked for the line.
func (l *Line) answered(o *operation) {
	l.opening = nil
	why := o.err
	if why == nil {
		remote, err := acceptance(&l.node.office.message, o.slot)
		o.slot.Release()
		o.slot = nil
		if why = err; err == nil {
			why = l.bind(o.link, remote)
		}
	}
	if why != nil {
		l.end(why)
	}
}

// acceptance is the other end, as the answer in a slot names it: if it is one that accepts a line.
func acceptance(m *wire.Message, s *link.Slot) (remote ID, err error) {
	if err := m.Take(s.Bytes()); err != nil {
		return remote, err
	}
	if err := failure(m); err != nil {
		return remote, err
	}
	return acceptedBy(m.Items.All())
}

// acceptedBy is the other end, if these are the items of an answer that accepts a line.
func acceptedBy(items [][]byte) (remote ID, err error) {
	if len(items) == 2 && string(items[0]) == accepts {
		if remote, err = lineID(items[1:]); err == nil {
			return remote, nil
		}
	}
	return ID{}, ErrNoLine
}

// accepts is what the answer begins with that accepts a line. A service that knows nothing of lines does not say so: least of all one
// that answers with what it was asked.
const accepts = "weft line"

// lineID is the end of a line that the first of some items names.
func lineID(items [][]byte) (id ID, err error) {
	if len(items) == 0 || len(items[0]) != len(id) || items[0][0] != byte(wire.Random) {
		return id, fmt.Errorf("the message names no line: %w", ErrArgument)
	}
	return ID(items[0]), nil
}

// bind notes where the other end is. Whoever knows the ID of this one was told it by the call, or has accepted it.
func (l *Line) bind(to *link.Link, remote ID) error {
	if l.link != nil {
		return l.belongs(to, remote)
	}
	if to.HasEnded() {
		return fmt.Errorf("open a line: %w", ErrLost)
	}
	l.link, l.remote = to, remote
	to.Keep(1)
	l.user.Ready()
	return nil
}

func (l *Line) belongs(to *link.Link, remote ID) error {
	if l.link != to || l.remote != remote {
		return fmt.Errorf("a line to %v, from %v: %w", l.remote, remote, ErrForbidden)
	}
	return nil
}

// Accept answers a call that asks for a line. It is called from outside the loop, and does not wait.
func (l *Line) Accept(m *Message) error {
	if m == nil || l.user == nil {
		return fmt.Errorf("accept a line: the call, or the user that NewLine was given, is nil: %w", ErrArgument)
	}
	remote, err := lineID(m.Items())
	if err != nil {
		return fmt.Errorf("accept a line: %w", err)
	}
	return l.answer(m, wire.NoCode, [][]byte{[]byte(accepts), l.id[:]}, func(from *link.Link) error {
		l.node.office.lines[l.id] = l
		return l.bind(from, remote)
	})
}

// Refuse answers it with an error. It is called from outside the loop, and does not wait.
func (l *Line) Refuse(m *Message, text string) error {
	if m == nil {
		return fmt.Errorf("refuse a line: the call is nil: %w", ErrArgument)
	}
	return l.answer(m, wire.Failed, [][]byte{[]byte(text)}, func(*link.Link) error { return nil })
}

// answer answers a call that asks for a line, and goes on with then. Nobody waits: one who dials could be slow on purpose.
func (l *Line) answer(m *Message, code wire.Code, items [][]byte, then func(*link.Link) error) (err error) {
	if !m.IsCall() || m.isAnswered || m.isReleased {
		return fmt.Errorf("answer a line: %w", ErrAnswered)
	}
	if m.node != l.node {
		return fmt.Errorf("answer a line: the call came to another node: %w", ErrArgument)
	}
	o := m.node.newOperation(wire.Answer, m.service, &Request{To: m.From(), Items: items})
	o.Head.Code, o.Head.Number = code, m.wire.Head.Number
	o.link = m.delivery.link
	failed := l.Do(func() {
		if err = l.node.office.admitLine(o.link); err != nil && code == wire.NoCode {
			return
		}
		m.isAnswered = true
		o.start()
		if err = then(o.link); err != nil {
			l.Drop()
		}
	})
	if failed != nil || err != nil {
		return fmt.Errorf("answer a line: %w", orElse(failed, err))
	}
	return nil
}

// admitLine says whether another process may have one more.
func (f *office) admitLine(from *link.Link) error {
	switch {
	case f.isClosed:
		return ErrClosed
	case from.HasEnded(): // it may not be ready yet: the peer can be faster
		return ErrLost
	case from.Kept() >= maxLines:
		return fmt.Errorf("%d lines with one process: %w", maxLines, link.ErrFull)
	}
	return nil
}

// arrived takes a message to the line. The first one may overtake the answer that names its sender.
func (l *Line) arrived(from *link.Link, m *wire.Message) error {
	if m.Head.Type != wire.Send {
		return fmt.Errorf("a %v on a line: %w", m.Head.Type, ErrForbidden)
	}
	if l.link != from || l.remote != m.Head.From {
		if err := l.bind(from, m.Head.From); err != nil {
			return err
		}
	}
	l.user.Arrived(m)
	return nil
}

// end lets the user know that the line is lost.
func (l *Line) end(why error) {
	if !l.isGone {
		l.Drop()
		l.user.Ended(why)
	}
}

// loseLine ends the line to an end that did not take what was said: its process does not know it, or is gone.
func (f *office) loseLine(over *link.Link, remote ID, why error) {
	if refused := (*link.RefusedError)(nil); errors.As(why, &refused) {
		why = fmt.Errorf("%w: the other process knows of no such line", ErrRefused)
	}
	for _, l := range f.lines {
		if l.link == over && l.remote == remote {
			l.end(why)
		}
	}
}

// endLines ends the lines that went over a link, or all if it is nil.
func (f *office) endLines(over *link.Link, why error) {
	for _, l := range f.lines {
		if over == nil || l.link == over {
			l.end(why)
		}
	}
}

// Do runs f on the loop.
func (l *Line) Do(f func()) error { return l.node.on(f) }

// Await waits for an event that is set on the loop.
func (l *Line) Await(ctx context.Context, e *loop.Event) error { return l.node.await(ctx, e) }

// Node is whose line it is.
func (l *Line) Node() *Node { return l.node }

// ID names this end, for people.
func (l *Line) ID() ID { return l.id }

// Remote names the other end, once the line is ready.
func (l *Line) Remote() ID { return l.remote }

// IsReady reports whether it may be sent on.
func (l *Line) IsReady() bool { return l.link != nil && !l.isGone }

// Room is how many bytes a message may have whose items, loans included, are so many.
func (l *Line) Room(items, loans int) int { return l.link.Limit() - wire.Overhead(items, loans, 0) }

// Send sends a message as soon as the link can. Its owner is told, unless there is an error.
func (l *Line) Send(o *link.Outgoing) error {
	if !l.IsReady() {
		return fmt.Errorf("send on a line: %w", ErrLost)
	}
	o.Head = wire.Head{Type: wire.Send, From: l.id, To: l.remote}
	return l.link.Send(o)
}

// Cancel takes a message back that was not sent, and reports whether that was so. Its owner is told nothing then.
func (l *Line) Cancel(o *link.Outgoing) bool { return l.link != nil && l.link.Cancel(o) }

// CanLend reports whether a message may lend a buffer.
func (l *Line) CanLend() bool { return l.IsReady() && l.link.CanLend() }

// Lend is the first n bytes of a buffer, as a message lends them, or a pull fills them. The buffer must be kept meanwhile.
func (l *Line) Lend(b *Buffer, n int) link.Piece {
	return link.Piece{Bytes: b.Bytes()[:n], Span: b.memory.Span(b.offset, n)}
}

// Pull fetches what a message has lent. Its owner is told, unless there is an error.
func (l *Line) Pull(p *link.Pull) error {
	if !l.IsReady() {
		return fmt.Errorf("pull on a line: %w", ErrLost)
	}
	return l.link.Pull(p)
}

// TakeBack takes back what a message has lent. Its owner is told when the other end has nothing of it any more, which must not use
// it by now: if it does, the link breaks.
func (l *Line) TakeBack(o *link.Outgoing) {
	if l.link != nil {
		l.link.TakeBack(o)
	}
}

// Release lets the other end have back what a message of its has lent.
func (l *Line) Release(m *wire.Message) {
	if l.IsReady() && m.Loans.Len() > 0 {
		l.link.Release(m.Head.Number)
	}
}

// GiveUp takes back the call that asks for the line. If it is on its way, the line may become ready all the same.
func (l *Line) GiveUp() {
	switch o := l.opening; {
	case o == nil:
	case o.link == nil:
		o.abandoned = true // who has it next drops it
	case o.link.Cancel(&o.Outgoing):
		o.finish(errAbandoned)
	}
}

// Drop forgets the line, when both ends know that nothing more will be sent. The user is not told.
func (l *Line) Drop() {
	if l.isGone {
		return
	}
	l.isGone = true
	delete(l.node.office.lines, l.id)
	if l.link != nil {
		l.link.Keep(-1)
	}
}
