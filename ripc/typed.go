package ripc

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weft-fabric/weft/ripc/wire"
)

// Codec turns values into bytes, and back.
type Codec interface {
	Append(b []byte, value any) ([]byte, error)
	Decode(b []byte, into any) error
}

// JSON is the codec of package encoding/json.
var JSON Codec = jsonCodec{}

type jsonCodec struct{}

func (jsonCodec) Append(b []byte, value any) ([]byte, error) {
	text, err := json.Marshal(value)
	return append(b, text...), err
}

func (jsonCodec) Decode(b []byte, into any) error { return json.Unmarshal(b, into) }

// Caller is who calls: a Node or a Service.
type Caller interface {
	Do(ctx context.Context, r Request) (*Message, error)
	alloc(size int) (*Buffer, error)
	shortLimit() int
}

// Function is a service as a Go function, from Q to A.
type Function[Q, A any] struct {
	From       Caller
	To         ID
	Codec      Codec // nil: JSON
	Idempotent bool
}

// Call calls it. Values are sent short or long, by their size.
func (f Function[Q, A]) Call(ctx context.Context, q Q) (a A, err error) {
	if f.From == nil {
		return a, fmt.Errorf("call: Function.From is nil; it is the node, or a service of it: %w", ErrArgument)
	}
	codec := orJSON(f.Codec)
	text, err := codec.Append(nil, q)
	if err != nil {
		return a, about("call", f.To, fmt.Errorf("encode %T: %w", q, err))
	}
	r := Request{To: f.To, Idempotent: f.Idempotent}
	release, err := load(f.From, text, &r.Items, &r.Lend)
	if err != nil {
		return a, err
	}
	defer release()
	m, err := f.From.Do(ctx, r)
	if err != nil {
		return a, err
	}
	defer m.Release()
	if text, release, err = m.whole(ctx); err != nil {
		return a, err
	}
	defer release()
	if err := codec.Decode(text, &a); err != nil {
		return a, about("call", f.To, fmt.Errorf("decode %T: %w", a, err))
	}
	return a, nil
}

// HandlerOf makes a Handler of a Go function. A nil codec is JSON. Of no function it makes none, which Serve refuses.
func HandlerOf[Q, A any](codec Codec, f func(ctx context.Context, q Q) (A, error)) Handler {
	if f == nil {
		return nil
	}
	codec = orJSON(codec)
	return func(ctx context.Context, m *Message) error {
		text, release, err := m.whole(ctx)
		if err != nil {
			return err
		}
		var q Q
		err = codec.Decode(text, &q)
		release()
		if err != nil {
			return fmt.Errorf("decode %T: %w", q, err)
		}
		a, err := f(ctx, q)
		if err != nil {
			return err
		}
		return answerWith(ctx, m, codec, a)
	}
}

func answerWith(ctx context.Context, m *Message, codec Codec, a any) error {
	if !m.IsCall() {
		return nil
	}
	text, err := codec.Append(nil, a)
	if err != nil {
		return fmt.Errorf("encode %T: %w", a, err)
	}
	var r Reply
	release, err := load(m.node, text, &r.Items, &r.Lend)
	if err != nil {
		return err
	}
	defer release()
	return m.AnswerWith(ctx, r)
}

func orJSON(c Codec) Codec {
	if c == nil {
		return JSON
	}
	return c
}

// load puts bytes into a message: as an item if they fit, else into a buffer that is lent.
func load(from Caller, text []byte, items *[][]byte, lend *[]*Buffer) (release func(), err error) {
	if len(text) <= from.shortLimit() {
		*items = [][]byte{text}
		return func() {}, nil
	}
	b, err := from.alloc(len(text))
	if err != nil {
		return nil, err
	}
	copy(b.Bytes(), text)
	*lend = []*Buffer{b}
	return b.Release, nil
}

// whole is what load has put into a message. It is valid until release, and Release.
func (m *Message) whole(ctx context.Context) (text []byte, release func(), err error) {
	if parts := m.wire.Items.Len() + m.wire.Loans.Len(); parts > 1 {
		return nil, nil, fmt.Errorf("a value in %d parts, items and loans; a Function has one: %w", parts, ErrArgument)
	}
	if m.wire.Loans.Len() == 0 {
		return m.Bytes(), func() {}, nil
	}
	list, err := m.Pull(ctx)
	if err != nil {
		return nil, nil, err
	}
	return list[0].Bytes(), func() { releaseAll(list) }, nil
}

func (n *Node) alloc(size int) (*Buffer, error)    { return n.Alloc(size) }
func (s *Service) alloc(size int) (*Buffer, error) { return s.node.Alloc(size) }
func (s *Service) shortLimit() int                 { return s.node.shortLimit() }

// shortLimit is how long a single item of a short message may be. A process whose slots are smaller takes less.
func (n *Node) shortLimit() int { return n.office.hub.SlotSize() - wire.Overhead(1, 0, 0) }

// ShortLimit is how many bytes a short message of one item may have.
func (n *Node) ShortLimit() int { return n.shortLimit() }
