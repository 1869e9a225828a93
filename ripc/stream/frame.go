package stream

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/ripc/wire"
)

// kind is what a frame is for.
type kind uint8

const (
	data    kind = iota + 1 // bytes of the stream
	bulk                    // bytes of the stream, which stay with the sender and are lent
	grant                   // nothing but what every frame says: how much the peer may send
	ground                  // where the peer may write bytes of the stream to: returns, each for a piece at a time
	landed                  // bytes of the stream, which were written there
	finish                  // no more bytes will come
	goodbye                 // no more bytes will come, and none are read

	lastKind = goodbye
)

// headSize is how many bytes the head of a frame has: its kind and, since the connection was made, how many bytes its sender has let
// the peer send, and how many pieces it has read of those that were written to its memory.
const headSize = 1 + 8 + 8

// hello is what one who dials says, so that a listener knows it from other calls: what it speaks, in which version.
const hello = "weft stream 3"

// arrival is a frame that has come. Frames are messages on a line: a head, and the bytes behind it, or a loan.
type arrival struct {
	kind    kind
	allowed uint64
	read    uint64
	bytes   []byte      // of data
	loan    wire.Span   // of bulk
	ground  []wire.Span // of ground
	fill    wire.Fill   // of landed
}

var errMalformed = errors.New("malformed frame")

func putHead(b *[headSize]byte, k kind, allowed, read uint64) {
	putKind(b, k)
	binary.BigEndian.PutUint64(b[1:], allowed)
	binary.BigEndian.PutUint64(b[9:], read)
}

func putKind(b *[headSize]byte, k kind) { b[0] = byte(k) }

// shape is what a message is made of.
type shape struct{ items, loans, returns, fills int }

func shapeOf(m *wire.Message) shape {
	return shape{m.Items.Len(), m.Loans.Len(), m.Returns.Len(), m.Fills.Len()}
}

// shape is what a frame of the kind is made of.
func (k kind) shape() shape {
	switch k {
	case data:
		return shape{items: 2}
	case bulk:
		return shape{items: 1, loans: 1}
	case ground:
		return shape{items: 1, returns: berths}
	case landed:
		return shape{items: 1, fills: 1}
	}
	return shape{items: 1}
}

// decode takes a message apart. The bytes point into it.
func decode(m *wire.Message) (a arrival, err error) {
	items := m.Items.All()
	if len(items) == 0 || len(items[0]) != headSize {
		return a, fmt.Errorf("%w: it has no head", errMalformed)
	}
	a.kind, a.allowed, a.read = kind(items[0][0]), binary.BigEndian.Uint64(items[0][1:]), binary.BigEndian.Uint64(items[0][9:])
	if is := shapeOf(m); a.kind == 0 || a.kind > lastKind || is != a.kind.shape() || a.kind == data && len(items[1]) == 0 {
		return arrival{}, fmt.Errorf("%w: kind %d with %+v", errMalformed, a.kind, is)
	}
	switch a.kind {
	case data:
		a.bytes = items[1]
	case bulk:
		a.loan = m.Loans.All()[0]
	case ground:
		a.ground = m.Returns.All()
	case landed:
		a.fill = m.Fills.All()[0]
	}
	return a, nil
}
