package soft

import (
	"bytes"
	"testing"
	"time"

	"github.com/weft-fabric/weft/verbs/driver"
)

// newVictim lends its memory to an intruder.
func newVictim(t *testing.T, depth uint32) (i *intruder, l *lending, lent driver.RemoteSpan) {
	t.Helper()
	l = newLending(t, TCP)
	i = intrude(t, l.b, depth)
	l.qb, l.w = i.q, l.b.window(i.q)
	return i, l, l.lend(0, 4<<20, driver.RemoteAll)
}

// A peer that does not read what it asked for cannot hold up the end of what it was lent; and what was not sent by then is not
// sent any more, though its frame has begun.
func TestRevokeCutsARead(t *testing.T) {
	const reads = 16 // more than sockets hold
	i, l, lent := newVictim(t, reads)
	content := l.m.Region().Bytes
	for n := range content {
		content[n] = 0xaa
	}
	for n := range uint32(reads) {
		i.say(header{op: frameOp(driver.OpRead), sequence: n, total: uint32(len(content)), key: lent.Key, address: lent.Address}, 0)
	}
	for blocked := false; !blocked; l.b.poll() {
		l.b.inside(func() { blocked = i.q.wire.blocked })
	}
	post(t, i.q, revoke(2, l.w))
	if l.w.loan.key.Load() != 0 {
		t.Error("the Revoke waits for the peer to read")
	}
	l.b.expect(2, driver.OpRevoke, driver.OK)
	for n := range content {
		content[n] = 0xbb
	}
	for {
		h := i.hear()
		b := make([]byte, h.length)
		for have := 0; have < len(b); l.b.poll() {
			_ = i.conn.SetReadDeadline(time.Now().Add(time.Millisecond))
			n, _ := i.conn.Read(b[have:])
			have += n
		}
		if bytes.IndexByte(b, 0xbb) >= 0 {
			t.Fatal("bytes were read after the end")
		}
		if h.op == frameNak {
			break
		}
	}
	for i.q.State() != driver.Error {
		l.b.poll()
	}
}

// A Write whose frame has begun is cut, too.
func TestRevokeCutsAWrite(t *testing.T) {
	i, l, lent := newVictim(t, 4)
	const size = 1 << 16
	frame := bytes.Repeat([]byte{0xee}, headerSize+size)
	h := header{op: frameOp(driver.OpWrite), length: size, total: size, key: lent.Key, address: lent.Address}
	h.put(frame)
	moved := i.moved(l.b)
	_, err := i.conn.Write(frame[:headerSize+size/2])
	ok(t, err)
	for i.moved(l.b) < moved+headerSize+size/2 {
		l.b.poll()
	}
	if l.m.Region().Bytes[0] != 0xee {
		t.Fatal("the first half has not landed")
	}
	l.takeBack()
	clear(l.m.Region().Bytes)
	_, err = i.conn.Write(frame[headerSize+size/2:])
	ok(t, err)
	if h := i.hear(); h.op != frameNak || h.status != driver.RemoteAccess {
		t.Fatalf("frame %d with status %v, want a refusal", h.op, h.status)
	}
	if bytes.IndexByte(l.m.Region().Bytes, 0xee) >= 0 {
		t.Error("bytes landed after the end")
	}
}

// Between requests that the peer hears of, some that it does not: the others are numbered without gaps, one that is sent back
// is sent again with its number, and nothing is bound twice.
func TestNumbersPassOverBinds(t *testing.T) {
	i, l, _ := newVictim(t, 8)
	second := l.b.window(i.q)
	next, lent := bind(12, second, span(l.m, 0, 8), driver.RemoteRead)
	message := func(tag driver.Tag) driver.Request {
		return driver.Request{Tag: tag, Op: driver.OpSend, Span: span(l.m, 8*int(tag), 8)}
	}
	post(t, i.q, message(10), revoke(11, l.w), next)
	post(t, i.q, message(13))
	hear := func(sequence uint32) {
		t.Helper()
		got := i.hear()
		if got.op != frameOp(driver.OpSend) || got.sequence != sequence {
			t.Fatalf("frame %d of request %d, want the Send %d", got.op, got.sequence, sequence)
		}
		i.drain(got)
	}
	hear(0)
	hear(1)
	l.b.silent()
	if second.loan.key.Load() != lent.Key {
		t.Fatal("the Bind waits for the peer")
	}
	i.say(header{op: frameNotReady}, 0)
	i.until("it hears that there is no receive", func() bool { return i.q.wire.starving })
	i.say(header{op: frameReady}, 0)
	hear(0)
	hear(1)
	i.say(header{op: frameAck, ack: 1}, 0)
	l.b.expect(10, driver.OpSend, driver.OK)
	l.b.expect(11, driver.OpRevoke, driver.OK)
	l.b.expect(12, driver.OpBind, driver.OK)
	l.b.silent()
	i.say(header{op: frameAck, ack: 2}, 0)
	l.b.expect(13, driver.OpSend, driver.OK)
	post(t, i.q, message(14), revoke(15, second), message(16))
	hear(2)
	hear(3)
	i.say(header{op: frameAck, ack: 5}, 0) // one more than there were
	l.b.expect(14, driver.OpSend, driver.RetryExceeded)
	l.b.expect(15, driver.OpRevoke, driver.Flushed)
	l.b.expect(16, driver.OpSend, driver.Flushed)
	l.b.silent()
}
