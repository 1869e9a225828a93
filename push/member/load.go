package member

import (
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// reader is the part of a store that has blocks to send: it reads ahead, in the order in which they will be sent.
type reader struct {
	outlooks []outlook      // messages of which blocks will be loaded, in order
	depth    int            // how many loads it looks ahead
	ahead    int            // slots that are being filled, or are reserved
	ordered  bool           // pages are filled in ascending order
	whole    []schedule.Set // by stream: pages that are to be filled as a whole
	filled   []schedule.Set // by stream: pages that were, or are being
	next     []int          // by stream: the first that was not, if they are ordered
	filling  bool
	page     []int32 // slots of the page that is being filled
}

// newReader makes the reader of a member. At the root of a repair, only those pages are filled of which nobody else has a block: these
// go out from here, whole, and may have been sealed never before.
func newReader(g *Group, config *rdmc.Config) reader {
	r := reader{ordered: len(config.Unfinished) == 0, depth: max(config.Sends, 2) + 2}
	for i, l := range g.Streams {
		whole := schedule.FullSet(l.Pages())
		if !r.ordered {
			whole = untouched(l, config.Unfinished[i].Have[1:])
		}
		r.whole, r.filled, r.next = append(r.whole, whole), append(r.filled, schedule.NewSet(l.Pages())), append(r.next, 0)
		if g.Rank == 0 {
			r.depth = max(r.depth, readAhead(l))
		}
	}
	return r
}

// untouched are the pages of which none of the members has a block.
func untouched(l manifest.Layout, have []schedule.Set) schedule.Set {
	pages, any := schedule.NewSet(l.Pages()), schedule.NewSet(l.Blocks())
	for _, set := range have {
		any.Union(set)
	}
	for page := range l.Pages() {
		first, end := l.PageRange(page)
		for first < end && !any.Has(first) {
			first++
		}
		if first == end {
			pages.Add(page)
		}
	}
	return pages
}

// Load implements rdmc.Store.
func (s *store) Load(m rdmc.Message, block int) (verbs.Span, bool) {
	k := key{int32(m.Number), int32(block)}
	i, found := s.find(k)
	if !found {
		s.prepare(k, true)
	}
	if !found || !s.slots[i].ready {
		s.starved = true
		return verbs.Span{}, false
	}
	if s.slots[i].reserved {
		s.ahead--
	}
	s.hold(i)
	s.countLoad(k.stream)
	return s.span(i), true
}

// stopReading ends reading ahead.
func (s *store) stopReading() { s.outlooks = nil }

func (s *store) countLoad(stream int32) {
	for i := range s.outlooks {
		if s.outlooks[i].stream == stream {
			s.outlooks[i].loaded++
		}
	}
	s.lookAhead()
}

// lookAt has the blocks of a message read ahead.
func (s *store) lookAt(stream int, plan schedule.Plan) {
	if plan == nil {
		return
	}
	o := outlook{stream: int32(stream), plan: plan}
	o.step, o.end = plan.Sending()
	s.outlooks = append(s.outlooks, o)
	s.lookAhead()
}

// lookAhead prepares what will be loaded next, as far as there is memory.
func (s *store) lookAhead() {
	for i := range s.outlooks {
		if !s.advance(&s.outlooks[i]) {
			return
		}
	}
}

// advance reports whether all of a message was looked at.
func (s *store) advance(o *outlook) bool {
	for ; o.step < o.end; o.step++ {
		next, ok := o.plan.Send(o.step)
		if !ok {
			continue
		}
		if o.prepared-o.loaded >= s.depth || o.prepared >= o.loaded && !s.prepare(key{o.stream, int32(next.Block)}, false) {
			return false
		}
		o.prepared++
	}
	return true
}

// prepare has a block brought to memory, and reports whether there is no more to do for it. If rdmc waits for it, it comes before
// what was read ahead.
func (s *store) prepare(k key, wanted bool) bool {
	if _, found := s.find(k); found {
		return true
	}
	page := s.crew.streams[k.stream].Page(int(k.block))
	switch {
	case s.isRoot && s.whole[k.stream].Has(page) && !s.filled[k.stream].Has(page):
		s.fill(k.stream, page, wanted)
		_, found := s.find(k)
		return found
	case s.isRoot || s.crew.has(k.stream, int(k.block)):
		return s.fetch(k, wanted)
	default:
		return true // it has not come yet, and will be in memory when it has
	}
}

// fill has a page filled, if there is memory; or one before it, if that must be first.
func (s *store) fill(stream int32, page int, wanted bool) {
	if s.filling {
		return
	}
	if s.ordered {
		page = s.next[stream]
	}
	l := s.crew.streams[stream]
	first, end := l.PageRange(page)
	if !s.makeRoom(end-first, 0, wanted) {
		return
	}
	s.filling = true
	s.filled[stream].Add(page)
	s.next[stream] = page + 1
	s.page, s.crew.page = s.page[:0], s.crew.page[:0]
	for block := first; block < end; block++ {
		i := s.begin(key{stream, int32(block)})
		s.page = append(s.page, i)
		s.crew.page = append(s.crew.page, s.bytes(i, wireLen(l, block)))
	}
	s.crew.put(job{task: taskFill, slot: none, stream: stream, number: int32(page)})
}

// fetch has a block fetched, if there is memory.
func (s *store) fetch(k key, wanted bool) bool {
	if !s.makeRoom(1, s.room, wanted) {
		return false
	}
	i := s.begin(k)
	length := wireLen(s.crew.streams[k.stream], int(k.block))
	s.crew.put(job{task: taskFetch, slot: i, stream: k.stream, number: k.block, length: int32(length)})
	return true
}

// makeRoom reports whether so many slots are free. What nobody waits for must leave some for what comes.
func (s *store) makeRoom(slots, leave int, wanted bool) bool {
	if !wanted {
		return s.free >= slots+leave
	}
	if s.free < slots {
		before := s.free
		s.reclaim(slots)
		s.ahead -= s.free - before
	}
	if s.free < slots {
		s.starve()
		return false
	}
	return true
}

// begin takes a slot to be filled, of which there must be one.
func (s *store) begin(k key) int32 {
	i, _ := s.take()
	s.name(i, k)
	s.slots[i].busy = true
	s.ahead++
	return i
}

func (s *store) takeFetched(r result) {
	s.end(r.slot, r.err)
	if r.err != nil {
		s.failed("fetch a block", r.err)
	}
}

func (s *store) takeFilled(r result) {
	s.filling = false
	for _, i := range s.page {
		s.end(i, r.err)
	}
	if r.err != nil {
		s.failed("read the source", r.err)
	}
}

// end reserves a slot that was filled for the one who will load it.
func (s *store) end(i int32, err error) {
	slot := &s.slots[i]
	if slot.busy = false; err == nil {
		slot.ready, slot.reserved = true, true
		s.goOn()
		return
	}
	s.ahead--
	s.forget(i)
	s.freed(i)
}

// wireLen is how many bytes a block has on the wire.
func wireLen(l manifest.Layout, block int) int { return l.Header() + l.Len(block) }
