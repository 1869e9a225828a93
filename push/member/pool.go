package member

import (
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/verbs"
)

// cut is how memory is cut into slots: the payload of each begins at a page of the machine's, and the header stands right before it.
type cut struct {
	start  int // of the first slot
	stride int // from one to the next
	wire   int // bytes of a block
}

const machinePage = 4 << 10

func newCut(l manifest.Layout) cut {
	return cut{start: wholePages(l.Header()) - l.Header(), stride: wholePages(l.Wire()), wire: l.Wire()}
}

func wholePages(n int) int { return (n + machinePage - 1) / machinePage * machinePage }

// bytes is how much memory some slots take.
func (c cut) bytes(slots int) int { return c.start + slots*c.stride }

// slots is how many fit.
func (c cut) slots(bytes int) int { return max(bytes-c.start, 0) / c.stride }

// key names a block of a group.
type key struct{ stream, block int32 }

var noKey = key{-1, -1}

// slot is memory for a block.
type slot struct {
	key      key   // the block that lies here, if others may look for it
	refs     int32 // how often rdmc has it: acquired or loaded
	busy     bool  // somebody checks, keeps or fills it
	ready    bool  // what lies here may be sent
	reserved bool  // it was read ahead, and rdmc has not had it yet
	listed   bool  // it is free
	before   int32 // in the list of free ones
	behind   int32
}

const none = -1

// pool is the slots of a group. It belongs to the loop, but for bytes.
//
// Free slots keep what they hold until they are used again. With lru that is as late as possible, because blocks may be asked for again;
// otherwise as soon as possible, because such memory is in the processor's cache, and the rest of it need not be touched.
type pool struct {
	cut
	memory *verbs.Memory
	base   uint64 // address of the memory
	slots  []slot
	index  map[key]int32
	first  int32 // free slot that is used next
	last   int32
	free   int
	held   int // slots that rdmc has
	lru    bool
}

func newPool(memory *verbs.Memory, l manifest.Layout, lru bool) *pool {
	p := &pool{cut: newCut(l), memory: memory, base: memory.Span(0, 1).Address, index: map[key]int32{}, first: none, last: none, lru: lru}
	p.slots = make([]slot, p.cut.slots(int(memory.Len())))
	for i := range p.slots {
		p.slots[i].key = noKey
		p.list(int32(i), false)
	}
	return p
}

// span is all of a slot.
func (p *pool) span(i int32) verbs.Span { return p.memory.Span(p.start+int(i)*p.stride, p.wire) }

// bytes are the first n bytes of a slot.
func (p *pool) bytes(i int32, n int) []byte { return p.memory.Bytes()[p.start+int(i)*p.stride:][:n:n] }

// slotOf finds the slot of a span.
func (p *pool) slotOf(at verbs.Span) int32 {
	return int32((int(at.Address-p.base) - p.start) / p.stride)
}

// find finds the slot of a block.
func (p *pool) find(k key) (int32, bool) {
	i, found := p.index[k]
	return i, found
}

// name has a slot be found by its block.
func (p *pool) name(i int32, k key) {
	p.slots[i].key = k
	p.index[k] = i
}

// take takes a free slot, if there is one.
func (p *pool) take() (int32, bool) {
	i := p.first
	if i == none {
		return none, false
	}
	p.unlist(i)
	p.forget(i)
	return i, true
}

// forget has what a slot holds not be found any more.
func (p *pool) forget(i int32) {
	s := &p.slots[i]
	if s.key != noKey {
		delete(p.index, s.key)
	}
	s.key, s.ready, s.reserved = noKey, false, false
}

// hold notes that rdmc has a slot.
func (p *pool) hold(i int32) {
	s := &p.slots[i]
	if s.listed {
		p.unlist(i)
	}
	if s.refs == 0 {
		p.held++
	}
	s.refs++
	s.reserved = false
}

// letGo notes that rdmc gave a slot back.
func (p *pool) letGo(i int32) {
	if p.slots[i].refs--; p.slots[i].refs == 0 {
		p.held--
	}
}

// settle makes a slot free if nobody needs it, and reports whether it is.
func (p *pool) settle(i int32) bool {
	s := &p.slots[i]
	if s.refs > 0 || s.busy || s.reserved || s.listed {
		return false
	}
	p.list(i, p.lru)
	return true
}

// list puts a slot among the free ones.
func (p *pool) list(i int32, atEnd bool) {
	s := &p.slots[i]
	s.listed, s.before, s.behind = true, none, none
	p.free++
	switch {
	case p.first == none:
		p.first, p.last = i, i
	case atEnd:
		s.before, p.slots[p.last].behind, p.last = p.last, i, i
	default:
		s.behind, p.slots[p.first].before, p.first = p.first, i, i
	}
}

// unlist takes a slot out of the free ones.
func (p *pool) unlist(i int32) {
	s := &p.slots[i]
	s.listed = false
	p.free--
	if s.before == none {
		p.first = s.behind
	} else {
		p.slots[s.before].behind = s.behind
	}
	if s.behind == none {
		p.last = s.before
	} else {
		p.slots[s.behind].before = s.before
	}
}

// reclaim frees slots that were read ahead until so many are free.
func (p *pool) reclaim(want int) {
	for i := range p.slots {
		if p.free >= want {
			return
		}
		if s := &p.slots[i]; s.reserved && !s.busy && s.refs == 0 {
			p.forget(int32(i))
			p.settle(int32(i))
		}
	}
}
