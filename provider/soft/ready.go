package soft

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// leafBits is how many members one word of a readySet stands for.
const leafBits = 64

// readySet is the two-level bitmap by which peers tell a completion queue which of its queue pairs to look at. Bit i of
// the summary stands for the leaves i, i+64, i+128 and so on.
//
// Who rings sets the leaf, then the summary. The owner clears the summary, then the leaves: a bit that it misses was
// set after it cleared the leaf, and so its summary bit is set again too.
type readySet struct {
	*queueWords
	wordsRef ref
	arena    *arena

	leaves  []*atomic.Uint64
	refs    []ref        // of the leaves
	members []*QueuePair // by index; nil: vacant
	vacant  []int
}

// queueWords is what a completion queue shows those who ring: peers write it, and nobody else.
type queueWords struct {
	summary atomic.Uint64
	first   atomic.Uint64 // the first leaf: most queues have no other, and who rings moves one cache line instead of two
	armed   atomic.Uint32 // 1: the owner sleeps, or is about to: whoever rings must wake it
	_       [44]byte
}

// bell is one member's place in the bitmap of its completion queue.
type bell struct {
	cq      *CompletionQueue // nil: it is in another process
	index   int              // among the members
	words   *queueWords
	leaf    *atomic.Uint64
	leafRef ref
	bit     uint64
	group   uint64 // bit of the leaf in the summary
	wake    *waker // of a completion queue in another process
	sight   *sight // and what its words lie in
}

// add makes q a member and gives it a bell. Like all methods but ring it is called by the owner.
func (r *readySet) add(c *CompletionQueue, q *QueuePair) (*bell, error) {
	if len(r.vacant) == 0 {
		first := len(r.members)
		leaf, at, err := r.newLeaf()
		if err != nil {
			return nil, err
		}
		r.leaves, r.refs = append(r.leaves, leaf), append(r.refs, at)
		r.members = append(r.members, make([]*QueuePair, leafBits)...)
		for i := leafBits - 1; i >= 0; i-- {
			r.vacant = append(r.vacant, first+i)
		}
	}
	index := r.vacant[len(r.vacant)-1]
	r.vacant = r.vacant[:len(r.vacant)-1]
	r.members[index] = q
	leaf := index / leafBits
	return &bell{cq: c, index: index, words: r.queueWords, leaf: r.leaves[leaf], leafRef: r.refs[leaf], bit: 1 << (index % leafBits),
		group: 1 << (leaf % 64)}, nil
}

// newLeaf makes the next leaf.
func (r *readySet) newLeaf() (*atomic.Uint64, ref, error) {
	if len(r.leaves) == 0 {
		return &r.first, r.wordsRef + ref(unsafe.Offsetof(r.queueWords.first)), nil
	}
	leaf, at, err := placeOne[alignedWord](r.arena)
	if err != nil {
		return nil, 0, err
	}
	return &leaf.Uint64, at, nil
}

// remove ends the membership of b's queue pair. Peers may still ring the bell: a ring for a vacant place goes unheard,
// and a new member that is rung for an old one looks in vain.
func (r *readySet) remove(b *bell) {
	r.members[b.index] = nil
	r.vacant = append(r.vacant, b.index)
}

// ring asks the owner to look at the queue pair. Any goroutine may call it. If both bits are set already, the owner has
// not cleared them yet and will see what the caller did before ringing; if one was the caller's to set, the owner may
// also have to be woken. One bit alone may be the work of a process that was killed or stopped in between.
func (b *bell) ring() {
	if b.raise() {
		b.rouse()
	}
}

// raise sets the bits, and reports whether one was not set.
func (b *bell) raise() (first bool) {
	if b.leaf.Load()&b.bit == 0 {
		b.leaf.Or(b.bit)
		first = true
	}
	if b.words.summary.Load()&b.group == 0 {
		b.words.summary.Or(b.group)
		first = true
	}
	return first
}

// insist rings, and wakes the owner if it sleeps, even if all bits are set: who set them may have died before it came to
// that.
func (b *bell) insist() {
	b.raise()
	b.rouse()
}

// rouse wakes the owner if it sleeps. From another process armed is only read: whoever cleared it and died would leave a
// sleeper that nobody wakes.
func (b *bell) rouse() {
	if b.cq != nil {
		b.cq.rouse()
	} else if b.words.armed.Load() != 0 {
		b.wake.write()
	}
	runtime.KeepAlive(b)
}
