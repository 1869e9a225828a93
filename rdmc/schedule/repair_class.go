package schedule

import "encoding/binary"

// class is all blocks that the same members hold: a step treats them alike, and gives away at most one of them. After a
// failure there are few classes, however many blocks.
type class struct {
	holders ranks
	count   int   // of holders
	blocks  []int // taken from the end
	place   int   // index among the classes with as many holders
	grown   ranks // holders after this step, of the last block; nil if nobody receives it
}

// last is the block that a step gives away.
func (c *class) last() int { return c.blocks[len(c.blocks)-1] }

// shelf has the classes of all blocks that somebody lacks.
type shelf struct {
	members int
	byCount [][]*class        // by number of holders
	byKey   map[string]*class // by holders; never iterated over
	key     []byte
	blocks  int // in all classes
}

func newShelf(members int) shelf {
	return shelf{members: members, byCount: make([][]*class, members+1), byKey: map[string]*class{}}
}

// put files a block under its holders, and reports whether somebody lacks it. It keeps holders.
func (s *shelf) put(block int, holders ranks) bool {
	count := holders.count()
	if count == s.members {
		return false
	}
	c := s.find(holders, count)
	c.blocks = append(c.blocks, block)
	s.blocks++
	return true
}

func (s *shelf) find(holders ranks, count int) *class {
	s.makeKey(holders)
	if c, ok := s.byKey[string(s.key)]; ok {
		return c
	}
	c := &class{holders: holders, count: count, place: len(s.byCount[count])}
	s.byCount[count] = append(s.byCount[count], c)
	s.byKey[string(s.key)] = c
	return c
}

// take removes a class's last block, and the class with its last.
func (s *shelf) take(c *class) int {
	block := c.last()
	c.blocks = c.blocks[:len(c.blocks)-1]
	s.blocks--
	if len(c.blocks) == 0 {
		s.drop(c)
	}
	return block
}

func (s *shelf) drop(c *class) {
	s.makeKey(c.holders)
	delete(s.byKey, string(s.key))
	same := s.byCount[c.count]
	moved := same[len(same)-1]
	same[c.place], moved.place = moved, c.place
	s.byCount[c.count] = same[:len(same)-1]
}

func (s *shelf) makeKey(holders ranks) {
	s.key = s.key[:0]
	for _, word := range holders {
		s.key = binary.LittleEndian.AppendUint64(s.key, word)
	}
}

// rarest goes through the classes, those with fewest holders first. (It is an iterator.)
func (s *shelf) rarest(yield func(*class) bool) {
	for _, same := range s.byCount {
		for _, c := range same {
			if !yield(c) {
				return
			}
		}
	}
}
