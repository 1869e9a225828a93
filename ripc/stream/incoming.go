package stream

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/weft-fabric/weft/internal/fifo"
	"github.com/weft-fabric/weft/loop"
)

// window is how many bytes an end may be ahead of what the other has read.
const window = 256 << 10

// incoming is the direction towards this end. It belongs to the loop, but for result, which is a reader's when its event is set.
type incoming struct {
	segments fifo.Queue[*segment] // what has come and was not read
	last     *segment             // of them; nil: there are none
	arrived  uint64               // bytes since the connection was made
	read     uint64               // of those
	told     uint64               // how many the peer was told that it may send
	isEnded  bool                 // the peer has said that there are no more

	into     []byte // what a Read waits with; nil: nobody waits
	result   result
	wake     loop.Event
	deadline deadline
}

// result is how a Read or a Write ends.
type result struct {
	n   int
	err error
}

// segment is memory for bytes that nobody waited for.
type segment struct {
	room  [16 << 10]byte
	begin int // of what was not read
	end   int
}

var spare = sync.Pool{New: func() any { return new(segment) }}

// begin answers a Read, or lets it wait, and reports whether it has an answer. end is what is behind the last byte, if it has come.
func (in *incoming) begin(into []byte, end error) bool {
	in.result = result{}
	switch {
	case in.deadline.isPassed:
		in.result.err = os.ErrDeadlineExceeded
	case !in.segments.Empty():
		in.result.n = in.take(into)
	case end != nil:
		in.result.err = end
	default:
		in.into = into
		in.wake.Reset()
		return false
	}
	return true
}

// finish ends a Read that waits.
func (in *incoming) finish(n int, err error) {
	if in.into != nil {
		in.into, in.result = nil, result{n, err}
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
	if in.deadline.look(alarm) {
		in.finish(0, os.ErrDeadlineExceeded)
	}
}

// arrive takes in bytes: to whoever waits, and the rest is kept.
func (in *incoming) arrive(b []byte) error {
	in.arrived += uint64(len(b))
	if in.isEnded || in.arrived > in.told {
		return fmt.Errorf("%d bytes have come, %d are allowed, or it had said that there are no more", in.arrived, in.told)
	}
	if in.into != nil {
		n := copy(in.into, b)
		b = b[n:]
		in.read += uint64(n)
		in.finish(n, nil)
	}
	in.keep(b)
	return nil
}

// keep copies bytes to memory of the connection's own, so that the receive that they lie in is free for others.
func (in *incoming) keep(b []byte) {
	for len(b) > 0 {
		if in.last == nil || in.last.end == len(in.last.room) {
			in.last = spare.Get().(*segment)
			in.segments.Push(in.last)
		}
		n := copy(in.last.room[in.last.end:], b)
		in.last.end += n
		b = b[n:]
	}
}

// take copies what is there to who reads.
func (in *incoming) take(into []byte) (n int) {
	for n < len(into) && !in.segments.Empty() {
		s := in.segments.Front()
		some := copy(into[n:], s.room[s.begin:s.end])
		n += some
		if s.begin += some; s.begin == s.end {
			in.pop()
		}
	}
	in.read += uint64(n)
	return n
}

// pop gives the memory of the oldest bytes back.
func (in *incoming) pop() {
	s := in.segments.Pop()
	if in.last == s {
		in.last = nil
	}
	s.begin, s.end = 0, 0
	spare.Put(s)
}

// discard forgets what was not read.
func (in *incoming) discard() {
	for !in.segments.Empty() {
		in.pop()
	}
}

// allowed is how many bytes the peer may send by now.
func (in *incoming) allowed() uint64 { return in.read + window }

// tell is what the next frame says of that.
func (in *incoming) tell() uint64 {
	in.told = in.allowed()
	return in.told
}

// mustTell reports whether the peer should hear that at once: it might be waiting before long.
func (in *incoming) mustTell() bool { return !in.isEnded && in.allowed()-in.told >= window/4 }
