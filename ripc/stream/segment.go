package stream

import (
	"sync"

	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// segment is some bytes that have come and were not read: copies of short data, a buffer that bulk is fetched into, or a berth that the
// peer has written to. It belongs to the loop until a reader has taken it.
type segment struct {
	bytes []byte       // not read yet
	room  *[]byte      // that they lie in, of spare; or
	pull  *pull        // what fetches them; or
	berth *ripc.Buffer // where the peer has put them
	in    *incoming    // whose berth it is
}

// pull is the way of bulk to a segment.
type pull struct {
	link.Pull
	conn    *Conn
	segment *segment
	buffer  *ripc.Buffer
	from    [1]wire.Span
	into    [1]verbs.Span
	isDone  bool
	isWaste bool // nobody will read it
}

const segmentSize = 16 << 10

var spare = sync.Pool{New: func() any { b := make([]byte, 0, segmentSize); return &b }}

func newSegment() *segment {
	room := spare.Get().(*[]byte)
	return &segment{bytes: (*room)[:0], room: room}
}

// isThere reports whether the bytes have come.
func (s *segment) isThere() bool { return s.pull == nil || s.pull.isDone }

// add copies as many bytes as there is room for, and returns the rest.
func (s *segment) add(b []byte) []byte {
	n := min(len(b), cap(s.bytes)-len(s.bytes))
	s.bytes = append(s.bytes, b[:n]...)
	return b[n:]
}

// free gives the memory back, as soon as nothing can land there.
func (s *segment) free() {
	switch {
	case s.berth != nil:
		s.berth.Release()
		s.in.landRead.Add(1)
	case s.pull == nil:
		spare.Put(s.room)
	case s.pull.isDone:
		s.pull.buffer.Release()
	default:
		s.pull.isWaste = true
	}
	s.bytes = nil
}
