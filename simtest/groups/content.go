package groups

import (
	"encoding/binary"
	"math/bits"

	"github.com/weft-fabric/weft/verbs"
)

// piece is some bytes of an object. Contents are a function of the object and the place in it, so that nobody has to
// keep them to know them.
type piece struct {
	object uint64
	offset uint64 // of the first byte, in the object
	length int
}

// put makes the bytes of memory from at on be the piece.
func (p piece) put(memory *verbs.Memory, at int) error {
	if bytes := memory.Bytes(); bytes != nil {
		p.walk(bytes[at:at+p.length], func(b *byte, want byte) bool { *b = want; return true })
		return nil
	}
	return memory.Mark(at, p.length, verbs.Origin{Object: p.object, Offset: p.offset})
}

// isAt reports whether the bytes of memory from at on are the piece.
func (p piece) isAt(memory *verbs.Memory, at int) bool {
	if p.length == 0 {
		return true
	}
	if bytes := memory.Bytes(); bytes != nil {
		return p.walk(bytes[at:at+p.length], func(b *byte, want byte) bool { return *b == want })
	}
	origin, whole := memory.Origin(at, p.length)
	return whole && origin == verbs.Origin{Object: p.object, Offset: p.offset}
}

// walk calls visit with every byte and what it should be, until that says false.
func (p piece) walk(bytes []byte, visit func(b *byte, want byte) bool) bool {
	var word [8]byte
	for i := range bytes {
		at := p.offset + uint64(i)
		if i == 0 || at%8 == 0 {
			binary.LittleEndian.PutUint64(word[:], scramble(p.object, at/8))
		}
		if !visit(&bytes[i], word[at%8]) {
			return false
		}
	}
	return true
}

// scramble makes a word that depends on every bit of both.
func scramble(object, index uint64) uint64 {
	high, low := bits.Mul64(object^0x9e3779b97f4a7c15, index^0xd1b54a32d192ed03)
	return high ^ low ^ object<<32 ^ index
}
