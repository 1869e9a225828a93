package hook

import (
	"fmt"
	"io"
	"sync"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Trace wraps a device so that the stages of each request are stamped with the device's clock, in a ring of size
// records (at least one). A request leaves three: it is posted, the call returns, its completion is polled.
func Trace(inner driver.Device, size int) (driver.Device, *Tracer) {
	t := &Tracer{clock: clockOf(inner), ring: make([]Record, max(size, 1))}
	return wrap(inner, t), t
}

// Stage is a moment in the life of a request, as seen at the border of the driver.
type Stage uint8

// The stages.
const (
	Called    Stage = iota // the call that posts it began
	Returned               // that call returned: the device has the request
	Completed              // a Poll that found its completion returned
	stageCount
)

var stageNames = [stageCount]string{"called", "returned", "completed"}

func (s Stage) String() string { return nameOf(stageNames[:], int(s), "Stage") }

// Record says that a request reached a stage.
type Record struct {
	At     clock.Time
	Tag    driver.Tag
	Queue  uint32 // 0 where no queue pair is known yet: receives posted to be shared
	Bytes  uint32 // of the request or receive; when Completed, of the completion
	Stage  Stage
	Op     driver.Op // of a receive, OpReceive until it completes
	Flags  driver.Flags
	Status driver.Status // when Completed
}

func (r Record) String() string {
	text := fmt.Sprintf("%-14v %-9v queue %-4d tag %-18d %-15v %8d bytes", r.At, r.Stage, r.Queue, r.Tag, r.Op, r.Bytes)
	if r.Stage == Completed {
		return text + "  " + r.Status.String()
	}
	return text
}

// Tracer holds the records of one wrapped device. Its lock is taken once for each call that posts or polls something;
// what it costs is outside the stamped interval of a post.
type Tracer struct {
	transparent
	clock clock.Clock

	mu   sync.Mutex
	ring []Record
	// written counts the records ever made: record i is at ring[i % len], if i+len >= written.
	written uint64
}

// Records returns what the ring holds, oldest first. Any goroutine may call it.
func (t *Tracer) Records() []Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	size := uint64(len(t.ring))
	if t.written <= size {
		return append([]Record(nil), t.ring[:t.written]...)
	}
	oldest := t.written % size
	return append(append(make([]Record, 0, size), t.ring[oldest:]...), t.ring[:oldest]...)
}

// Lost returns how many records were overwritten by later ones.
func (t *Tracer) Lost() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.written - min(t.written, uint64(len(t.ring)))
}

// Dump writes the records as text, a line for each.
func (t *Tracer) Dump(w io.Writer) error {
	if lost := t.Lost(); lost > 0 {
		if _, err := fmt.Fprintf(w, "(%d earlier records lost)\n", lost); err != nil {
			return err
		}
	}
	for _, r := range t.Records() {
		if _, err := fmt.Fprintln(w, r); err != nil {
			return err
		}
	}
	return nil
}

// put writes over the oldest record when the ring is full. It needs the lock.
func (t *Tracer) put(r Record) {
	t.ring[t.written%uint64(len(t.ring))] = r
	t.written++
}

// posted records the two stages of each request of a list.
func (t *Tracer) posted(queue uint32, list []driver.Request, called, returned clock.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range list {
		r := &list[i]
		t.called(Record{Tag: r.Tag, Queue: queue, Bytes: uint32(r.Bytes()), Op: r.Op, Flags: r.Flags}, called, returned)
	}
}

// postedReceives records the two stages of each receive of a list.
func (t *Tracer) postedReceives(queue uint32, list []driver.Receive, called, returned clock.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range list {
		r := &list[i]
		t.called(Record{Tag: r.Tag, Queue: queue, Bytes: uint32(r.Bytes()), Op: driver.OpReceive}, called, returned)
	}
}

// called records a call and its return. It needs the lock.
func (t *Tracer) called(r Record, called, returned clock.Time) {
	r.Stage, r.At = Called, called
	t.put(r)
	r.Stage, r.At = Returned, returned
	t.put(r)
}

// completed records what one Poll found.
func (t *Tracer) completed(list []driver.Completion, at clock.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range list {
		c := &list[i]
		t.put(Record{At: at, Tag: c.Tag, Queue: c.Queue, Bytes: c.Bytes, Stage: Completed, Op: c.Op, Status: c.Status})
	}
}
