package soft

import (
	"sync/atomic"

	"github.com/weft-fabric/weft/verbs/driver"
)

// phase is where one life of a queue pair stands. It knows two kinds of driver.Error, because what is outstanding ends
// differently in them, and it never goes back: Reset begins a new life.
//
//	New ──▶ Connecting ──▶ Ready ──▶ Failed or Orphaned ──▶ Over
//
// The owner moves it. The peer may move it too, but only from Connecting or Ready to Failed or Orphaned.
type phase uint32

const (
	phaseNew phase = iota
	phaseConnecting
	phaseReady
	phaseFailed   // a request failed, at either end
	phaseOrphaned // the peer was closed or reset, or died: the oldest request ends as RetryExceeded
	phaseOver     // closed, reset or killed
)

// state is what the owner sees. A life that is over still waits for the end of a Reset, if it is seen at all.
func (p phase) state() driver.State {
	if p > phaseOver { // a neighbour has spoiled it
		return driver.Error
	}
	return [...]driver.State{driver.New, driver.Connecting, driver.Ready, driver.Error, driver.Error, driver.Error}[p]
}

// broken reports whether everything is to be flushed.
func (p phase) broken() bool { return p >= phaseFailed }

// end is what a queue pair shows its peer: words and counters, no Go pointers, so that it may also be placed in memory
// that two processes share. The words are grouped by who writes them most, a cache line each.
type end struct {
	phaseWord atomic.Uint32
	access    atomic.Uint32             // driver.Access: what the peer may do
	lent      [loanChunks]atomic.Uint64 // where the loans of the windows lie; 0: there are none

	// Written by the peer's requester, while it is inside the gate.
	gate    gate
	arrived atomic.Uint64 // messages that have arrived in this life: arrivals up to, not including
	spoiled atomic.Uint64 // 1 + the arrival of a message that could not be received, the last there is; 0: none
	wanting atomic.Uint32 // 1: the requester waits for a receive; the owner clears it and rings
	watched atomic.Uint32 // 1: a chained request waits for an arrival; whoever arrives clears it and rings
	_       [8]byte
}

func (e *end) phase() phase { return phase(e.phaseWord.Load()) }

// received returns how many messages have been received: what arrived, but for a last one that failed. Spoiled is set
// before that one is counted, so it is never taken for good.
func (e *end) received() uint64 {
	n := e.arrived.Load()
	if spoiled := e.spoiled.Load(); spoiled != 0 {
		n = min(n, spoiled-1)
	}
	return n
}

// accepts reports whether the peer's operations may come in. A peer operates only when both have named each other, so
// an end that is still Connecting merely has not looked yet.
func (p phase) accepts() bool { return p == phaseConnecting || p == phaseReady }

// moveTo changes the phase from from to to, unless somebody else has changed it.
func (e *end) moveTo(from, to phase) bool {
	return e.phaseWord.CompareAndSwap(uint32(from), uint32(to))
}

// breakTo moves a connected life to Failed or Orphaned, and reports whether it was this call that did. It tries the phases
// in the order in which they follow each other: the owner may move on in between, and must not be missed.
func (e *end) breakTo(to phase) bool {
	return e.moveTo(phaseConnecting, to) || e.moveTo(phaseReady, to)
}
