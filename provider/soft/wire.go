package soft

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// wire is one life's connection on the TCP lane: a socket, and what is under way on it in both directions. Everything is
// done by whoever holds the lock of the completion queue: the owner in Post, Poll and Wait, or the attendant while the
// owner is away. Memory is touched only inside the gate of the life, each time after asking anew whether that is allowed.
//
// Invariant: every request in the backlog of the queue pair that the peer hears of has a sequence: the oldest of them that of
// acked, and so on. Between them may be some that it does not hear of, which are carried out here when it is their turn.
type wire struct {
	q      *QueuePair
	life   *life
	poller *poller
	party  *party
	place  int // among the wires of the party; guarded by the device's parties
	pipe   pipe
	fd     int
	slot   int32  // in the poller
	left   uint64 // what was left in the gate when somebody was last there
	depth  int    // of the peer's send queue: how many of its requests may be under way

	legible  bool // there may be something to read
	patient  int  // bytes that must have come before the kernel reports it; 0: any. Invariant: at most those that a frame lacks
	lacking  bool // stands in the poller's list of those that lack much of a frame
	awaited  bool // the kernel was asked to report when there is room to write
	blocked  bool // there was no room to write
	mute     bool // writing has failed: what the peer has sent is still read
	closed   bool
	leaving  bool       // the queue pair is done with it: the peer only has to hear the last word
	until    clock.Time // when leaving ends
	finished bool       // leaving, and this side's half of the stream has ended

	rest  [headerSize]byte // of what was read: the front of a header, or of the last word of a write
	kept  int              // bytes in rest
	in    incoming
	out   outgoing
	reply answers

	// The requester's side.
	acked    uint32        // sequence of the oldest request that is not done
	sent     int           // requests, from the oldest, that were written whole, or carried out here
	local    int           // of those, the ones that were carried out here. Invariant: none of them is the oldest
	moved    uint64        // bytes of the one behind them that were written
	reading  int           // Reads and atomics among those sent
	fetched  uint64        // bytes of the oldest, a Read, that have come
	starving bool          // the oldest waits for a receive at the peer
	rewind   bool          // it is to be sent again, and everything behind it, as soon as the frame at hand is written
	doom     driver.Status // of the oldest, which cannot be sent; OK: none
	pinging  atomic.Bool

	allowed allowance // of what is written, if the device has a rate
}

var (
	errEnd    = errors.New("the peer has closed the connection, or is gone")
	errSilent = errors.New("the peer is silent")
)

// begin makes the wire that of its queue pair, with a peer that is a queue pair of the device named party.
func (w *wire) begin(party identity) error {
	if err := w.poller.add(w); err != nil {
		return err
	}
	n := &w.q.device.network
	n.parties.join(party, w)
	n.attend.begin(w.q.device)
	w.q.wire = w
	return nil
}

// call gives the queue pair a part in the turn that begins.
func (w *wire) call(legible bool) {
	w.legible = w.legible || legible
	switch {
	case w.leaving:
		w.linger()
	case w.q != nil:
		w.q.enlist()
	}
}

// turn does what can be done now: read, then write, at most a quantum each. It says when it wants the next turn, and
// whether there is nothing to do before the socket, or a bell, calls.
func (w *wire) turn() (next clock.Time, idle bool) {
	if w.ackDue() {
		w.out.turns++
	}
	if w.legible {
		w.legible = w.receive()
	}
	if w.life.phase() != phaseReady {
		return soon, false
	}
	if w.starving && clock.Real.Now() >= w.q.requester.deadline {
		w.end(driver.ReceiverNotReady)
		return soon, false
	}
	w.carryLocals()
	next = w.send()
	w.awaitRoom()
	if w.legible || w.ackLater() && !w.ackUnasked() {
		next = soon
	}
	if w.starving {
		next = min(next, w.q.requester.deadline)
	}
	return next, next == clock.Never
}

// awaitRoom has the kernel report when a blocked wire can be written to. When that is no longer needed, it is told only
// if it reports: a stream of long writes is blocked and unblocked all the time.
func (w *wire) awaitRoom() {
	switch {
	case w.blocked:
		w.poller.await(w, true)
	case w.awaited && w.poller.open > few:
		w.poller.await(w, false)
	}
}

// block notes whether there is room to write.
func (w *wire) block(blocked bool) {
	switch {
	case blocked && !w.blocked:
		w.poller.blocked++
	case !blocked && w.blocked:
		w.poller.blocked--
	}
	w.blocked = blocked
}

// enter goes inside the gate of the life, leave leaves it.
func (w *wire) enter() uint64 { return w.life.gate.enter(w.left) }

func (w *wire) leave(mark uint64) {
	w.life.gate.leave(mark)
	w.left = mark + 1
}

// sever ends the connection because of err. What is outstanding ends as if the peer were gone, which it is from here.
func (w *wire) sever(err error) {
	if w.life.breakTo(phaseOrphaned) {
		w.life.announceChained()
		w.q.enlist()
		w.log(err)
	}
}

func (w *wire) log(err error) {
	level := slog.LevelWarn
	if errors.Is(err, errEnd) { // an orderly Close looks like a death from here
		level = slog.LevelInfo
	}
	w.q.device.config.Log.Log(context.Background(), level, "connection ended", "device", w.q.device.config.Name, "queue",
		w.life.number, "error", err)
}

// violate severs a connection whose peer does not keep to the protocol.
func (w *wire) violate(format string, args ...any) {
	w.sever(fmt.Errorf("the peer broke the protocol: "+format, args...))
}

// hangUp ends the connection of a life that is broken, or over. A refusal must reach the peer: then the socket stays open
// until the peer has closed its side, or has had its time. In all other cases the end of the stream says enough.
func (q *QueuePair) hangUp() {
	w := q.wire
	if q.wire = nil; w == nil || w.closed {
		return
	}
	if !w.in.refused {
		w.sayLast()
		w.close()
		return
	}
	w.leaving = true
	w.poller.leaving++
	w.party.remove(w) // it sends no pings any more
	w.until = clock.Real.Now().Add(q.device.config.PeerTimeout)
	w.linger()
}

// linger reads, for nobody, what the peer still sends. If the socket were closed before that, the kernel would drop what
// the peer has not heard yet.
func (w *wire) linger() {
	if !w.finished && w.pipe.clean() {
		w.finished = true
		w.pipe.finish()
	}
	spare := [1]iovec{iovecOf(w.poller.bin())}
	for range 64 {
		n, errno := w.pipe.readv(spare[:])
		if n > 0 && clock.Real.Now() < w.until {
			continue
		}
		if n == 0 && errno == 0 || errno != 0 && errno != eagain || clock.Real.Now() >= w.until {
			w.close()
		}
		return
	}
}

// close frees the socket, without a word.
func (w *wire) close() {
	if w.closed {
		return
	}
	w.closed = true
	w.block(false)
	if w.leaving {
		w.poller.leaving--
	} else {
		w.party.remove(w)
	}
	w.poller.remove(w)
	w.pipe.close()
}
