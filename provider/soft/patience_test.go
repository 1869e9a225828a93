package soft

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// TestSleeperIsPatient: a crumb of a frame does not wake an owner that sleeps. The rest of the frame does, and then a small
// one.
func TestSleeperIsPatient(t *testing.T) {
	l := newWireLink(t)
	i := intrude(t, l.b, 4)
	r := l.memb.Region()
	const size, begun = 40_000, headerSize + 100
	frame := bytes.Repeat([]byte{0xff}, headerSize+size)
	(&header{op: frameOp(driver.OpWrite), length: size, total: size, key: r.RemoteKey, address: r.Address}).put(frame)
	var ping [headerSize]byte
	(&header{op: framePing}).put(ping[:])

	i.wakes(frame[:begun], true)
	i.wakes(frame[begun:size/2], false)
	i.wakes(frame[size/2:], true)
	i.wakes(ping[:], true)
}

// wakes writes to an owner that sleeps, and checks whether it reads something.
func (i *intruder) wakes(b []byte, want bool) {
	i.t.Helper()
	var waiting sync.WaitGroup
	waiting.Go(func() { _ = i.h.cq.Wait(clock.Never, 0) })
	until(i.t, "the owner sleeps", func() bool { return i.h.cq.sleep.armed.Load() != 0 })
	before := i.moved(i.h)
	_, err := i.conn.Write(b)
	ok(i.t, err)
	if want {
		until(i.t, "the bytes are read", func() bool { return i.moved(i.h) > before })
	} else {
		time.Sleep(5 * time.Millisecond)
		if moved := i.moved(i.h) - before; moved > 0 {
			i.t.Errorf("the owner was woken for %d bytes that it could not use", moved)
		}
	}
	i.h.cq.Wake()
	waiting.Wait()
}
