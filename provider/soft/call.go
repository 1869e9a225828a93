package soft

import "fmt"

// This file is how a call between neighbours becomes a connection.

// sharedCall is a connection to a neighbour that is ready to be used by both sides.
type sharedCall struct {
	tie     *tie // nil: the peer has called, and no tie is made before somebody expects it
	in      noteWithFD
	calling *neighbour
}

// takeCall is a call from the neighbour.
func (n *neighbour) takeCall(in noteWithFD) error {
	at := appointment{in.There.name(), in.Here.name()}
	if at.there.device != n.peer || at.here.device != n.device.identity {
		closeDescriptor(in.fd)
		return fmt.Errorf("a call from %v to %v", at.there, at.here)
	}
	n.device.neighbours.serving.Go(func() { n.device.answer(at, &sharedCall{in: in, calling: n}) })
	return nil
}

// meet connects q. Who was called answers only now: both ends know each other then.
func (c *sharedCall) meet(q *QueuePair, l *life) {
	n := c.calling
	if c.tie != nil {
		n = c.tie.neighbour
	}
	view, err := n.see(c.in)
	if err != nil {
		q.device.config.Log.Warn("connect", "device", q.device.config.Name, "queue", l.number, "error", err)
		c.refuse(err)
		l.breakTo(phaseOrphaned)
		return
	}
	view.peer.Store(l)
	if c.tie == nil && !c.accept(l, view) {
		l.breakTo(phaseOrphaned)
		return
	}
	if !l.tied().connect(view) {
		l.breakTo(phaseOrphaned)
	}
	l.peer.Store(view)
	q.pool.showPosted()
}

// connect notes that the tie holds, unless the other side has let go.
func (t *tie) connect(view *life) bool {
	n := t.neighbour
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone || t.letGo[1] {
		return false
	}
	t.view = view
	return true
}

// accept ties the life and tells the caller.
func (c *sharedCall) accept(l *life, view *life) bool {
	n := c.calling
	at := appointment{c.in.There.name(), c.in.Here.name()}
	if n.tie(at, l, false) == nil {
		return false
	}
	m := &note{Kind: noteAccept, Here: at.here.note(), There: at.there.note(), Life: l.describe()}
	if n.say(m, nil, l.bell.cq.wakeDescriptor()) != nil {
		return false
	}
	l.domain.offerAll(n)
	return true
}

func (c *sharedCall) refuse(why error) {
	if c.tie != nil { // the peer has connected
		c.tie.decline(c.in)
		return
	}
	closeDescriptor(c.in.fd)
	m := &note{Kind: noteRefuse, Here: c.in.There, There: c.in.Here}
	m.reason(why)
	_ = c.calling.say(m, nil, -1) // or it is gone, and so is who called
}
