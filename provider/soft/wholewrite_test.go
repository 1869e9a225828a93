package soft

import (
	"bytes"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// aimed is a lending whose borrower has written to what is lent.
func aimed(t *testing.T, lanes Lanes) (*lending, driver.RemoteSpan) {
	t.Helper()
	l := newLending(t, lanes)
	lent := l.lend(4096, 256, driver.RemoteWrite)
	if l.qa.WriteNow([]byte("12345678"), lent) {
		t.Fatal("a memory that nobody has written to is known")
	}
	l.use(l.qa, driver.OpWrite, lent, driver.OK)
	return l, lent
}

func TestWriteNow(t *testing.T) {
	for _, lanes := range []Lanes{InProcess, SharedMemory} {
		t.Run(lanes.String(), func(t *testing.T) {
			l, lent := aimed(t, lanes)
			for n := 1; n <= 256; n++ {
				text := bytes.Repeat([]byte{byte(n)}, n)
				to := driver.RemoteSpan{Address: lent.Address + uint64(256-n), Length: uint64(n), Key: lent.Key}
				if !l.qa.WriteNow(text, to) {
					t.Fatalf("%d bytes were not written", n)
				}
				if got := l.m.Region().Bytes[4096+256-n:][:n]; !bytes.Equal(got, text) {
					t.Fatalf("%d bytes have become %v", n, got)
				}
			}
			if l.a.poll(); len(l.a.kept) > 0 {
				t.Errorf("something has completed: %v", l.a.kept)
			}
		})
	}
}

// What WriteNow may not do it leaves alone, and the connection is as good as before.
func TestWriteNowRefuses(t *testing.T) {
	moved := func(r driver.RemoteSpan, by int) driver.RemoteSpan {
		r.Address += uint64(by)
		return r
	}
	for name, c := range map[string]struct {
		change func(l *lending)
		bytes  int
		move   int
	}{
		"before it":        {bytes: 8, move: -8},
		"behind it":        {bytes: 8, move: 256},
		"over the edge":    {bytes: 8, move: 252},
		"nothing":          {},
		"more than short":  {bytes: volleyWrite + 1},
		"taken back":       {bytes: 8, change: (*lending).takeBack},
		"lent for reading": {bytes: 8, change: func(l *lending) { l.takeBack(); l.lend(4096, 256, driver.RemoteRead) }},
		"lent anew":        {bytes: 8, change: func(l *lending) { l.takeBack(); l.lend(4096, 256, driver.RemoteWrite) }},
		"window closed":    {bytes: 8, change: func(l *lending) { ok(l.b.t, l.w.Close()) }},
		"memory closed":    {bytes: 8, change: func(l *lending) { ok(l.b.t, l.m.Close()) }},
		"no access": {bytes: 8, change: func(l *lending) {
			ok(l.b.t, l.qb.SetAccess(5, 0))
			l.b.expect(5, driver.OpQueueAccess, driver.OK, l.a)
		}},
		"the peer is gone": {bytes: 8, change: func(l *lending) { ok(l.b.t, l.qb.Close()) }},
	} {
		for _, lanes := range []Lanes{InProcess, SharedMemory} {
			t.Run(name+" "+lanes.String(), func(t *testing.T) {
				l, lent := aimed(t, lanes)
				before := bytes.Clone(l.m.Region().Bytes)
				if c.change != nil {
					c.change(l)
				}
				if l.qa.WriteNow(bytes.Repeat([]byte{0xee}, c.bytes), moved(lent, c.move)) {
					t.Error("it was written")
				}
				if name != "memory closed" && !bytes.Equal(before, l.m.Region().Bytes) {
					t.Error("something has changed")
				}
				if name != "the peer is gone" && l.qa.State() != driver.Ready {
					t.Errorf("the queue pair is %v", l.qa.State())
				}
			})
		}
	}
}

// A wire takes requests only, and what was posted before comes first.
func TestWriteNowWaitsForNobody(t *testing.T) {
	l := newLending(t, TCP)
	lent := l.lend(0, 64, driver.RemoteWrite)
	l.use(l.qa, driver.OpWrite, lent, driver.OK)
	if l.qa.WriteNow(make([]byte, 8), lent) {
		t.Error("it was written over a wire")
	}
	l, lent = aimed(t, SharedMemory)
	post(t, l.qa, driver.Request{Tag: 9, Op: driver.OpSend, Span: span(l.mema, 0, 8)}) // there is no receive
	if l.qa.WriteNow(make([]byte, 8), lent) {
		t.Error("it has overtaken a Send")
	}
}

// TestWriteNowToPagesThatMove: while pages are being moved nothing is written, nor to where they were; then to where they are.
func TestWriteNowToPagesThatMove(t *testing.T) {
	l, lent := aimed(t, SharedMemory)
	l.m.region.beginMoving()
	isDoneAmid := l.qa.WriteNow([]byte("amid"), lent)
	l.m.region.endMoving()
	if isDoneAmid || l.qa.WriteNow([]byte("after"), lent) {
		t.Error("it was written to pages that are gone")
	}
	l.use(l.qa, driver.OpWrite, lent, driver.OK)
	if !l.qa.WriteNow([]byte("now"), lent) || !bytes.HasPrefix(l.m.Region().Bytes[4096:], []byte("now")) {
		t.Error("it was not written, or elsewhere")
	}
}

// TestNothingLandsNowAfterRevocation: who revokes finds nothing changed afterwards, also by writes that need no request.
func TestNothingLandsNowAfterRevocation(t *testing.T) {
	for _, lanes := range []Lanes{InProcess, SharedMemory} {
		t.Run(lanes.String(), func(t *testing.T) {
			for range 20 {
				l, lent := aimed(t, lanes)
				dst := l.m.Region().Bytes[4096:][:64]
				var writer sync.WaitGroup
				begun := make(chan struct{})
				writer.Go(func() {
					src := make([]byte, 64)
					for round := 1; ; round++ {
						for i := range src {
							src[i] = byte(round)
						}
						if !l.qa.WriteNow(src, lent) {
							return
						}
						if round == 100 {
							close(begun)
						}
					}
				})
				<-begun
				post(t, l.qb, revoke(2, l.w))
				l.b.expect(2, driver.OpRevoke, driver.OK)
				snapshot := bytes.Clone(dst)
				writer.Wait()
				if !bytes.Equal(dst, snapshot) {
					t.Fatal("something landed after Revoke had ended")
				}
				l.b.close()
				l.a.close()
			}
		})
	}
}
