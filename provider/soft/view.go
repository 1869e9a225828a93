package soft

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"sync/atomic"
	"weak"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/verbs/driver"
)

// This file is how neighbours show each other the words of a connection.

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
	l.order = seeAll[arrival](&s, d.Order, uint64(d.OrderLength))
	b := &bell{words: seeOnly[queueWords](&s, d.Words), bit: d.Bit, group: d.Group, sight: n.arena}
	b.leaf = seeOnly[atomic.Uint64](&s, d.Leaf)
	l.bell = b
	l.pool = &pool{depth: int(d.Depth), maxSpans: int(d.MaxSpans), shared: d.Shared != 0}
	l.pool.poolWords = seeOnly[poolWords](&s, d.Pool)
	l.pool.slots = seeAll[slot](&s, d.Slots, uint64(d.Depth))
	l.pool.spans = seeAll[driver.Span](&s, d.Spans, uint64(d.Depth)*uint64(d.MaxSpans-1))
	l.pool.posts = seeAll[atomic.Uint32](&s, d.Posts, uint64(d.PostsLength))
	if s.err != nil {
		return nil, s.err
	}
	keys := &farKeys{neighbour: n, there: name, domain: d.Domain, known: make(map[uint32]*region)}
	l.keys, l.loans, l.fragile = keys, new(loanTable), &keys.fragile
	b.wake = n.waker(ref(d.Words), in.fd)
	return l, nil
}

// waker writes the descriptor that a sleeping completion queue of another process waits for. The collector closes it: whoever
// rings may do so when the neighbour is long gone.
type waker struct {
	event *resource // a pointer, too: without any, the collector would not tell it from others near by
}

// isBell reports whether a descriptor is an event, and one that nobody waits for who writes to it.
func isBell(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	kind, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	return err == nil && flags&unix.O_NONBLOCK != 0 && kind == "anon_inode:[eventfd]"
}

// waker returns the one for the completion queue whose words lie at r, and takes fd over. All connections to that queue
// share one, for as long as there are any.
func (n *neighbour) waker(r ref, fd int) *waker {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w := n.wakers[r].Value(); w != nil || n.gone || !isBell(fd) {
		closeDescriptor(fd)
		return cmp.Or(w, &waker{&resource{fd: -1}})
	}
	w := new(waker)
	w.event = hold(&n.device.resources, w, nil, fd)
	maps.DeleteFunc(n.wakers, func(_ ref, w weak.Pointer[waker]) bool { return w.Value() == nil })
	n.wakers[r] = weak.Make(w)
	return w
}

var one = [8]byte{1}

// write wakes. If it fails, the other side is gone, or was woken so often that it is awake.
func (w *waker) write() {
	if w.event.fd >= 0 {
		_, _ = unix.Write(w.event.fd, one[:])
	}
	runtime.KeepAlive(w) // or the collector might close it, and the number be another's
}

// wakeDescriptor returns what peers of other processes write to when the owner sleeps. Connect has made it.
func (c *CompletionQueue) wakeDescriptor() int {
	fd, err := c.wakeFD()
	if err != nil {
		return -1
	}
	return fd
}
