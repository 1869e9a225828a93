package stream

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/internal/fifo"
	"github.com/weft-fabric/weft/loop"
)

// window is how many bytes an end may be ahead of what the other has read.
const window = 2 << 20

// incoming is the direction towards this end. It belongs to the loop, but for result, which is a reader's when its event is set.
type incoming struct {
	segments fifo.Queue[*segment] // what has come and was not read
	last     *segment             // of them, if there may be added to it
	arrived  uint64               // bytes since the connection was made
	read     uint64               // of those, taken by readers
	told     uint64               // how many the peer was told that it may send
	landing  *landing             // where the peer may write; nil: nowhere
	landed   uint64               // pieces that it has written, since the connection was made
	landRead atomic.Uint64        // of those, the ones that readers are done with
	toldRead atomic.Uint64        // and how many of these the peer was told; written by the loop
	isUnsaid bool                 // the peer does not hear what was told last: the frame was taken back
	isEnded  bool                 // the peer has said that there are no more

	into     []byte // what a Read waits with; nil: nobody waits
	result   result
	wake     loop.Event
	deadline deadline
	isBarred atomic.Bool // nothing may be read, not even what a reader has: the deadline has passed, or it is closed
}

// result is how a Read or a Write ends.
type result struct {
	n       int
	err     error
	segment *segment // of a Read: it is the reader's now
}

// begin answers a Read, or lets it wait, and reports whether it has an answer. end is what is behind the last byte, if it has come.
func (in *incoming) begin(into []byte, end error) bool {
	in.into, in.result = into, result{}
	in.wake.Reset()
	if in.deadline.isPassed {
		in.finish(result{err: os.ErrDeadlineExceeded})
	} else {
		in.offer(end)
	}
	return in.into == nil
}

// offer gives a Read that waits what is there: bytes, or the end behind them.
func (in *incoming) offer(end error) {
	switch {
	case in.into == nil:
	case !in.segments.Empty() && in.segments.Front().isThere():
		s := in.pop()
		in.read += uint64(len(s.bytes))
		in.finish(result{segment: s})
	case in.segments.Empty() && end != nil:
		in.finish(result{err: end})
	}
}

// finish ends a Read that waits.
func (in *incoming) finish(r result) {
	if in.into != nil {
		in.into, in.result = nil, r
		in.wake.Set()
	}
}

// setDeadline changes the deadline, also of a Read that waits.
func (in *incoming) setDeadline(at time.Time, alarm func()) {
	in.deadline.set(at)
	in.look(alarm)
}

// look ends a Read whose deadline has passed.
func (in *incoming) look(alarm func()) {
	passed := in.deadline.look(alarm)
	in.isBarred.Store(passed)
	if passed {
		in.finish(result{err: os.ErrDeadlineExceeded})
	}
}

// count takes note of bytes that come, if they may.
func (in *incoming) count(n uint64) error {
	if in.isEnded || n > in.told-in.arrived {
		return fmt.Errorf("%d bytes after %d, %d are allowed, or it had said that there are no more", n, in.arrived, in.told)
	}
	in.arrived += n
	return nil
}

// arrive takes in bytes: to whoever waits, and the rest is copied to memory of the connection's own, so that the receive that
// they lie in is free for others.
func (in *incoming) arrive(b []byte) {
	if in.into != nil && in.segments.Empty() {
		n := copy(in.into, b)
		b = b[n:]
		in.read += uint64(n)
		in.finish(result{n: n})
	}
	for len(b) > 0 {
		if in.last == nil || len(in.last.bytes) == segmentSize {
			in.last = newSegment()
			in.segments.Push(in.last)
		}
		b = in.last.add(b)
	}
}

// expect takes in bytes that are being fetched.
func (in *incoming) expect(s *segment) {
	in.segments.Push(s)
	in.last = nil
}

func (in *incoming) pop() *segment {
	s := in.segments.Pop()
	if in.last == s {
		in.last = nil
	}
	return s
}

// cut forgets what was not read, from a segment on; nil: all of it.
func (in *incoming) cut(from *segment) {
	drop := from == nil
	for _, s := range in.segments.Drain() {
		if drop = drop || s == from; drop {
			s.free()
		} else {
			in.segments.Push(s)
		}
	}
	in.last = nil
}

// allowed is how many bytes the peer may send by now.
func (in *incoming) allowed() uint64 { return in.read + window }

// tell is what the next frame says of that, and of pieces that were read.
func (in *incoming) tell() (allowed, read uint64) {
	in.told, in.isUnsaid = in.allowed(), false
	read = in.landRead.Load()
	if in.landing != nil {
		in.landing.ledger.read(in.toldRead.Load(), read)
	}
	in.toldRead.Store(read)
	return in.told, read
}

// mustTell reports whether the peer should hear it at once: it might be waiting before long.
func (in *incoming) mustTell() bool {
	return !in.isEnded && (in.isUnsaid || in.allowed()-in.told >= window/4 || in.hasBerths())
}

// hasBerths reports whether the peer should hear that berths are free. Any goroutine may ask.
func (in *incoming) hasBerths() bool { return in.landRead.Load()-in.toldRead.Load() >= berths/2 }
