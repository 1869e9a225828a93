package loop

import "context"

// Event is something that one goroutine waits for by Shared.Await. The zero value has not happened yet. It is reused by
// Reset: who waits again and again allocates nothing.
type Event struct {
	set bool

	// While a goroutine awaits the event:
	shared     *Shared
	role       role
	signal     chan bool // to a follower, holds one: whether the event was set. Kept for the next time
	next, prev *Event    // of the followers
}

// role is what the goroutine that awaits an event does.
type role uint8

const (
	apart     role = iota // it has the lock, or is about to
	following             // it waits for its signal
	appointed             // it has got one, and shall look for itself
)

// Set says that the event has happened, and wakes who awaits it. It is called on the loop only: from a Step, a Scan, or a
// function given to Do.
func (e *Event) Set() {
	if e.set {
		return
	}
	e.set = true
	if e.shared != nil {
		e.shared.tell(e)
	}
}

// IsSet reports whether the event has happened. Like Set it is called on the loop, or by who has awaited it.
func (e *Event) IsSet() bool { return e.set }

// Reset makes the event one that has not happened yet. It is called on the loop, or where no machine can set it; not while
// it is awaited.
func (e *Event) Reset() { e.set = false }

// tell wakes the goroutine that awaits e, which was set just now. A follower need not come for the lock any more.
func (s *Shared) tell(e *Event) {
	switch {
	case e.role == following:
		s.followers.remove(e)
		e.role, e.shared = apart, nil
		s.told++
		s.send(e, true)
	case s.driver == e:
		s.rouse()
	}
}

// send gives a follower its signal: one for each time that it follows.
func (s *Shared) send(e *Event, set bool) {
	s.counts.signals++
	e.signal <- set
}

// follow waits until e is set, and reports true then, without the lock; or until there is something else to look at.
func (s *Shared) follow(ctx context.Context, e *Event) (set bool) {
	if e.signal == nil {
		e.signal = make(chan bool, 1)
	}
	e.role = following
	s.followers.add(e)
	if s.driver == &s.caretaker.event {
		s.rouse() // it leaves
	}
	s.mu.Unlock()
	select {
	case set = <-e.signal:
	case <-ctx.Done():
		return s.unfollow(e)
	}
	if !set {
		s.claim()
		s.arrive(e)
	}
	return set
}

// unfollow ends following by the follower's own will. It may be too late for that.
func (s *Shared) unfollow(e *Event) (set bool) {
	s.claim()
	if e.role == following {
		s.followers.remove(e)
		e.role = apart
		return false
	}
	if <-e.signal {
		s.mu.Unlock()
		return true
	}
	s.arrive(e)
	return false
}

// arrive is the end of following, for one who was appointed.
func (s *Shared) arrive(e *Event) {
	e.role = apart
	if s.heir == e {
		s.heir = nil
	}
}

// appoint has a follower look for itself.
func (s *Shared) appoint(e *Event) {
	s.followers.remove(e)
	e.role = appointed
	s.send(e, false)
}

// dismissAll has everybody look why the loop has ended.
func (s *Shared) dismissAll() {
	for s.followers.first != nil {
		s.appoint(s.followers.first)
	}
	s.rouse()
	s.caretaker.rouse()
}

// events is a list of events, the oldest first.
type events struct{ first, last *Event }

func (l *events) add(e *Event) {
	e.prev, e.next = l.last, nil
	if l.last == nil {
		l.first = e
	} else {
		l.last.next = e
	}
	l.last = e
}

func (l *events) remove(e *Event) {
	if e.prev == nil {
		l.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
}
