package ripc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/leak"
	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
)

// Message is a message that was received, or an answer. It holds a receive of the node until Release: a service that holds many is sent no
// more, see "What a slow service holds up". One goroutine at a time uses it.
type Message struct {
	node       *Node
	service    *Service  // that it was received by; nil: the node itself
	handling   *handling // nil: no handler has it
	delivery   delivery
	head       wire.Head
	wire       *wire.Message // taken apart
	until      clock.Time    // when what it lends is taken back
	isAnswered bool
	isReleased bool
	isPulled   bool
	handle     leak.Handle
}

func (n *Node) newMessage(s *Service, d delivery) (*Message, error) {
	m := &Message{node: n, service: s, delivery: d, wire: parts.Get().(*wire.Message), handle: leak.Opened("ripc.Message")}
	if err := m.wire.Take(d.slot.Bytes()); err != nil { // it was looked at when it came: somebody has written to it since
		m.Release()
		return nil, fmt.Errorf("receive: %w", err)
	}
	m.head = m.wire.Head
	m.until = d.at.Add(time.Duration(m.head.Expiry) * time.Millisecond)
	return m, nil
}

// parts are for messages to be taken apart: their lists are ten times as large as all else of a message.
var parts = sync.Pool{New: func() any { return new(wire.Message) }}

// nothing is what a message has that was released.
var nothing wire.Message

// recycle lets the next message have the parts, unless somebody may still look at them: a pull that was given up goes on.
func (m *Message) recycle() {
	if m.wire.Loans.Len() == 0 {
		m.wire.Clear()
		parts.Put(m.wire)
	}
	m.wire = &nothing
}

// From is the service that has sent it, or the process.
func (m *Message) From() ID { return m.head.From }

// Sender is whose process has sent it, by the certificate that it has shown when it was linked with this one. Without Config.Keys
// nobody knows.
func (m *Message) Sender() (who keys.Identity, known bool) {
	who, _ = m.delivery.link.Identity.(keys.Identity)
	who.Services = slices.Clone(who.Services)
	return who, who.Name != ""
}

// Items are what it carries. They are valid until Release.
func (m *Message) Items() [][]byte { return m.wire.Items.All() }

// Bytes is the first item, or nil if there is none.
func (m *Message) Bytes() []byte {
	if m.wire.Items.Len() == 0 {
		return nil
	}
	return m.wire.Items.All()[0]
}

// IsCall reports whether somebody waits for an answer.
func (m *Message) IsCall() bool { return m.head.Type == wire.Call }

// Deadline is when the caller gives up waiting for the answer, about: the time that the call took to come is not counted. There is
// none if it has not said so.
func (m *Message) Deadline() (at time.Time, ok bool) {
	if m.head.Patience == 0 {
		return at, false
	}
	return time.Now().Add(m.patientUntil().Sub(clock.Real.Now())), true
}

// patientUntil is the same by clock.Real, of a call that has said how long it is waited for.
func (m *Message) patientUntil() clock.Time {
	return m.delivery.at.Add(time.Duration(m.head.Patience) * time.Millisecond)
}

// Lent are the sizes of what the sender lends.
func (m *Message) Lent() []uint64 { return lengths(m.wire.Loans.All()) }

// Returns are the sizes of what the sender lends for the answer.
func (m *Message) Returns() []uint64 { return lengths(m.wire.Returns.All()) }

func lengths(list []wire.Span) (sizes []uint64) {
	for _, s := range list {
		sizes = append(sizes, s.Length)
	}
	return sizes
}

// Filled are the sizes of what the service has written to the returns of a call, by their places; the others are 0.
func (m *Message) Filled() []uint64 {
	sizes := make([]uint64, wire.MaxList)
	n := 0
	for _, f := range m.wire.Fills.All() {
		sizes[f.Return] = f.Length
		n = int(f.Return) + 1
	}
	return sizes[:n]
}

// failure is the error of an answer that says that the service failed.
func failure(m *wire.Message) error {
	if m.Head.Type != wire.Answer || m.Head.Code == wire.NoCode {
		return nil
	}
	var text []byte
	if m.Items.Len() > 0 {
		text = m.Items.All()[0]
	}
	return &FailedError{Service: m.Head.From, Text: printable.Clean(string(text), maxFailure), timedOut: m.Head.Code == wire.TimedOut}
}

// pulling is a Pull, and whoever waits for it.
type pulling struct {
	link.Pull
	office *office
	err    error
	done   loop.Event
}

// Pulled implements link.PullOwner.
func (p *pulling) Pulled(_ *link.Pull, err error) {
	p.err = p.office.blame(err)
	p.done.Set()
}

// Pull reads what the sender lends, into buffers of the node's, which the caller releases. The sender has its memory back then.
func (m *Message) Pull(ctx context.Context) ([]*Buffer, error) {
	var list []*Buffer
	for _, size := range m.Lent() {
		b, err := m.node.pool.take(int(min(size, 1<<62)))
		if err != nil {
			releaseAll(list)
			return nil, err
		}
		list = append(list, b)
	}
	if err := m.PullInto(ctx, list...); err != nil {
		releaseAll(list)
		return nil, err
	}
	return list, nil
}

func releaseAll(list []*Buffer) {
	for _, b := range list {
		b.Release()
	}
}

