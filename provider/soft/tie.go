package soft

import (
	"context"
	"fmt"
	"sync"

	"github.com/weft-fabric/weft/clock"
)

// tie is a connection between a life here and one at the neighbour's. Each has the other's words mapped, so neither may
// use its own again before both have let go.
type tie struct {
	neighbour *neighbour
	at        appointment
	mine      *life
	answer    chan noteWithFD // holds one: the Accept that was called for

	// Guarded by the neighbour's lock.
	calling bool    // somebody waits for the answer
	view    *life   // nil: not connected yet
	letGo   [2]bool // here, there

	standing sync.Mutex // guards what follows: who stands inside the gate, and since when
	seen     uint64
	since    clock.Time
	over     bool // the life has ended: its words may be another's
}

// untied is the tie of a life that ended without one, and gets none any more.
var untied = new(tie)

// tied returns the life's tie to a neighbour, or nil.
func (l *life) tied() *tie {
	if t := l.tie.Load(); t != untied {
		return t
	}
	return nil
}

// lastTie is tied for a life that ends: if there is no tie, none can be made any more.
func (l *life) lastTie() *tie {
	l.tie.CompareAndSwap(nil, untied)
	return l.tied()
}

// tie notes a connection that is to be. It returns nil if the neighbour is gone, or the life has ended.
func (n *neighbour) tie(at appointment, l *life, calling bool) *tie {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := &tie{neighbour: n, at: at, mine: l, calling: calling, answer: make(chan noteWithFD, 1)}
	if n.gone || !l.tie.CompareAndSwap(nil, t) {
		return nil
	}
	l.pool.hold()
	n.ties[at] = t
	return t
}

// dialShared calls a queue pair of a neighbour, and returns when that has connected too.
func (d *Device) dialShared(ctx context.Context, line *line, l *life, a address) (caller, error) {
	n, err := d.neighbourAt(ctx, a)
	if err != nil {
		return nil, err
	}
	t := n.tie(appointment{lifeName{d.identity, l.number, l.epoch}, a.lifeName}, l, true)
	if t == nil {
		return nil, errHungUp
	}
	l.domain.offerAll(n)
	m := &note{Kind: noteCall, Here: t.at.here.note(), There: t.at.there.note(), Life: l.describe()}
	if err := n.say(m, nil, l.bell.cq.wakeDescriptor()); err != nil {
		t.giveUp()
		return nil, err
	}
	line.free()
	return t.awaitAnswer(ctx)
}

// awaitAnswer returns the call when it is accepted.
func (t *tie) awaitAnswer(ctx context.Context) (caller, error) {
	select {
	case in := <-t.answer:
		if in.Kind == noteRefuse {
			return nil, fmt.Errorf("the peer says: %s", in.why())
		}
		return &sharedCall{tie: t, in: in}, nil
	case <-t.neighbour.ended:
		t.giveUp()
		return nil, errHungUp
	case <-ctx.Done():
		t.giveUp()
		return nil, fmt.Errorf("the peer has not answered: %w", ctx.Err())
	}
}

// giveUp ends waiting for an answer. One that comes all the same is declined.
func (t *tie) giveUp() {
	n := t.neighbour
	n.mu.Lock()
	t.calling = false
	n.mu.Unlock()
	select {
	case in := <-t.answer: // it has just come
		if in.Kind == noteAccept {
			t.decline(in)
		}
	default:
	}
}

// decline tells a peer that has connected that this end has given up.
func (t *tie) decline(in noteWithFD) {
	closeDescriptor(in.fd)
	n := t.neighbour
	m := &note{Kind: noteRefuse, Here: t.at.here.note(), There: t.at.there.note()}
	m.reason(errGivenUp)
	_ = n.say(m, nil, -1) // or it is gone, and its end with it
}

// takeAccept is the answer to a call of ours.
func (n *neighbour) takeAccept(in noteWithFD) error {
	t, answered := n.findTie(in)
	if t == nil {
		closeDescriptor(in.fd) // it was given up, and the neighbour was told
	} else if !answered {
		t.decline(in)
	}
	return nil
}

// findTie returns the tie that a note is about, unless the peer has let go of it, and whether the note is the answer that
// somebody waits for: then he has it. That is so once.
func (n *neighbour) findTie(in noteWithFD) (t *tie, answered bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	t = n.ties[appointment{in.There.name(), in.Here.name()}]
	if t == nil || t.letGo[1] {
		return nil, false
	}
	if answered = t.calling; answered {
		t.calling = false
		t.answer <- in
	}
	return t, answered
}

// takeEnd is when the peer will not connect, or has let go: nobody sees our words there.
func (n *neighbour) takeEnd(in noteWithFD) {
	in.Kind = noteRefuse
	t, answered := n.findTie(in)
	if t == nil {
		return
	}
	if !answered {
		t.cut(false)
	}
	t.bury()
}

// cut breaks a connection whose other side is gone, alone or with its device. Only in that case are its words nobody
// else's, and may be written to. Our own are not freed meanwhile: the other side has not let go yet.
func (t *tie) cut(deviceToo bool) {
	n := t.neighbour
	n.mu.Lock()
	view := t.view
	n.mu.Unlock()
	if view == nil {
		return // whoever connects finds out
	}
	if deviceToo {
		view.phaseWord.Store(uint32(phaseOver))
	}
	if t.mine.breakTo(phaseOrphaned) {
		t.mine.announceChained()
	}
	t.mine.bell.insist()
}

// bury ends a connection whose other side looks here no more, and is not inside the gate.
func (t *tie) bury() {
	t.mine.gate.sweep()
	t.mine.bell.insist()
	t.neighbour.letGo(t.at, 1)
}

// letGo notes that one side has no more use for a connection's words, and frees this side's when both have none.
func (n *neighbour) letGo(at appointment, side int) {
	n.mu.Lock()
	t := n.ties[at]
	if t == nil {
		n.mu.Unlock()
		return
	}
	t.letGo[side] = true
	both := t.letGo[0] && t.letGo[1]
	if both {
		delete(n.ties, at)
	}
	n.mu.Unlock()
	if both {
		t.free()
	}
}

// free gives the words of this side back.
func (t *tie) free() {
	a := t.neighbour.device.arena
	give[end](a, t.mine.endRef, 1)
	give[arrival](a, t.mine.orderRef, len(t.mine.order))
	t.mine.pool.drop()
}

// retire lets go of the words of a life's peer.
func (t *tie) retire() {
	t.standing.Lock()
	t.over = true
	t.standing.Unlock()
	n := t.neighbour
	n.letGo(t.at, 0)
	_ = n.say(&note{Kind: noteRetire, Here: t.at.here.note(), There: t.at.there.note()}, nil, -1)
}
