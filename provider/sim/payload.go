package sim

import "github.com/weft-fabric/weft/verbs/driver"

// payload is the content of a message on its way: taken from the sender's memory when the last byte leaves (or when
// the request is posted, if it is Inline), put into the receiver's when the message lands. In between the sender's
// memory may change, or be gone, as on a real wire.
type payload struct {
	bytes  []byte  // of the pieces that have bytes, one after the other
	pieces []piece // in the order of the message
}

// piece is a part of a payload: n real bytes, or n bytes that only have an origin.
type piece struct {
	n      uint64
	origin driver.Origin
	real   bool
}

// reset empties the payload and keeps its memory: payloads are used again and again.
func (p *payload) reset() { p.bytes, p.pieces = p.bytes[:0], p.pieces[:0] }

func (p *payload) add(part piece) { p.pieces = append(p.pieces, part) }

func (p *payload) addBytes(b []byte) {
	p.bytes = append(p.bytes, b...)
	p.add(piece{n: uint64(len(b)), real: true})
}

// cursor walks through a payload.
type cursor struct {
	from  *payload
	piece int    // the current one
	used  uint64 // bytes of the current piece that were taken
	bytes int    // of from.bytes that were taken
}

// next takes at most limit bytes, all of one piece. It returns their bytes if they are real.
func (c *cursor) next(limit uint64) (part piece, b []byte) {
	part = c.from.pieces[c.piece]
	part.origin.Offset += c.used
	part.n = min(limit, part.n-c.used)
	if part.real {
		b = c.from.bytes[c.bytes : c.bytes+int(part.n)]
		c.bytes += int(part.n)
	}
	c.used += part.n
	if c.used == c.from.pieces[c.piece].n {
		c.piece, c.used = c.piece+1, 0
	}
	return part, b
}

// spans is where a message is gathered from or scattered to.
type spans struct {
	first driver.Span
	more  uint32 // in Fabric.spans; 0: none
}

// spanList holds the further spans of one request or receive.
type spanList struct {
	count int
	spans [maxSpans - 1]driver.Span
}

// keepSpans copies the spans of a request or receive, which are the caller's again after posting.
func (f *Fabric) keepSpans(first driver.Span, more []driver.Span) spans {
	s := spans{first: first}
	if len(more) > 0 {
		s.more = f.spans.take()
		l := f.spans.at(s.more)
		l.count = copy(l.spans[:], more)
	}
	return s
}

// dropSpans gives back what keepSpans took.
func (f *Fabric) dropSpans(s spans) {
	if s.more != 0 {
		f.spans.give(s.more)
	}
}

// span returns the i-th span, or false after the last.
func (f *Fabric) span(s *spans, i int) (driver.Span, bool) {
	if i == 0 {
		return s.first, true
	}
	if s.more == 0 {
		return driver.Span{}, false
	}
	l := f.spans.at(s.more)
	if i > l.count {
		return driver.Span{}, false
	}
	return l.spans[i-1], true
}

// covers reports whether every span lies in memory of the domain.
func (q *queuePair) covers(s *spans) bool {
	for i := 0; ; i++ {
		part, ok := q.fabric.span(s, i)
		if !ok {
			return true
		}
		if part.Length == 0 {
			continue
		}
		if _, _, ok := q.local(part); !ok {
			return false
		}
	}
}

// gather takes a message out of local memory. It reports whether all of it was the domain's.
func (q *queuePair) gather(p *payload, s *spans) bool {
	p.reset()
	for i := 0; ; i++ {
		part, ok := q.fabric.span(s, i)
		if !ok {
			return true
		}
		if part.Length == 0 {
			continue
		}
		m, offset, ok := q.local(part)
		if !ok {
			return false
		}
		m.read(p, offset, uint64(part.Length))
	}
}

// scatter puts a message of n bytes, which fits, into local memory. Nothing is written unless all of it is the
// domain's.
func (q *queuePair) scatter(p *payload, s *spans, n uint64) bool {
	if !q.covers(s) {
		return false
	}
	c := cursor{from: p}
	for i := 0; n > 0; i++ {
		part, ok := q.fabric.span(s, i)
		if !ok {
			return false
		}
		if part.Length == 0 {
			continue
		}
		m, offset, _ := q.local(part)
		size := min(n, uint64(part.Length))
		m.write(&c, offset, size)
		n -= size
	}
	return true
}
