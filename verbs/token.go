package verbs

import "math/bits"

// token is the tag that a provider sees. It leads from a completion straight to the record of what was posted, by
// array index, and shows when that record is gone.
//
//	bits 62–63 kind · 42–61 slot in the completion queue's table · 32–41 generation of the slot · 0–31 sequence
type token uint64

type tokenKind uint8

const (
	kindRequest tokenKind = iota // sequence: of the queue pair's requests
	kindReceive                  // sequence: of the queue pair's, or the shared, receives
	kindControl                  // sequence: index of the queue pair's control records
	kindMemory                   // sequence: index of the completion queue's memory records
)

const (
	maxSlots       = 1 << 20
	maxGenerations = 1 << 10
)

// firstSequence is where sequence numbers start: close enough to their wrap that every program crosses it.
const firstSequence = ^uint32(0) - 99

func makeToken(kind tokenKind, slot uint32, generation uint16, sequence uint32) Tag {
	return Tag(uint64(kind)<<62 | uint64(slot)<<42 | uint64(generation)<<32 | uint64(sequence))
}

func (t token) kind() tokenKind    { return tokenKind(t >> 62) }
func (t token) slot() uint32       { return uint32(t>>42) & (maxSlots - 1) }
func (t token) generation() uint16 { return uint16(t>>32) & (maxGenerations - 1) }
func (t token) sequence() uint32   { return uint32(t) }

// posted is what is remembered of one posted request or receive.
type posted struct {
	tag      Tag
	signaled bool // the provider was asked for a completion
	swallow  bool // the program was not interested in success: Quiet
}

// history remembers what is outstanding on one queue, by sequence number. It grows with need, so that an idle queue
// pair is small.
type history struct {
	ring  []posted // length is a power of two
	first uint32   // oldest outstanding
	next  uint32   // sequence of the next to be posted; outstanding are first up to, not including, next
}

func newHistory(room []posted) history {
	return history{ring: room, first: firstSequence, next: firstSequence}
}

func (h *history) outstanding() int { return int(h.next - h.first) }

func (h *history) at(sequence uint32) *posted { return &h.ring[sequence&uint32(len(h.ring)-1)] }

func (h *history) has(sequence uint32) bool { return sequence-h.first < h.next-h.first }

func (h *history) isFull() bool { return h.outstanding() == len(h.ring) }

// push makes a record, to be filled in, and returns its sequence number. A history that is full must grow first.
func (h *history) push() (sequence uint32, p *posted) {
	sequence = h.next
	h.next++
	return sequence, h.at(sequence)
}

func (h *history) grow() {
	old := *h
	h.ring = make([]posted, 1<<bits.Len(uint(max(len(old.ring), 4))))
	for s := old.first; s != old.next; s++ {
		*h.at(s) = *old.at(s)
	}
}

// skip forgets everything up to, not including, sequence, which must be outstanding. It reports whether none of that was
// signaled: completions come in posting order.
func (h *history) skip(sequence uint32) bool {
	if !h.has(sequence) {
		return false
	}
	for ; h.first != sequence; h.first++ {
		if h.at(h.first).signaled {
			return false
		}
	}
	return true
}

// pop forgets the oldest and returns what it was, until the next push: nil if there is none.
func (h *history) pop() *posted {
	if h.first == h.next {
		return nil
	}
	h.first++
	return h.at(h.first - 1)
}

// undo forgets the newest n, which never reached the provider.
func (h *history) undo(n int) { h.next -= uint32(n) }

// drop forgets everything, and reports whether no signaled request was among it.
func (h *history) drop() (clean bool) {
	clean = true
	for ; h.first != h.next; h.first++ {
		clean = clean && !h.at(h.first).signaled
	}
	return clean
}