// PullInto reads what the sender lends into buffers of the caller's choice, one for each, and as long. If ctx ends first, the
// buffers are in use until the link says otherwise: they are kept until then.
func (m *Message) PullInto(ctx context.Context, into ...*Buffer) error {
	if m.isPulled || m.isReleased || m.wire.Loans.Len() == 0 {
		return fmt.Errorf("pull: nothing is lent, or it was given back: %w", ErrArgument)
	}
	if err := m.node.checkBuffers("into", into); err != nil {
		return fmt.Errorf("pull: %w", err)
	}
	p := &pulling{office: m.node.office}
	p.Number, p.From, p.Until, p.Owner = m.head.Number, m.wire.Loans.All(), m.until, p
	for i, b := range into {
		if !b.retain() {
			releaseAll(into[:i])
			return fmt.Errorf("pull: %w", wasReleased("into", i))
		}
		p.Into = append(p.Into, b.piece().Span)
	}
	var err error
	failed := m.node.on(func() { err = m.delivery.link.Pull(&p.Pull) })
	if failed != nil || err != nil {
		releaseAll(into)
		return fmt.Errorf("pull: %w", orElse(failed, err))
	}
	m.isPulled = true
	if err := m.node.await(ctx, &p.done); err != nil {
		m.node.runs.Go(func() { // the buffers come back when it ends
			_ = m.node.await(m.node.ctx, &p.done)
			releaseAll(into)
		})
		return err
	}
	releaseAll(into)
	return p.err
}

func orElse(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// Reply is an answer in full.
type Reply struct {
	Items  [][]byte
	Fill   map[int]*Buffer // what is written to the returns of the call, by their places
	Lend   []*Buffer       // what the caller may read: AnswerWith waits until it has
	Expiry time.Duration   // how long it may; 0: a minute
}

// Answer answers a call with a short message. If that can not be sent as it is, because it is too large for instance, the call
// can still be answered otherwise. It can also be answered after Release: the caller waits as long as it is not.
func (m *Message) Answer(ctx context.Context, items ...[]byte) error {
	return m.AnswerWith(ctx, Reply{Items: items})
}

// maxFailure is how many bytes of why a service failed its caller is told: an error may be as long as what it is about.
const maxFailure = 1024

// Fail answers a call with an error: the caller gets a *FailedError with the text, or the first KiB of it.
func (m *Message) Fail(ctx context.Context, text string) error {
	return m.failAs(ctx, wire.Failed, text)
}

// failWith is Fail, with an error: that the time was over is told the caller in a way that its program understands, too.
func (m *Message) failWith(ctx context.Context, why error) error {
	if errors.Is(why, context.DeadlineExceeded) {
		return m.failAs(ctx, wire.TimedOut, why.Error())
	}
	return m.failAs(ctx, wire.Failed, why.Error())
}

func (m *Message) failAs(ctx context.Context, code wire.Code, text string) error {
	limit := min(maxFailure, m.node.shortLimit())
	return m.answer(ctx, &Reply{Items: [][]byte{[]byte(text[:min(len(text), limit)])}}, code)
}

// AnswerWith answers a call. It is the service's choice what to do with the caller's returns: to fill them, or to lend the answer,
// or neither (figure 2).
//
// If it lends, it returns when the caller has pulled what is lent or released the answer, is gone, or Reply.Expiry is over. So a slow
// caller keeps a handler busy: let Serve have some more of them, say a shorter Expiry, or fill returns, which waits for no caller.
func (m *Message) AnswerWith(ctx context.Context, r Reply) error {
	return m.answer(ctx, &r, wire.NoCode)
}

func (m *Message) answer(ctx context.Context, r *Reply, code wire.Code) error {
	if !m.IsCall() || m.isAnswered {
		return fmt.Errorf("answer: %w", ErrAnswered)
	}
	if err := m.check(r); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	o := m.node.newOperation(wire.Answer, m.service, &Request{To: m.From(), Items: r.Items, Lend: r.Lend, Expiry: r.Expiry})
	o.Head.Code, o.Head.Number = code, m.head.Number
	for place := range m.wire.Returns.Len() {
		if b := r.Fill[place]; b != nil {
			o.Fills = append(o.Fills, link.Fill{Return: place, Into: m.wire.Returns.All()[place], Piece: o.keep("Fill", place, b)})
		}
	}
	if len(o.Fills) > 0 && clock.Real.Now() >= m.until { // what is written to memory that was taken back breaks the link
		o.letGo()
		return fmt.Errorf("answer: too late to fill the returns: %w", link.ErrExpired)
	}
	o.link = m.delivery.link
	err := m.node.perform(ctx, o)
	m.isAnswered = !isUnsent(err)
	if err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	return nil
}

// isUnsent reports whether an answer surely was not sent: then the caller still waits, and can be told so.
func isUnsent(err error) bool {
	return errors.Is(err, ErrTooLarge) || errors.Is(err, ErrArgument) || errors.Is(err, link.ErrNotSent)
}

// Release gives the message back, and with it a credit to its sender. What it lends is given back too. A second call does nothing.
func (m *Message) Release() {
	if m.isReleased {
		return
	}
	m.isReleased = true
	m.handle.Closed()
	_ = m.node.on(func() { // after Close it is gone
		if m.wire.Loans.Len() > 0 && !m.isPulled {
			m.delivery.link.Release(m.head.Number)
		}
		if m.handling != nil {
			m.node.office.endHandling(m.handling)
		}
		m.delivery.release()
	})
	m.recycle()
}
