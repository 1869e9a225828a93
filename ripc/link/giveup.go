package link

import "github.com/weft-fabric/weft/ripc/wire"

// GiveUp is Abandon for a call whose service does not know how long it is waited for: it is told, if that can be done at once. Who is
// not told works for nobody, and that is all.
func (l *Link) GiveUp(o *Outgoing) {
	l.Abandon(o)
	if l.state == ready && l.calls.get(o.Head.Number) == o {
		l.sendWord(wire.Head{Type: wire.GiveUp, To: o.Head.To, Number: o.Head.Number})
	}
}

// takeGiveUp hears that the peer waits for an answer no more, which may have crossed with it. It needs no credit, so that it can be said
// when most is under way; but nobody gives up more than he has begun.
func (l *Link) takeGiveUp(m *wire.Message) {
	if l.givenUp++; l.givenUp > l.arrivals-l.givenUp {
		l.violated("%d calls that it gives up, of %d messages", l.givenUp, l.arrivals-l.givenUp)
		return
	}
	l.hub.config.Handler.GivenUp(l, m.Head.To, m.Head.Number)
}
