package soft

import (
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/weft-fabric/weft/verbs/driver"
)

// The key of a window says in its lowest bits that it is one, and where the peer finds the loan, so that nobody has to be
// asked. The 52 bits above are random, and veil the others. Who guesses has one try: then the connection ends.
const (
	lentBit  = 1 << loanBits
	keyBits  = loanBits + 1
	lowOfKey = 1<<keyBits - 1
)

// lentKey makes a key for the loan with an index. It is never 0.
func lentKey(random uint64, index uint32) uint64 {
	return random&^lowOfKey | (lentBit | uint64(index)) ^ veil(random)
}

// veil is what the lowest bits of a key are veiled with: it depends on all the others.
func veil(key uint64) uint64 { return key >> keyBits * 0x9e3779b97f4a7c15 >> (64 - keyBits) }

// isLent reports whether a remote key is one of a window: no memory has such a key.
func isLent(key uint64) bool { return (key^veil(key))&lentBit != 0 }

// loanOf is the index in the key of a window.
func loanOf(key uint64) uint32 { return uint32(key^veil(key)) & (lentBit - 1) }

// loan is what a window lends at present, as the requester of the peer finds it. Like an end it has no Go pointers, so that
// it may lie in memory that two processes share.
//
// All but the key is written while the key is 0. The requester reads the key first, inside the gate. If it is the one that the
// request names, the rest stays as it is until the requester leaves: who revokes clears the key, and then waits for that.
type loan struct {
	key     atomic.Uint64 // 0: nothing is lent
	memory  atomic.Uint64 // what it is a piece of: region.name
	address atomic.Uint64
	terms   atomic.Uint64 // the length, above 8 bits of driver.Access
}

// open lends a piece of r to whoever finds the loan.
func (n *loan) open(r *region, piece driver.Span, access driver.Access, key uint64) {
	n.memory.Store(r.name())
	n.address.Store(piece.Address)
	n.terms.Store(uint64(piece.Length)<<8 | uint64(access))
	n.key.Store(key)
}

// localKey is that of the memory.
func (n *loan) localKey() uint32 { return uint32(n.memory.Load()) }

// name tells the region from all others of its device, for ever. A view has the same.
func (r *region) name() uint64 { return r.serial&serialMask | uint64(r.localKey) }

// target is what a remote key names: memory, or a piece of it that is lent.
type target struct {
	*region        // nil: nothing
	loan    *loan  // nil: the key is the memory's own
	key     uint64 // of the loan
}

// admits reports whether n bytes from an address may be used for what needs such access. The access of the memory is not
// asked about what is lent; only whether it is still there.
func (t *target) admits(need driver.Access, at, n uint64) bool {
	if t.loan == nil {
		return t.region != nil && t.allows(need) && t.contains(at, n)
	}
	return t.region != nil && t.lends(need, at, n) && t.allows(0) && t.contains(at, n)
}

// lends asks the loan.
func (t *target) lends(need driver.Access, at, n uint64) bool {
	from := t.loan
	if from.key.Load() != t.key {
		return false
	}
	terms, offset := from.terms.Load(), at-from.address.Load()
	length := terms >> 8
	return from.memory.Load() == t.name() && driver.Access(terms).Allows(need) && offset <= length && n <= length-offset
}

// The loans of a queue pair lie in chunks, each twice as long as the one before: they never move.
const (
	loanBits   = 11
	loanChunks = 7
	firstLoans = 1 << (loanBits - loanChunks)
	maxWindows = firstLoans * (1<<loanChunks - 1)
)

// chunkOf returns which chunk an index lies in, and where there. There may be no such chunk.
func chunkOf(index uint32) (chunk int, at uint32) {
	n := index + firstLoans
	chunk = bits.Len32(n / firstLoans >> 1)
	return chunk, n - firstLoans<<chunk
}

// loanTable is the loans of a queue pair, or a view of them. The owner adds chunks, and peers look.
type loanTable struct {
	chunks [loanChunks]atomic.Pointer[[]loan]
	refs   [loanChunks]ref
}

// take returns the loan with an index, after making its chunk if need be.
func (t *loanTable) take(a *arena, index uint32) (*loan, error) {
	chunk, at := chunkOf(index)
	if chunk >= loanChunks {
		return nil, fmt.Errorf("it has %d windows already: %w", maxWindows, driver.ErrLimit)
	}
	if t.chunks[chunk].Load() == nil {
		list, r, err := placeMany[loan](a, firstLoans<<chunk)
		if err != nil {
			return nil, err
		}
		t.refs[chunk] = r
		t.chunks[chunk].Store(&list)
	}
	return &(*t.chunks[chunk].Load())[at], nil
}

// show tells a peer of another process, in the words of a life, where the loans are.
func (t *loanTable) show(l *life) {
	for chunk, r := range t.refs {
		l.lent[chunk].Store(uint64(r))
	}
}

// give takes the chunks back. Nobody trusts them any more: peers find the life over before they look.
func (t *loanTable) give(a *arena) {
	for chunk, r := range t.refs {
		give[loan](a, r, firstLoans<<chunk)
	}
}

// loan returns what is lent under a key, or nil. Whether it still is when it is used is asked inside the gate.
func (l *life) loan(key uint64) *loan {
	chunk, at := chunkOf(loanOf(key))
	if chunk >= loanChunks {
		return nil
	}
	list := l.loans.chunks[chunk].Load()
	if list == nil && l.neighbour != nil {
		list = l.seeLoans(chunk)
	}
	if list == nil {
		return nil
	}
	if n := &(*list)[at]; n.key.Load() == key {
		return n
	}
	return nil
}

// seeLoans adds a chunk to a view, if there is one. A neighbour may say what it likes: it must lie in its arena.
func (l *life) seeLoans(chunk int) *[]loan {
	list, err := seeMany[loan](l.sight.bytes, ref(l.lent[chunk].Load()), firstLoans<<chunk)
	if err != nil {
		return nil
	}
	l.loans.chunks[chunk].Store(&list)
	return &list
}

// borrow returns what the key of a window names. In a view its memory is still to be mapped.
func (l *life) borrow(key uint64) (t target) {
	if t.loan = l.loan(key); t.loan == nil {
		return t
	}
	t.key = key
	if l.neighbour == nil {
		t.region = l.domain.keys.local(t.loan.localKey())
	}
	return t
}
