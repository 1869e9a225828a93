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

// arrival is a frame that has come. Frames are messages on a line: a head, and bytes behind it if they are data.
type arrival struct {
	kind    kind
	allowed uint64
	bytes   []byte
}

var errMalformed = errors.New("malformed frame")

func putHead(b *[headSize]byte, k kind, allowed uint64) {
	b[0] = byte(k)
	binary.BigEndian.PutUint64(b[1:], allowed)
}

// decode takes a message apart. The bytes point into it.
func decode(m *wire.Message) (a arrival, err error) {
	items := m.Items.All()
	if len(items) == 0 || len(items[0]) != headSize {
		return a, fmt.Errorf("%w: it has no head", errMalformed)
	}
	a.kind, a.allowed = kind(items[0][0]), binary.BigEndian.Uint64(items[0][1:])
	if a.kind == data && len(items) == 2 {
		a.bytes = items[1]
	}
	switch {
	case a.kind == 0 || a.kind > lastKind:
		return arrival{}, fmt.Errorf("%w: kind %d", errMalformed, a.kind)
	case (a.kind == data) != (len(a.bytes) > 0), len(items) > 2, a.kind != data && len(items) > 1, m.Loans.Len() > 0:
		return arrival{}, fmt.Errorf("%w: kind %d with %d items and %d loans", errMalformed, a.kind, len(items), m.Loans.Len())
	}
	return a, nil
}
