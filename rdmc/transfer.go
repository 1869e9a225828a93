package rdmc

import (
	"slices"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// transfer is one message under way, or waiting, at one member. Its sends and its receives go in the order of the
// schedule's steps, each by a cursor of its own (section 4.2: as soon as a step is possible it is done; no member waits
// for a step of others).
type transfer struct {
	Message
	plan   schedule.Plan
	steps  int
	repair bool // every member knows of it: no header travels

	place   Place
	placed  bool // blocks have a place: Place is known, or there is a Store
	arrival int  // the group's buffer that it lies in, or its first block until it is placed; -1: none
	first   int  // the block in that buffer, or -1
	kept    bool // the application has the buffer

	have    schedule.Set // blocks that may be passed on
	count   int          // of have
	arrived schedule.Set // with a gate: blocks that came, accepted or not
	held    []holding    // with a Store: memory acquired and not released
	sendsOf []uint16     // with a Store: sends of each block that have not ended, when all are counted
	counted int          // steps up to, not including, which sendsOf has counted

	receiveStep, sendStep int // the next steps to look at
	receiveEnd, sendEnd   int // steps up to, not including, which there is something to look at
	nextReceive, nextSend schedule.Transfer
	receives, sends       bool // there is a next one
	toTell                int  // heirs up to, not including, which were told by a header alone
	receiving, sending    int  // posted
	carried               int  // of those being sent, the blocks; the others are headers alone
}

// newTransfer makes the transfer of a message that nothing is known to have arrived of.
func newTransfer(m Message, plan schedule.Plan) *transfer {
	t := &transfer{Message: m, plan: plan, steps: plan.Steps(), arrival: -1, first: -1, have: schedule.NewSet(m.Blocks())}
	t.receiveStep, t.receiveEnd = plan.Receiving()
	t.sendStep, t.sendEnd = plan.Sending()
	t.counted = t.sendStep
	t.advanceReceive()
	t.advanceSend()
	return t
}

func (t *transfer) advanceReceive() {
	for t.receives = false; t.receiveStep < t.receiveEnd && !t.receives; t.receiveStep++ {
		t.nextReceive, t.receives = t.plan.Receive(t.receiveStep)
	}
}

func (t *transfer) advanceSend() {
	for t.sends = false; t.sendStep < t.sendEnd && !t.sends; t.sendStep++ {
		t.nextSend, t.sends = t.plan.Send(t.sendStep)
	}
}

// done reports whether the message is here and was passed on.
func (t *transfer) done() bool {
	return t.count == t.have.Len() && !t.receives && !t.sends && t.receiving == 0 && t.sending == 0 && t.isCounted()
}

// Send sends size bytes, which lie at place, or are in the Store if there is one, to all members. Only the root can. The
// bytes must stay as they are until Completed. It fails with ErrNotRoot, ErrNotReady, ErrEnded, with ErrFull while
// MaxQueued messages wait, and with ErrArgument if place does not hold so many bytes or they are too many.
func (g *Group) Send(place Place, size uint64) (Message, error) {
	switch {
	case g.config.Self != 0:
		return Message{}, g.refuse("send", ErrNotRoot)
	case g.state < ready:
		return Message{}, g.refuse("send", ErrNotReady)
	case g.state.over():
		return Message{}, g.refuse("send", ErrEnded)
	case len(g.queue) == MaxQueued:
		return Message{}, g.refuse("send", ErrFull)
	}
	if err := g.config.checkSize(size); err != nil {
		return Message{}, err
	}
	m := Message{Number: g.next, Size: size, BlockSize: g.config.BlockSize}
	if err := g.config.fits(place, m); err != nil && g.config.Store == nil {
		return Message{}, g.config.wrong("send: %v", err)
	}
	t := newTransfer(m, g.part.Plan(m.Blocks()))
	t.place, t.placed = place, true
	t.have, t.count = schedule.FullSet(m.Blocks()), m.Blocks()
	g.next++
	g.queue = append(g.queue, t)
	g.wake()
	return m, nil
}

// startQueued starts messages that wait at the root. Their blocks leave when those of the messages before have been
// posted.
func (g *Group) startQueued() {
	for len(g.queue) > 0 && len(g.active) < maxActive {
		g.active = append(g.active, g.queue[0])
		g.queue = append(g.queue[:0], g.queue[1:]...)
	}
	if g.watches() && !g.watching {
		g.startWatching()
	}
}

// finish reports the oldest message under way if it is done.
func (g *Group) finish() bool {
	if len(g.active) == 0 || !g.active[0].done() || g.tells(g.active[0]) {
		return false
	}
	t := g.active[0]
	g.active = slices.Delete(g.active, 0, 1)
	g.receiveAt--
	g.sendAt--
	g.deliver(t)
	return true
}

func (g *Group) deliver(t *transfer) {
	g.delivering = t
	if g.config.Completed != nil {
		g.config.Completed(Delivery{t.Message, t.place})
	}
	g.delivering = nil
	if t.arrival >= 0 && !t.kept {
		g.buffers.idle = append(g.buffers.idle, t.arrival)
	}
}

// Progress is how many blocks of the oldest message under way are here, if there is one. The root has all; there it is the
// share of its steps that it has taken, in blocks.
func (g *Group) Progress() (m Message, have int, active bool) {
	if len(g.active) == 0 {
		return Message{}, 0, false
	}
	t := g.active[0]
	if g.config.Self == 0 && t.sends {
		return t.Message, t.Blocks() * (t.sendStep - 1) / t.steps, true
	}
	return t.Message, t.count, true
}

// Holdings are, after a failure, the messages that are not complete here, in order, and which of their blocks are here.
func (g *Group) Holdings() []Holding {
	var list []Holding
	for _, t := range append(append([]*transfer(nil), g.active...), g.queue...) {
		list = append(list, Holding{t.Message, t.place, t.have})
	}
	return list
}

// Plan is this member's part of a message that is under way or waits, or nil: what it will send, and so load, in which order.
func (g *Group) Plan(number uint64) schedule.Plan {
	for _, list := range [...][]*transfer{g.active, g.queue} {
		for _, t := range list {
			if t.Number == number {
				return t.plan
			}
		}
	}
	return nil
}

// underWay finds a message by its number.
func (g *Group) underWay(number uint64) *transfer {
	for _, t := range g.active {
		if t.Number == number {
			return t
		}
	}
	return nil
}
