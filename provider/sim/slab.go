package sim

// slabPage is how many items a slab allocates at a time.
const slabPage = 256

// slab keeps items of one kind and names them by small numbers, so that events and lists hold no pointers, and items
// that are given back are used again. Number 0 names nothing.
//
// Invariant: an item does not move; a pointer from at stays good until the item is given back.
type slab[T any] struct {
	pages []*[slabPage]T
	free  []uint32 // given back, the latest last
	used  uint32   // numbers up to, and including, this one were handed out at some time
}

// take returns the number of an item. Its content is what the last user left there.
func (s *slab[T]) take() uint32 {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		return i
	}
	s.used++
	if int(s.used/slabPage) >= len(s.pages) {
		s.pages = append(s.pages, new([slabPage]T))
	}
	return s.used
}

// at returns an item that is taken.
func (s *slab[T]) at(i uint32) *T { return &s.pages[i/slabPage][i%slabPage] }

// give hands an item back. Nobody may hold its number any more.
func (s *slab[T]) give(i uint32) { s.free = append(s.free, i) }

// ring is a queue that grows when it is full and never shrinks. The zero ring is empty and owns no memory, which keeps
// idle queue pairs small.
type ring[T any] struct {
	items []T    // len is 0 or a power of two
	first uint32 // the oldest
	count uint32
}

// push adds an item behind the others.
func (r *ring[T]) push(item T) {
	if int(r.count) == len(r.items) {
		r.grow()
	}
	r.items[(r.first+r.count)&uint32(len(r.items)-1)] = item
	r.count++
}

// front returns the oldest item of a ring that is not empty.
func (r *ring[T]) front() *T { return &r.items[r.first] }

// pop takes the oldest item of a ring that is not empty.
func (r *ring[T]) pop() T {
	item := r.items[r.first]
	r.first = (r.first + 1) & uint32(len(r.items)-1)
	r.count--
	return item
}

// grow doubles the ring and straightens it.
func (r *ring[T]) grow() {
	larger := make([]T, max(4, 2*len(r.items)))
	n := copy(larger, r.items[r.first:])
	copy(larger[n:], r.items[:r.first])
	r.items, r.first = larger, 0
}

// list is a queue of requests, linked through request.link. A request stands in at most one list.
type list struct {
	head, tail uint32
}

// push adds a request, which stands in no list, behind the others.
func (l *list) push(f *Fabric, i uint32) {
	f.requests.at(i).link = 0
	if l.tail == 0 {
		l.head = i
	} else {
		f.requests.at(l.tail).link = i
	}
	l.tail = i
}

// pop takes the first request of a list that is not empty.
func (l *list) pop(f *Fabric) uint32 {
	i := l.head
	l.head = f.requests.at(i).link
	if l.head == 0 {
		l.tail = 0
	}
	return i
}
