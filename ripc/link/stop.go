package link

import (
	"iter"

	"github.com/weft-fabric/weft/internal/fifo"
	"github.com/weft-fabric/weft/ripc/wire"
)

// setAside has a message wait for its service, if the peer has said that it should, and reports whether it does.
func (l *Link) setAside(o *Outgoing) bool {
	queue := l.aside[o.Head.To]
	if queue == nil || !o.isForService() {
		return false
	}
	queue.Push(o)
	l.watch()
	return true
}

// unsent are the queues of what needs a credit: what waits for one, and what waits for its service.
func (l *Link) unsent() iter.Seq[*fifo.Queue[*Outgoing]] {
	return func(yield func(*fifo.Queue[*Outgoing]) bool) {
		if !yield(&l.waiting) {
			return
		}
		for _, queue := range l.aside {
			if !yield(queue) {
				return
			}
		}
	}
}

// countUnsent is how many messages those are.
func (l *Link) countUnsent() (n int) {
	for queue := range l.unsent() {
		n += queue.Len()
	}
	return n
}

// Waiting is how many messages of all links wait for a peer to let them come.
func (h *Hub) Waiting() (n int) {
	for l := range h.All() {
		n += l.countUnsent()
	}
	return n
}

// takeStop hears that a service has enough. Each time it has been sent something before: nobody is stopped more often than he sends.
func (l *Link) takeStop(to wire.ID) {
	l.stops++
	switch {
	case l.aside[to] != nil:
		l.violated("%v is to be sent nothing, a second time", to)
	case len(l.aside) >= maxStops:
		l.violated("more than %d services are to be sent nothing", maxStops)
	case l.stops > l.last:
		l.violated("%d services that are to be sent nothing, after %d messages", l.stops, l.last)
	default:
		l.stop(to)
	}
}

// stop sets aside what waits for a service.
func (l *Link) stop(to wire.ID) {
	if l.aside == nil {
		l.aside = make(map[wire.ID]*fifo.Queue[*Outgoing])
	}
	l.aside[to] = &fifo.Queue[*Outgoing]{}
	for _, o := range l.waiting.Drain() {
		if !l.setAside(o) {
			l.waiting.Push(o)
		}
	}
}

// takeGo hears that a service takes messages again: those that were set aside wait for a credit now, before any that come later.
func (l *Link) takeGo(to wire.ID) {
	queue := l.aside[to]
	if queue == nil {
		l.violated("%v may be sent to again, and always could", to)
		return
	}
	if delete(l.aside, to); len(l.aside) == 0 {
		l.aside = nil // who sends looks at that first
	}
	for _, o := range queue.Drain() {
		l.pending = true
		l.waiting.Push(o)
	}
}
