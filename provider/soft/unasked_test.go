package soft

import (
	"testing"
	"time"

	"github.com/weft-fabric/weft/verbs/driver"
)

// TestQuietIsNotAcknowledged: nobody waits for the acks of Quiet requests, and so none is sent, until the peer's queue is half
// full of them. One that is not Quiet is acknowledged at once, and they with it.
func TestQuietIsNotAcknowledged(t *testing.T) {
	const depth = 8
	l := newWireLink(t)
	i := intrude(t, l.b, depth)
	r, sequence := l.memb.Region(), uint32(0)
	write := func(quiet bool) {
		i.say(header{op: frameOp(driver.OpWrite), quiet: quiet, sequence: sequence, length: 8, total: 8, key: r.RemoteKey, address: r.Address}, 8)
		sequence++
	}
	for range depth / 2 {
		write(true)
	}
	i.silence(sequence * (headerSize + 8))
	write(true)
	if h := i.hear(); h.op != frameAck || h.ack != sequence {
		t.Fatalf("frame %d acknowledges %d of %d: the queue is more than half full", h.op, h.ack, sequence)
	}
	write(true)
	i.silence(sequence * (headerSize + 8))
	write(false)
	if h := i.hear(); h.op != frameAck || h.ack != sequence {
		t.Fatalf("frame %d acknowledges %d of %d", h.op, h.ack, sequence)
	}
}

// silence checks that nothing is said when the host has read so many bytes.
func (i *intruder) silence(read uint32) {
	i.t.Helper()
	until(i.t, "everything is read", func() bool { i.h.poll(); return i.moved(i.h) >= uint64(read) })
	for range 20 {
		i.h.poll()
	}
	_ = i.conn.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
	if n, _ := i.conn.Read(make([]byte, headerSize)); n > 0 {
		i.t.Fatal("what nobody waits for was acknowledged")
	}
}
