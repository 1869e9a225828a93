package link

import "github.com/weft-fabric/weft/ripc/wire"

// A message that stays with its service has a place in the window of its link. When half of those are taken, what comes next and stays is
// excused: it is given a receive beyond the window, and its place is free for what other services are sent. How many a service has so is
// counted, and when they are as many as a window, the peer is told to send it no more (Stop), until it has fewer again (Go). What is
// under way by then is excused, too, or fits into the window: where windows are large and receives few, both come sooner.

// holding is what one service has of a link's messages that are excused.
type holding struct {
	to        wire.ID
	messages  int
	isStopped bool   // the peer was told
	until     uint32 // how many messages the peer had been allowed by then: those may have been under way
}

// maxStops is how many services a peer can have stopped at a time.
const maxStops = 64

// excuse gives a message that stays with its service a receive of its own, and its place in the window back to the peer. If it cannot, the
// message keeps its place, as all do as long as there are enough.
func (l *Link) excuse(to wire.ID, s *Slot) {
	h := l.holdings[to]
	if h == nil {
		h = &holding{to: to}
	}
	if l.state == ended || !l.mayExcuse(h) || !l.hub.promise(1) {
		return
	}
	if l.holdings == nil {
		l.holdings = make(map[wire.ID]*holding)
	}
	l.holdings[to] = h
	s.kept, s.holding = true, h
	l.count(h, 1)
	l.freed++
	l.regulate(h)
}

// mayExcuse reports whether a service may have one more. A peer that was told to stop, and sends what it was allowed later, holds up
// itself. Half of all receives are for windows and answers, and no peer has all the others.
func (l *Link) mayExcuse(h *holding) bool {
	all := l.hub.config.MaxSlots
	if l.excused >= all/8 || l.hub.excused >= all/2 {
		return false
	}
	if h.isStopped {
		return int32(h.until-l.arrived) >= 0
	}
	return h.messages < l.hub.share
}

func (l *Link) count(h *holding, n int) {
	h.messages += n
	l.excused += n
	l.hub.excused += n
}

// released goes on when a service has given back a message that was excused.
func (h *holding) released(l *Link) {
	l.count(h, -1)
	if l.state == ended {
		return
	}
	l.regulate(h)
	if h.messages == 0 && !h.isStopped && len(l.holdings) > maxStops {
		delete(l.holdings, h.to)
	}
	if !l.taking {
		l.pump()
	}
}

// regulate tells the peer to stop, or to go on, if it is time to: now, or when there is room.
func (l *Link) regulate(h *holding) {
	kind := l.due(h)
	if kind == 0 {
		return
	}
	if l.state != ready || !l.sendWord(wire.Head{Type: kind, To: h.to}) {
		l.pending, l.unregulated = true, true
		return
	}
	h.isStopped, h.until = kind == wire.Stop, l.told
	if h.isStopped {
		l.stopped++
	} else {
		l.stopped--
	}
}

// due is what the peer should be told of a service: Stop, Go, or nothing. A quarter of its share lies between the two, so that not
// every message is followed by one of them.
func (l *Link) due(h *holding) wire.Type {
	share := l.hub.share
	switch {
	case !h.isStopped && h.messages >= share && l.stopped < maxStops:
		return wire.Stop
	case h.isStopped && 4*h.messages <= 3*share:
		return wire.Go
	}
	return 0
}

// pumpStops tells what there was no room for.
func (l *Link) pumpStops() {
	if !l.unregulated {
		return
	}
	l.unregulated = false
	for _, h := range l.holdings {
		l.regulate(h)
	}
}
