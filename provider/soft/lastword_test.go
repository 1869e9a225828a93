package soft

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/weft-fabric/weft/verbs/driver"
)

// lastWordWatch looks at bytes that are written over and over by another goroutine. Write number n fills them with
// byte(n), but for the last aligned word, which holds n in either half.
type lastWordWatch struct {
	all      []byte // aligned; what is written lies inside
	start    int    // in all, of what is written
	last     int    // in all, of the last aligned word
	places   [3]int // in all, of bytes before the last word and behind it
	seen     uint32 // the number in the last word, when last looked at
	compared atomic.Int64
}

// watchLastWord makes a watch of size bytes of all, which is aligned, from start.
func watchLastWord(all []byte, start, size int) *lastWordWatch {
	last := start + lastWord(all[start:][:size])
	return &lastWordWatch{all: all, start: start, last: last, places: [3]int{start, last - 1, start + size - 1}}
}

// prepare makes src the source of write number n.
func (w *lastWordWatch) prepare(src []byte, n uint32) {
	for i := range src {
		src[i] = byte(n)
	}
	binary.NativeEndian.PutUint64(src[w.last-w.start:], uint64(n)<<32|uint64(n))
}

// number reads the last word.
func (w *lastWordWatch) number() (uint32, error) {
	v := loadWord(w.all[w.last:])
	if uint32(v) != uint32(v>>32) {
		return 0, fmt.Errorf("last word is %#x: one half is of another write than the other", v)
	}
	return uint32(v), nil
}

// look compares the bytes with the last word if it is new. The watcher may be stopped anywhere, while the writer goes on:
// if the last word has moved by more than one meanwhile, the bytes say nothing. Otherwise they are of the write that was
// seen first or a later one, up to the one behind the write that was seen last: it may be under way.
func (w *lastWordWatch) look() error {
	first, err := w.number()
	if first == w.seen || err != nil {
		return err
	}
	w.seen = first
	var bytes [len(w.places)]byte
	for i, at := range w.places {
		bytes[i] = w.byteAt(at)
	}
	again, err := w.number()
	moved := again - first
	if moved > 1 || err != nil {
		return err
	}
	w.compared.Add(1)
	for i, at := range w.places {
		if ahead := bytes[i] - byte(first); uint32(ahead) > moved+1 {
			return fmt.Errorf("last word is of write %d, byte %d of write %d modulo 256", first, at, bytes[i])
		}
	}
	return nil
}

// byteAt reads a byte as part of its aligned word, because only atomic looks come in the order of the program.
func (w *lastWordWatch) byteAt(at int) byte {
	var b [wordSize]byte
	binary.NativeEndian.PutUint64(b[:], loadWord(w.all[at&^(wordSize-1):]))
	return b[at%wordSize]
}

// during looks while write is called with 1, 2 and so on: at least rounds times, and until enough comparisons were made
// for the test to mean something.
func (w *lastWordWatch) during(t *testing.T, rounds uint32, write func(n uint32)) {
	const enough = 20
	var stop atomic.Bool
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for !stop.Load() {
			if err := w.look(); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for n := uint32(1); !t.Failed() && (n <= rounds || w.compared.Load() < enough); n++ {
		write(n)
	}
	stop.Store(true)
	watcher.Wait()
}

// TestLastWordComesLast watches the last aligned word of a long write: when it has changed, everything has.
func TestLastWordComesLast(t *testing.T) {
	const size, shift = 64<<10 + 7, 3
	l := newLink(t)
	src := l.mema.Region().Bytes[:size]
	w := watchLastWord(l.memb.Region().Bytes, shift, size)
	w.during(t, 1000, func(n uint32) {
		w.prepare(src, n)
		post(t, l.qa, driver.Request{Op: driver.OpWrite, Span: span(l.mema, 0, size), Remote: remote(l.memb, shift, size)})
		l.a.expect(0, driver.OpWrite, driver.OK)
	})
}

// TestPlaceStoresTheLastWordLastAndWhole watches so few bytes that the watcher is there between any two stores.
func TestPlaceStoresTheLastWordLastAndWhole(t *testing.T) {
	const size, shift = 24, 3
	dst := newHost(t).memory(64, 0).Region().Bytes
	src := make([]byte, size)
	w := watchLastWord(dst, shift, size)
	w.during(t, 3_000_000, func(n uint32) {
		w.prepare(src, n)
		place(dst[shift:][:size], src)
	})
}

// TestLastWordIsTheLastAlignedOne checks by arithmetic what the watcher above can only catch by luck.
func TestLastWordIsTheLastAlignedOne(t *testing.T) {
	room := make([]uint64, 8)
	all := unsafe.Slice((*byte)(unsafe.Pointer(&room[0])), 64)
	for from := range 24 {
		for to := from + 1; to <= 48; to++ {
			want := -1
			for w := 0; w+8 <= to; w += 8 {
				if w >= from {
					want = w - from
				}
			}
			if got := max(lastWord(all[from:to]), -1); got != want {
				t.Fatalf("last word of [%d, %d) is at %d, want %d", from, to, got, want)
			}
		}
	}
}
