package sim

import (
	"slices"
	"sort"

	"github.com/weft-fabric/weft/verbs/driver"
)

// stretch is an unbroken piece of one object in phantom memory: from start up to, not including, end.
type stretch struct {
	start, end uint64
	origin     driver.Origin // of the byte at start
}

// continues reports whether s is the very continuation of before, in memory and in the object.
func (s stretch) continues(before stretch) bool {
	return before.end == s.start && before.origin.Object == s.origin.Object &&
		before.origin.Offset+(before.end-before.start) == s.origin.Offset
}

// stretches is the content of phantom memory. A gigabyte received block by block in order is one stretch.
//
// Invariant: sorted, apart, none empty, none of object 0, and no stretch continues the one before it.
type stretches []stretch

// after returns the first stretch that ends after offset, or len(s).
func (s stretches) after(offset uint64) int {
	return sort.Search(len(s), func(i int) bool { return s[i].end > offset })
}

// mark declares n bytes from offset to come from origin; from object 0 means that they are unwritten again.
func (s *stretches) mark(offset, n uint64, origin driver.Origin) {
	if n == 0 {
		return
	}
	s.cut(offset)
	s.cut(offset + n)
	first, last := s.after(offset), s.after(offset+n-1)
	if last < len(*s) && (*s)[last].start < offset+n {
		last++
	}
	if origin.Object == 0 {
		*s = slices.Delete(*s, first, last)
		return
	}
	*s = slices.Replace(*s, first, last, stretch{offset, offset + n, origin})
	s.merge(first + 1)
	s.merge(first)
}

// cut splits the stretch that covers both sides of offset, so that one ends and one begins there.
func (s *stretches) cut(offset uint64) {
	i := s.after(offset)
	if i == len(*s) || (*s)[i].start >= offset {
		return
	}
	right := (*s)[i]
	right.origin.Offset += offset - right.start
	right.start = offset
	(*s)[i].end = offset
	*s = slices.Insert(*s, i+1, right)
}

// merge makes the stretch i one with the stretch before it, if it continues it.
func (s *stretches) merge(i int) {
	if i == 0 || i >= len(*s) || !(*s)[i].continues((*s)[i-1]) {
		return
	}
	(*s)[i-1].end = (*s)[i].end
	*s = slices.Delete(*s, i, i+1)
}

// origin says where n bytes from offset came from, if they are of one object and unbroken.
func (s stretches) origin(offset, n uint64) (driver.Origin, bool) {
	i := s.after(offset)
	if n == 0 || i == len(s) || s[i].start > offset || s[i].end < offset+n {
		return driver.Origin{}, false
	}
	from := s[i].origin
	from.Offset += offset - s[i].start
	return from, true
}

// appendTo adds the content of n bytes from offset to a payload.
func (s stretches) appendTo(p *payload, offset, n uint64) {
	end := offset + n
	for i := s.after(offset); i < len(s) && s[i].start < end; i++ {
		if s[i].start > offset {
			p.add(piece{n: s[i].start - offset})
			offset = s[i].start
		}
		from := s[i].origin
		from.Offset += offset - s[i].start
		stop := min(end, s[i].end)
		p.add(piece{n: stop - offset, origin: from})
		offset = stop
	}
	if offset < end {
		p.add(piece{n: end - offset})
	}
}
