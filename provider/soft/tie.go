package soft

import (
	"cmp"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/verbs/driver"
)

// This file is how a connection to a neighbour is made and ended.

// tie notes a connection that is to be. It returns nil if the neighbour is gone.
func (n *neighbour) tie(at appointment, l *life) *tie {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone {
		return nil
	}
	t := &tie{neighbour: n, at: at, mine: l, answer: make(chan noteWithFD, 1)}
	if !l.pool.shared {
		t.pool = l.pool
	}
	l.tie.Store(t)
	n.ties[at] = t
	return t
}

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
	n.device.meetings.calls.Go(func() { n.device.answer(at, &sharedCall{in: in, calling: n}) })
	return nil
}

// takeAnswer is what became of a call of ours.
func (n *neighbour) takeAnswer(in noteWithFD) error {
	at := appointment{in.There.name(), in.Here.name()}
	n.mu.Lock()
	t := n.ties[at]
	n.mu.Unlock()
	if t == nil {
		closeDescriptor(in.fd)
		return nil // it was given up, and the neighbour will be told
	}
	if in.Kind == noteRefuse { // nobody sees our words
		n.letGo(at, 1)
	}
	select {
	case t.answer <- in:
	default:
		closeDescriptor(in.fd)
		return fmt.Errorf("a second answer to %v", at.here)
	}
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
	n.mu.Lock()
	l.tie.Load().view = view
	gone := n.gone
	n.mu.Unlock()
	if gone {
		l.breakTo(phaseOrphaned)
	}
	l.peer.Store(view)
}

// accept ties the life and tells the caller.
func (c *sharedCall) accept(l *life, view *life) bool {
	n := c.calling
	at := appointment{c.in.There.name(), c.in.Here.name()}
	if n.tie(at, l) == nil {
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
	closeDescriptor(c.in.fd)
	if c.tie != nil { // the peer has connected: it will find this end broken, and gone when it is closed
		return
	}
	m := &note{Kind: noteRefuse, Here: c.in.There, There: c.in.Here}
	m.reason(why)
	if c.calling.say(m, nil, -1) != nil {
		return // gone, and so is who called
	}
}

// describe says where the words of a life lie. They are all allocated.
func (l *life) describe() lifeNote {
	p, b := l.pool, l.bell
	shared := uint32(0)
	if p.shared {
		shared = 1
	}
	ready := &b.cq.ready
	return lifeNote{End: uint64(l.endRef), Order: uint64(l.orderRef), OrderLength: uint32(len(l.order)),
		Words: uint64(ready.wordsRef), Leaf: uint64(b.leafRef), Bit: b.bit, Group: b.group, Domain: l.domain.number,
		Pool: uint64(p.refs.words), Slots: uint64(p.refs.slots), Spans: uint64(p.refs.spans), Posts: uint64(p.refs.posts),
		Depth: uint32(p.depth), PostsLength: uint32(len(p.posts)), MaxSpans: uint32(p.maxSpans), Shared: shared}
}

// see makes the view of a life at the neighbour's from what the neighbour says of it. It checks all of that.
func (n *neighbour) see(in noteWithFD) (*life, error) {
	d, name := &in.Life, in.Here.name()
	if d.MaxSpans < 1 || d.MaxSpans > maxSpans || d.Depth > maxDepth || powerOfTwo(int(d.OrderLength)) != int(d.OrderLength) ||
		powerOfTwo(int(d.PostsLength)) != int(d.PostsLength) {
		return nil, fmt.Errorf("queue pair %v says depth %d, spans %d, rings %d and %d", name, d.Depth, d.MaxSpans,
			d.OrderLength, d.PostsLength)
	}
	s := seer{arena: n.arena.bytes}
	l := &life{number: name.number, epoch: name.epoch, neighbour: n, sight: n.arena}
	l.end = seeOnly[end](&s, d.End)
	l.order = seeAll[uint32](&s, d.Order, uint64(d.OrderLength))
	b := &bell{words: seeOnly[queueWords](&s, d.Words), bit: d.Bit, group: d.Group}
	b.leaf = &seeOnly[alignedWord](&s, d.Leaf).Uint64
	l.bell = b
	l.pool = &pool{depth: int(d.Depth), maxSpans: int(d.MaxSpans), shared: d.Shared != 0}
	l.pool.poolWords = seeOnly[poolWords](&s, d.Pool)
	l.pool.slots = seeAll[slot](&s, d.Slots, uint64(d.Depth))
	l.pool.spans = seeAll[driver.Span](&s, d.Spans, uint64(d.Depth)*uint64(d.MaxSpans-1))
	l.pool.posts = seeAll[uint32](&s, d.Posts, uint64(d.PostsLength))
	if s.err != nil {
		return nil, s.err
	}
	keys := &farKeys{neighbour: n, there: name, domain: d.Domain, known: make(map[uint32]*region)}
	l.keys, l.fragile = keys, &keys.fragile
	b.wake = n.waker(ref(d.Words), in.fd)
	return l, nil
}

// waker writes the descriptor that a sleeping completion queue of another process waits for. The collector closes it: whoever
// rings may do so when the neighbour is long gone.
type waker struct{ fd int }

// waker returns the one for the completion queue whose words lie at r, and takes fd over. One is kept for each
// completion queue, until the neighbour is forgotten.
func (n *neighbour) waker(r ref, fd int) *waker {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w := n.wakers[r]; w != nil || n.gone {
		closeDescriptor(fd)
		return cmp.Or(w, &waker{-1})
	}
	w := &waker{fd}
	hold(&n.device.resources, w, nil, fd)
	n.wakers[r] = w
	return w
}

var one = [8]byte{1}

// write wakes. If it fails, the other side is gone, or was woken so often that it is awake.
func (w *waker) write() {
	if w.fd >= 0 {
		unix.Write(w.fd, one[:])
	}
}

// retire lets go of the words of a life's peer.
func (t *tie) retire() {
	n := t.neighbour
	n.letGo(t.at, 0)
	n.say(&note{Kind: noteRetire, Here: t.at.here.note(), There: t.at.there.note()}, nil, -1)
}

// wakeDescriptor returns what peers of other processes write to when the owner sleeps. Connect has made it.
func (c *CompletionQueue) wakeDescriptor() int {
	fd, err := c.wakeFD()
	if err != nil {
		return -1
	}
	return fd
}
