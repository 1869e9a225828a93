package soft

import (
	"runtime"
	"time"

	"github.com/weft-fabric/weft/clock"
)

// standstill is how long a peer of another process may stand still inside a gate that the owner waits for. It leaves
// within a quantum if it runs at all, so it is stopped, or starved of processors.
const standstill = 100 * time.Millisecond

// left reports whether who was seen inside the gate has left. One of another process that stands still for too long is
// put out.
func (l *life) left(seen uint64) bool {
	if l.gate.passed(seen) {
		return true
	}
	t := l.tied()
	return t != nil && t.putOut(seen)
}

// awaitLeft waits until everybody who is inside now has left.
func (l *life) awaitLeft() { visitor{l, l.gate.look()}.awaitLeft() }

// putOut evicts whoever was seen inside, if he has been standing there for too long, and reports whether he can do no
// more harm.
func (t *tie) putOut(seen uint64) bool {
	t.standing.Lock()
	defer t.standing.Unlock()
	if t.over { // nobody was inside any more
		return true
	}
	now := clock.Real.Now()
	if t.seen != seen && seen != expelling {
		t.seen, t.since = seen, now
	}
	if now < t.since.Add(standstill) {
		return t.mine.gate.passed(seen)
	}
	if t.evict(seen) {
		return true
	}
	t.since = now // what could not be done is not tried again at once
	return false
}

// evict swaps the slot, so that leaving fails, and moves the pages that the slot names to where only the others find
// them. What the evicted one still writes goes to pages that are nobody's. Memory that is closed, or is being closed,
// need not be saved; memory that cannot be moved keeps everybody waiting until the writer leaves or dies.
//
// What the slot names is read before the swap. If the visitor goes on to another piece meanwhile, he has done with this
// one, and will find that he was put out before he begins the other.
func (t *tie) evict(seen uint64) bool {
	l := t.mine
	named := l.gate.mark
	m := l.memoryOf(named)
	if m == nil {
		if l.gate.expel(seen, evicted) {
			l.expel()
		}
		return true
	}
	return m.canMove() && m.saveFrom(ousted{visitor{l, seen}, named})
}

// ousted is a visitor who is put out, and what he may still write to.
type ousted struct {
	visitor
	named stretch
}

// expel begins to put him out, and reports whether he was still there.
func (o ousted) expel() bool {
	there := o.life.gate.expel(o.seen, expelling)
	if there {
		o.life.expel()
	}
	return there
}

// expel ends the connection of a peer that was evicted.
func (l *life) expel() {
	if l.pool.shared {
		l.pool.renew()
	}
	if l.breakTo(phaseFailed) {
		l.announceChained()
	}
	l.bell.insist()
}

// memoryOf returns the live memory that a stretch lies in, or nil.
func (l *life) memoryOf(s stretch) *Memory {
	if s.length == 0 {
		return nil
	}
	r := l.domain.keys.local(s.key)
	if r == nil || !r.isAlive() || s.offset > uint64(len(r.bytes)) || s.length > uint64(len(r.bytes))-s.offset {
		return nil
	}
	return r.memory
}

// canMove reports whether the memory's pages can be replaced while it is used.
func (m *Memory) canMove() bool {
	b := m.backing
	return b != nil && b.owned && canFreeze()
}

// saveFrom replaces the pages that a visitor may still write to, and reports whether that is done: then he was put out.
// If not, he stays where he is, and it can be tried again. No neighbour is inside meanwhile: who comes waits, and then
// finds that what it has mapped is stale.
func (m *Memory) saveFrom(first ousted) bool {
	r := m.region
	m.backing.moving.Lock()
	defer m.backing.moving.Unlock()
	if !first.expel() {
		return true
	}
	out := []ousted{first}
	var err error
	if r.beginMoving() {
		out = append(out, m.clearOut()...)
		err = m.backing.replaceAll(r.bytes, out)
		r.endMoving()
	}
	if err != nil {
		m.domain.device.config.Log.Error("pages could not be moved away from a peer that stands still", "error", err)
		return false
	}
	for _, o := range out {
		o.life.gate.slot.CompareAndSwap(expelling, evicted)
	}
	return true
}

// clearOut waits until no neighbour is inside the memory any more. Those who stand still are put out too.
func (m *Memory) clearOut() (out []ousted) {
	deadline := clock.Real.Now().Add(standstill)
	for _, v := range m.domain.visitors() {
		if v.life.tied() == nil {
			continue
		}
		for !v.gone() {
			named := v.life.gate.mark
			if named.key != m.region.localKey {
				break
			}
			if o := (ousted{v, named}); clock.Real.Now() >= deadline || v.life.gate.holds(expelling) {
				if o.expel() {
					out = append(out, o)
				}
				break
			}
			runtime.Gosched()
		}
	}
	return out
}

// beginMoving keeps neighbours out, unless the region is dead.
func (r *region) beginMoving() bool {
	for {
		seen := r.word.Load()
		if seen&alive == 0 || (seen^r.serial)&serialMask != 0 {
			return false
		}
		if r.word.CompareAndSwap(seen, seen|moving) {
			return true
		}
	}
}

// endMoving lets them in again, with another generation: what they have mapped is stale.
func (r *region) endMoving() {
	for {
		seen := r.word.Load()
		if (seen^r.serial)&serialMask != 0 {
			return // closed meanwhile, and the word is another's
		}
		next := seen&^(moving|generationMask) | (seen+1<<generationBits)&generationMask
		if r.word.CompareAndSwap(seen, next) {
			return
		}
	}
}
