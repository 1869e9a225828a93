package soft

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/verbs/driver"
)

// Pages are replaced again and again under goroutines that store to them: by atomics, by copying, and as a peer in the
// same process, with a collector that wants to stop the world all the time. No store is lost, and nobody waits for ever.
func TestExchangeLosesNothing(t *testing.T) {
	needFreeze(t)
	const pages, exchanges = 16, 5000
	page := os.Getpagesize()
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	l := newLinkOn(t, Config{Lanes: InProcess | SharedMemory})
	m := l.memb
	b := m.region.bytes[:pages*page]
	var over atomic.Bool
	var working sync.WaitGroup
	var added [4]uint64
	for i := range 2 { // word i of each page
		working.Go(func() {
			for ; !over.Load(); added[i]++ {
				atomic.AddUint64(word(b[int(added[i]%pages)*page+8*i:]), 1)
			}
		})
	}
	working.Go(func() { // by copying: 512 bytes of each page
		var mine [512]byte
		for ; !over.Load(); added[2]++ {
			into := b[int(added[2]%pages)*page+1024:][:512]
			binary.NativeEndian.PutUint64(mine[:], binary.NativeEndian.Uint64(into)+1)
			copy(mine[256:], mine[:8])
			copy(into, mine[:])
		}
	})
	working.Go(func() { // as a peer: word 3 of each page
		for ; !over.Load(); added[3]++ {
			at := int(added[3]%pages)*page + 24
			post(t, l.qa, driver.Request{Op: driver.OpFetchAdd, Swap: 1, Span: span(l.mema, 0, 8), Remote: remote(m, at, 8)})
			l.a.expect(0, driver.OpFetchAdd, driver.OK)
		}
	})
	working.Go(func() {
		for !over.Load() {
			runtime.GC()
		}
	})
	for range exchanges {
		from := rand.IntN(len(b))
		s := stretch{offset: uint64(from), length: uint64(1 + rand.IntN(min(len(b)-from, 3*page)))}
		ok(t, m.backing.replaceAll(m.region.bytes, []ousted{{named: s}}))
	}
	over.Store(true)
	working.Wait()
	for i, at := range []int{0, 8, 1024, 24} {
		sum := uint64(0)
		for p := range pages {
			sum += atomic.LoadUint64(word(b[p*page+at:]))
		}
		if sum != added[i] {
			t.Errorf("at %d: %d of %d additions are there", at, sum, added[i])
		}
	}
	if n := len(m.backing.extents); n > maxExtents {
		t.Errorf("the memory has %d pieces, most is %d", n, maxExtents)
	}
}

// What is hidden by later pieces is not kept, and what cannot be told any more is put together.
func TestPiecesStayFew(t *testing.T) {
	needFreeze(t)
	h := newHostWith(t, Config{Lanes: SharedMemory})
	page := uint64(os.Getpagesize())
	m := h.memory(200*int(page), 0)
	for range 100 {
		ok(t, m.backing.replaceAll(m.region.bytes, []ousted{{named: stretch{offset: 5, length: page}}}))
	}
	if n := len(m.backing.extents); n != 2 {
		t.Errorf("%d pieces, want 2", n)
	}
	for i := range uint64(100) {
		m.region.bytes[2*i*page] = byte(i)
		ok(t, m.backing.replaceAll(m.region.bytes, []ousted{{named: stretch{offset: 2 * i * page, length: 1}}}))
		if n := len(m.backing.extents); n > maxExtents {
			t.Fatalf("%d pieces, most is %d", n, maxExtents)
		}
	}
	again, err := mapExtents(m.backing.fd, m.backing.extents)
	ok(t, err)
	for i := range uint64(100) {
		if again[2*i*page] != byte(i) {
			t.Errorf("page %d is not where it is said to be", 2*i)
		}
	}
	ok(t, unix.Munmap(again))
}
