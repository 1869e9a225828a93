package soft

import (
	"runtime"
	"sync/atomic"
)

// gate is the slot in which the one requester that may operate on an end says whether it is doing so: odd while it is
// inside, and never the same number twice.
//
// Requester and revoker run Dekker's protocol. The requester first marks the slot, then reads the phase and the access
// words; the revoker first changes such a word, then reads the slot. Go's atomics are sequentially consistent, so in
// their total order either the mark comes before the revoker's look, which then waits until the slot has moved, or the
// look, and with it the change, comes before the mark, and the requester reads the changed word and leaves everything
// alone. There is no third order: after the wait, nothing that only the old word allowed can land.
//
// The same slot guards the requester's own memory: it reads local spans only while inside, and Memory.Close looks at
// the slots in both directions.
//
// A requester of another process also writes down, before it marks the slot, what it is going to change: if it stands
// still inside, the owner must know which pages to save from it (evict.go).
type gate struct {
	slot atomic.Uint64
	mark stretch
}

// stretch is a piece of registered memory at a gate's owner. The zero stretch is nothing.
type stretch struct {
	key    uint32 // the local key of the memory
	offset uint64 // in it
	length uint64
}

// open prepares the gate of a new life. Its numbers are others than those of all lives before: the words may have been
// theirs, and somebody may still wait for a visitor of that time.
func (g *gate) open(epoch uint32) { g.slot.Store(uint64(epoch) << 32) }

// enter marks the slot and returns the mark. left is the requester's own record of the value it left behind.
func (g *gate) enter(left uint64) uint64 {
	g.slot.Store(left + 1)
	return left + 1
}

// holds reports whether the requester is still inside with its mark.
func (g *gate) holds(mark uint64) bool { return g.slot.Load() == mark }

// leave reports whether the requester was inside to the last. Had the slot been swept or evicted, what was done inside
// might have gone to pages that are no longer the target's.
func (g *gate) leave(mark uint64) bool { return g.slot.CompareAndSwap(mark, mark+1) }

// What stands in the slot of somebody who will not be let out any more: first that he is being put out, while he may
// still do harm and is waited for, then that he was.
const (
	expelling = 1<<64 - 1
	evicted   = 1<<64 - 2
)

// expel swaps the slot of whoever was seen inside, and reports whether he was still there, or somebody has begun before.
func (g *gate) expel(seen, to uint64) bool {
	return g.slot.CompareAndSwap(seen, to) || g.slot.CompareAndSwap(expelling, to)
}

// sweep empties the slot of somebody who has died inside.
func (g *gate) sweep() {
	if seen := g.look(); seen%2 == 1 {
		g.expel(seen, evicted)
	}
}

// reenter goes on to another piece without leaving: it is as good as leaving and entering, so all words must be asked
// anew. It reports whether the requester was still inside.
func (g *gate) reenter(mark uint64, next stretch) bool {
	g.mark = next
	return g.slot.CompareAndSwap(mark, mark+2)
}

// look returns what passed needs to know.
func (g *gate) look() uint64 { return g.slot.Load() }

// passed reports whether nobody is inside who was inside when seen was looked up.
func (g *gate) passed(seen uint64) bool {
	if seen%2 == 0 {
		return true
	}
	now := g.slot.Load()
	return now != seen && now != expelling
}

// empty reports whether nobody is inside.
func (g *gate) empty() bool { return g.slot.Load()%2 == 0 }

// visitor is somebody who was seen inside a gate.
type visitor struct {
	life *life // whose gate it is
	seen uint64
}

// addVisitor adds whoever is inside to list. Most gates are empty most of the time.
func (l *life) addVisitor(list []visitor) []visitor {
	if seen := l.gate.look(); !l.gate.passed(seen) {
		list = append(list, visitor{l, seen})
	}
	return list
}

// left reports whether the visitor has, or was put out.
func (v visitor) left() bool { return v.life.left(v.seen) }

// gone reports whether the visitor has left.
func (v visitor) gone() bool { return v.life.gate.passed(v.seen) }

func (v visitor) awaitLeft() {
	for !v.left() {
		runtime.Gosched()
	}
}
