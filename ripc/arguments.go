package ripc

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft/ripc/wire"
)

// check finds what is wrong with a request before anything is done.
func (n *Node) check(r *Request) error {
	if kind := r.To.Kind(); kind == wire.Nobody || kind > wire.Group {
		return fmt.Errorf("Request.To is the ID of no service; ripc.Name makes one of a name: %w", ErrArgument)
	}
	if r.To == unnamed || r.To == unnamedGroup {
		return fmt.Errorf("Request.To is the ID of an empty name: %w", ErrArgument)
	}
	if r.Expiry < 0 {
		return fmt.Errorf("Request.Expiry is %v: %w", r.Expiry, ErrArgument)
	}
	if err := n.checkBuffers("Request.Lend", r.Lend); err != nil {
		return err
	}
	if err := n.checkBuffers("Request.Return", r.Return); err != nil {
		return err
	}
	for i, b := range r.Lend {
		if slices.Contains(r.Return, b) {
			return fmt.Errorf("Request.Lend[%d] is also in Request.Return: it would be read while it is written; use two buffers: %w", i, ErrArgument)
		}
	}
	return nil
}

// Nobody can have these.
var unnamed, unnamedGroup = wire.NameID(""), wire.GroupID("")

// checkCall finds what is wrong with a request that is to be answered.
func (n *Node) checkCall(r *Request) error {
	if r.To.Kind() == wire.Group {
		return fmt.Errorf("a group is sent to, and not called: %w", ErrArgument)
	}
	if r.Drop {
		return fmt.Errorf("Request.Drop is for sends: whoever calls waits for the answer: %w", ErrArgument)
	}
	return n.check(r)
}

// check finds what is wrong with the answer to a call.
func (m *Message) check(r *Reply) error {
	if r.Expiry < 0 {
		return fmt.Errorf("Reply.Expiry is %v: %w", r.Expiry, ErrArgument)
	}
	if len(r.Fill) > 0 {
		if err := m.checkFill(r.Fill); err != nil {
			return err
		}
	}
	return m.node.checkBuffers("Reply.Lend", r.Lend)
}

func (m *Message) checkFill(fill map[int]*Buffer) error {
	for place, b := range fill {
		if returns := m.wire.Returns.Len(); place < 0 || place >= returns {
			return fmt.Errorf("Reply.Fill has return %d, and the call has %d, beginning with 0: %w", place, returns, ErrArgument)
		}
		if !m.node.owns(b) {
			return noBuffer("Reply.Fill", place)
		}
	}
	return nil
}

// checkBuffers finds one that is none, in a list of that name.
func (n *Node) checkBuffers(name string, list []*Buffer) error {
	for i, b := range list {
		if !n.owns(b) {
			return noBuffer(name, i)
		}
	}
	return nil
}

// owns reports whether a buffer is the node's: no other memory can be lent.
func (n *Node) owns(b *Buffer) bool { return b != nil && b.pool == n.pool }

// wasReleased is the error of a buffer whose memory is somebody else's by now.
func wasReleased(name string, i int) error {
	return fmt.Errorf("%s[%d]: the buffer was released; release it when this has ended: %w", name, i, ErrArgument)
}

func noBuffer(name string, i int) error {
	return fmt.Errorf("%s[%d] is nil, or a buffer of another node: %w", name, i, ErrArgument)
}
