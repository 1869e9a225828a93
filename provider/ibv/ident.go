package ibv

// ident is what the device knows a request or receive by (InfiniBand: wr_id): who posted it, and which of that one's it is. Its fields are
// kind (2 bits), slot (18), generation (12) and sequence (32).
type ident uint64

const (
	identRequest = iota
	identReceive
	identShared
	identMark // see mark

	slotBits, generationBits = 18, 12
	maxSlots                 = 1 << slotBits
	generationMask           = 1<<generationBits - 1
)

func makeIdent(kind, slot, generation, sequence uint32) ident {
	return ident(kind)<<62 | ident(slot)<<44 | ident(generation)<<32 | ident(sequence)
}

func (i ident) kind() uint32       { return uint32(i >> 62) }
func (i ident) slot() uint32       { return uint32(i>>44) & (maxSlots - 1) }
func (i ident) generation() uint32 { return uint32(i>>32) & generationMask }
func (i ident) sequence() uint32   { return uint32(i) }

// slots gives numbers to the members of a completion queue. A number that comes back gets a new generation, so that what still arrives for
// its last bearer is recognised.
type slots[T any] struct {
	list   []slot[T]
	vacant []uint32
}

type slot[T any] struct {
	member     *T
	generation uint32
}

// take returns false if there are no more numbers.
func (s *slots[T]) take(member *T) (number, generation uint32, ok bool) {
	if len(s.vacant) == 0 {
		if len(s.list) == maxSlots {
			return 0, 0, false
		}
		s.list = append(s.list, slot[T]{})
		s.vacant = append(s.vacant, uint32(len(s.list)-1))
	}
	number = s.vacant[0]
	s.vacant = s.vacant[1:]
	s.list[number].member = member
	return number, s.list[number].generation, true
}

// renew gives a number a new generation: what was posted under the old one is dropped when it arrives.
func (s *slots[T]) renew(number uint32) uint32 {
	s.list[number].generation = (s.list[number].generation + 1) & generationMask
	return s.list[number].generation
}

func (s *slots[T]) leave(number uint32) {
	s.renew(number)
	s.list[number].member = nil
	s.vacant = append(s.vacant, number)
}

// find returns nil if the ident's bearer is gone.
func (s *slots[T]) find(i ident) *T {
	if i.slot() >= uint32(len(s.list)) {
		return nil
	}
	if at := &s.list[i.slot()]; at.generation == i.generation() {
		return at.member
	}
	return nil
}
