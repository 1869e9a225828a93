package sim

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/weft-fabric/weft/verbs/driver"
)

func (h *host) phantom(size uint64) driver.PhantomMemory {
	h.t.Helper()
	m, err := h.domain.AllocPhantom(size, driver.RemoteAll)
	must(h.t, err)
	return m
}

func spanOf(m driver.Memory, offset uint64, n uint32) driver.Span {
	r := m.Region()
	return driver.Span{Address: r.Address + offset, Length: n, Key: r.LocalKey}
}

func remoteOf(m driver.Memory, offset, n uint64) driver.RemoteSpan {
	r := m.Region()
	return driver.RemoteSpan{Address: r.Address + offset, Length: n, Key: r.RemoteKey}
}

// A gigabyte in blocks of a mebibyte arrives as one piece of one object.
func TestPhantomGigabyte(t *testing.T) {
	const block, blocks = 1 << 20, 1 << 10
	f, a, b, qa, _ := couple(t, Config{})
	from, to := a.phantom(block*blocks), b.phantom(block*blocks)
	from.Mark(0, block*blocks, driver.Origin{Object: 9, Offset: 5})
	for i := range uint64(blocks) {
		qa.must(t, driver.Request{Op: driver.OpWrite, Span: spanOf(from, i*block, block), Remote: remoteOf(to, i*block, block)})
		a.want(driver.OpWrite, driver.OK)
	}
	if o, ok := to.Origin(0, block*blocks); !ok || o != (driver.Origin{Object: 9, Offset: 5}) {
		t.Errorf("origin %+v, %v", o, ok)
	}
	if n := len(*to.(phantomMemory).phantom); n != 1 {
		t.Errorf("it is kept as %d pieces", n)
	}
	settled(t, f)
}

func TestPhantomMeetsReal(t *testing.T) {
	_, a, b, qa, qb := couple(t, Config{})
	ghost := a.phantom(100)
	ghost.Mark(0, 100, driver.Origin{Object: 1})
	copy(a.bytes(), "head")
	copy(b.bytes(), "0123456789")
	target := b.phantom(100)
	target.Mark(0, 100, driver.Origin{Object: 2})
	// Header and body gathered, and scattered likewise: each keeps what it is.
	qb.mustReceive(t, driver.Receive{Span: b.span(0, 4), More: []driver.Span{spanOf(target, 50, 10)}})
	qa.must(t, driver.Request{Op: driver.OpSend, Span: a.span(0, 4), More: []driver.Span{spanOf(ghost, 20, 10)}})
	a.want(driver.OpSend, driver.OK)
	if o, ok := target.Origin(50, 10); string(b.bytes()[:4]) != "head" || !ok || o.Offset != 20 || o.Object != 1 {
		t.Errorf("header %q, body %+v %v", b.bytes()[:4], o, ok)
	}
	// Phantom to real is zeros, real to phantom is nothing known.
	qa.must(t, driver.Request{Op: driver.OpWrite, Span: spanOf(ghost, 0, 3), Remote: b.remote(4, 3)},
		driver.Request{Op: driver.OpWrite, Span: a.span(0, 3), Remote: remoteOf(target, 0, 3)},
		driver.Request{Op: driver.OpFetchAdd, Span: a.span(0, 8), Remote: remoteOf(target, 0, 8)})
	a.want(driver.OpWrite, driver.OK)
	a.want(driver.OpWrite, driver.OK)
	a.want(driver.OpFetchAdd, driver.RemoteInvalid)
	if got := string(b.bytes()[4:10]); got != "\x00\x00\x00789" {
		t.Errorf("memory %q", got)
	}
	if _, ok := target.Origin(0, 1); ok {
		t.Error("real bytes have an origin")
	}
	if o, ok := target.Origin(3, 47); !ok || o.Offset != 3 {
		t.Errorf("the rest has origin %+v %v", o, ok)
	}
}

// Marks in any order give what an array of origins gives, kept as few sorted pieces.
func TestStretchesAgainstAnArray(t *testing.T) {
	const size = 40
	rapid.Check(t, func(t *rapid.T) {
		var s stretches
		var want [size]driver.Origin
		for range rapid.IntRange(1, 30).Draw(t, "marks") {
			offset := rapid.Uint64Range(0, size-1).Draw(t, "offset")
			n := rapid.Uint64Range(0, size-offset).Draw(t, "n")
			origin := driver.Origin{Object: rapid.Uint64Range(0, 2).Draw(t, "object")}
			origin.Offset = rapid.Uint64Range(0, 9).Draw(t, "at")
			s.mark(offset, n, origin)
			for i := range n {
				want[offset+i] = driver.Origin{}
				if origin.Object != 0 {
					want[offset+i] = driver.Origin{Object: origin.Object, Offset: origin.Offset + i}
				}
			}
		}
		for i, w := range want {
			if got, ok := s.origin(uint64(i), 1); got != w || ok != (w.Object != 0) {
				t.Fatalf("byte %d has %+v, want %+v in %+v", i, got, w, s)
			}
		}
		for i := range s {
			if s[i].start >= s[i].end || i > 0 && (s[i-1].end > s[i].start || s[i].continues(s[i-1])) {
				t.Fatalf("piece %d breaks the invariant in %+v", i, s)
			}
		}
		var p payload
		s.appendTo(&p, 3, size-3)
		at := uint64(3)
		for _, part := range p.pieces {
			for i := range part.n {
				w := driver.Origin{Object: part.origin.Object, Offset: part.origin.Offset + i}
				if part.origin.Object == 0 {
					w = driver.Origin{}
				}
				if want[at] != w {
					t.Fatalf("read at %d gives %+v, want %+v", at, w, want[at])
				}
				at++
			}
		}
		if at != size {
			t.Fatalf("read gives %d bytes", at)
		}
	})
}
