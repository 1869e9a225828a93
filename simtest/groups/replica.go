package groups

import (
	"bytes"

	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// stream is a sequence of messages, carried by one group or by several that finish each other's work.
type stream struct {
	id       uint64
	sizes    []uint64 // of the messages, by number
	replicas map[*Node]*replica
}

// replica is what one node holds of a stream.
type replica struct {
	node      *Node
	stream    *stream
	blockwise bool
	held      map[uint64]*held // by the message's number
}

// held is what one node holds of one message.
type held struct {
	rdmc.Message
	stream *stream
	memory *verbs.Memory // whole messages; nil with a Store
	have   schedule.Set  // with a Store: the blocks that are kept
	came   []*Member     // with a Store: to whom each block came last, of the members that this node was
	frozen []byte        // what memory held when the group failed
}

func (s *stream) replica(node *Node, blockwise bool) *replica {
	r := s.replicas[node]
	if r == nil {
		r = &replica{node: node, stream: s, blockwise: blockwise, held: map[uint64]*held{}}
		s.replicas[node] = r
	}
	return r
}

// message returns what is held of a message, and begins with nothing.
func (r *replica) message(m rdmc.Message) *held {
	h := r.held[m.Number]
	if h == nil {
		h = &held{Message: m, stream: r.stream}
		if r.blockwise {
			h.have, h.came = schedule.NewSet(m.Blocks()), make([]*Member, m.Blocks())
		}
		r.held[m.Number] = h
	}
	return h
}

// place returns memory for the whole message.
func (r *replica) place(h *held) (rdmc.Place, error) {
	if r.blockwise {
		return rdmc.Place{}, nil
	}
	var err error
	if h.memory == nil {
		h.memory, err = r.node.domain.Alloc(max(1, int(h.Size)), 0)
	}
	return rdmc.Place{Memory: h.memory}, err
}

// make fills in the contents, as the root has them.
func (r *replica) make(m rdmc.Message) (*held, error) {
	h := r.message(m)
	if r.blockwise {
		for block := range m.Blocks() {
			h.have.Add(block)
		}
		return h, nil
	}
	if _, err := r.place(h); err != nil {
		return nil, err
	}
	return h, h.whole().put(h.memory, 0)
}

// object names the message in phantom memory, where 0 means nothing.
func (h *held) object() uint64 { return h.stream.id<<32 + h.Number + 1 }

func (h *held) whole() piece { return piece{object: h.object(), length: int(h.Size)} }

func (h *held) block(block int) piece {
	return piece{h.object(), uint64(block) * uint64(h.BlockSize), h.BlockLen(block)}
}

// holds reports whether a block is here with its right contents.
func (h *held) holds(block int) bool {
	if h.have.Len() > 0 {
		return h.have.Has(block)
	}
	return h.Size == 0 || h.memory != nil && h.block(block).isAt(h.memory, block*h.BlockSize)
}

// freeze remembers what the memory holds, and changed reports whether it is something else by now.
func (h *held) freeze() {
	if h.memory != nil {
		h.frozen = bytes.Clone(h.memory.Bytes())
	}
}

func (h *held) changed() bool {
	return h.frozen != nil && !bytes.Equal(h.frozen, h.memory.Bytes())
}

// cut forgets the messages from a number on.
func (s *stream) cut(end uint64) (failed []error) {
	s.sizes = s.sizes[:end]
	for _, r := range s.replicas {
		for number, h := range r.held {
			if number < end {
				continue
			}
			delete(r.held, number)
			if h.memory != nil {
				failed = append(failed, h.memory.Close())
			}
		}
	}
	return failed
}

// close frees the memory of all messages.
func (s *stream) close() []error { return s.cut(0) }
