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
	finish                  // no more bytes will come
	goodbye                 // no more bytes will come, and none are read

	lastKind = goodbye
)

// headSize is how many bytes the head of a frame has: its kind, and how many bytes its sender has let the peer send since the
// connection was made.
const headSize = 1 + 8

// version is what one who dials says that it speaks.
const version = 1

// arrival is a frame that has come. Frames are messages on a line: a head, and the bytes behind it, or a loan.
type arrival struct {
	kind    kind
	allowed uint64
	bytes   []byte    // of data
	loan    wire.Span // of bulk
}

var errMalformed = errors.New("malformed frame")

func putHead(b *[headSize]byte, k kind, allowed uint64) {
	b[0] = byte(k)
	binary.BigEndian.PutUint64(b[1:], allowed)
}

// shape is what a message is made of.
type shape struct{ items, loans int }

// decode takes a message apart. The bytes point into it.
func decode(m *wire.Message) (a arrival, err error) {
	items := m.Items.All()
	if len(items) == 0 || len(items[0]) != headSize {
		return a, fmt.Errorf("%w: it has no head", errMalformed)
	}
	a.kind, a.allowed = kind(items[0][0]), binary.BigEndian.Uint64(items[0][1:])
	loans := m.Loans.All()
	want := shape{1, 0}
	switch a.kind {
	case data:
		want = shape{2, 0}
	case bulk:
		want = shape{1, 1}
	}
	if a.kind == 0 || a.kind > lastKind || want != (shape{len(items), len(loans)}) || a.kind == data && len(items[1]) == 0 {
		return arrival{}, fmt.Errorf("%w: kind %d with %d items and %d loans", errMalformed, a.kind, len(items), len(loans))
	}
	switch a.kind {
	case data:
		a.bytes = items[1]
	case bulk:
		a.loan = loans[0]
	}
	return a, nil
}
