package soft

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"

	"github.com/weft-fabric/weft/verbs/driver"
)

// wordSize is the size of the words that are read and written as one.
const wordSize = 8

// word returns the aligned word at the front of b.
func word(b []byte) *uint64 { return (*uint64)(unsafe.Pointer(unsafe.SliceData(b[:wordSize]))) }

func aligned(b []byte) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%wordSize == 0 }

// lastWord returns the offset in b of its last aligned word, or a negative number if it has none.
func lastWord(b []byte) int {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return int((start+uintptr(len(b)))&^(wordSize-1)-start) - wordSize
}

// place copies src to dst, which is as long, and stores the last aligned word of dst last and atomically: whoever sees
// that word's new value sees all the rest. A single aligned word is thereby read and written as one.
func place(dst, src []byte) {
	last := lastWord(dst)
	if last < 0 {
		copy(dst, src)
		return
	}
	copy(dst[:last], src[:last])
	if rest := last + wordSize; rest < len(dst) {
		copy(dst[rest:], src[rest:])
	}
	atomic.StoreUint64(word(dst[last:]), loadWord(src[last:]))
}

// loadWord reads the word at the front of b: as one, if it is aligned.
func loadWord(b []byte) uint64 {
	if aligned(b) {
		return atomic.LoadUint64(word(b))
	}
	return binary.NativeEndian.Uint64(b)
}

// pieces walks through the bytes of a list of spans. It is used inside the gate only, after cover has found all
// spans in live memory: until the requester leaves, that memory stays mapped and known.
type pieces struct {
	here []byte        // what is left of the span at hand
	more []driver.Span // the spans that follow
	keys keyring
}

// open begins with the spans that cover has found good, r being the region of the first. It fills p in place: a
// struct that is returned is copied, and the copy stalls on stores that are still under way.
func (p *pieces) open(keys keyring, r *region, first driver.Span, more []driver.Span) {
	p.keys, p.more = keys, more
	if r != nil {
		p.here = r.slice(first.Address, uint64(first.Length))
	}
}

// skip moves on by n bytes, which must be there.
func (p *pieces) skip(n uint64) {
	for n > 0 {
		step := uint64(len(p.next(n)))
		p.here = p.here[step:]
		n -= step
	}
}

// next returns the next bytes, at most limit and as many as lie together, without moving on.
func (p *pieces) next(limit uint64) []byte {
	for len(p.here) == 0 && len(p.more) > 0 {
		p.advance()
	}
	return p.here[:min(limit, uint64(len(p.here)))]
}

// advance goes on to the next span. There is one.
func (p *pieces) advance() {
	s := p.more[0]
	if p.more = p.more[1:]; s.Length > 0 {
		p.here = p.keys.local(s.Key).slice(s.Address, uint64(s.Length))
	}
}

// readInto fills dst with the next bytes.
func (p *pieces) readInto(dst []byte) {
	for len(dst) > 0 {
		n := copy(dst, p.next(uint64(len(dst))))
		p.skip(uint64(n))
		dst = dst[n:]
	}
}

// copyFrom spreads src over the next bytes, each piece by one copy: from 1 MiB on, Go's copy passes the cache by.
func (p *pieces) copyFrom(src []byte) {
	for len(src) > 0 {
		n := copy(p.next(uint64(len(src))), src)
		p.skip(uint64(n))
		src = src[n:]
	}
}

// writeFrom spreads src over the next bytes as place does.
func (p *pieces) writeFrom(src []byte) {
	for len(src) > 0 {
		dst := p.next(uint64(len(src)))
		place(dst, src[:len(dst)])
		p.skip(uint64(len(dst)))
		src = src[len(dst):]
	}
}

// publish fills dst with the next bytes as place does, though they come in pieces.
func (p *pieces) publish(dst []byte) {
	if first := p.next(uint64(len(dst))); len(first) == len(dst) {
		place(dst, first)
		return
	}
	last := max(lastWord(dst), 0)
	p.readInto(dst[:last])
	// The last word and what follows it, or all of a dst without an aligned word: at most 15 bytes.
	var tail [2*wordSize - 1]byte
	n := len(dst) - last
	p.readInto(tail[:n])
	place(dst[last:], tail[:n])
}

// stream copies n bytes from src to dst, in any order: a message is looked at when it is reported.
func stream(dst, src *pieces, n uint64) {
	for n > 0 {
		from := src.next(n)
		dst.copyFrom(from)
		src.skip(uint64(len(from)))
		n -= uint64(len(from))
	}
}
