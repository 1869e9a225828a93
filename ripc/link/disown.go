package link

import (
	"slices"

	"github.com/weft-fabric/weft/ripc/wire"
)

// Arrivals is how many messages have come from the peer. One that is stopped sends no more.
func (l *Link) Arrivals() uint64 { return l.arrivals }

// UnderWay are the messages to a service whose owners have not heard their end.
func (l *Link) UnderWay(to wire.ID) (list []*Outgoing) {
	add := func(o *Outgoing) {
		if o != nil && o.Head.To == to && !o.abandoned && !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	for queue := range l.unsent() {
		queue.Change(func(o **Outgoing) bool { add(*o); return false })
	}
	l.changeInFlight(func(o **Outgoing) bool { add(*o); return false })
	l.unheard.Change(func(u *unconfirmed) bool { add(u.out); return false })
	for o := range l.calls.all() {
		add(o)
	}
	return list
}

// Disown lets a message that was sent, and lends nothing any more, be sent elsewhere: what the peer still says of it is told nobody. It
// reports whether that can be: not while the NIC may still read memory of the program's.
func (l *Link) Disown(o *Outgoing) bool {
	if l.state == ended {
		return true // it has told everybody
	}
	isInFlight := l.changeInFlight(func(other **Outgoing) bool { return *other == o })
	if isInFlight && slices.ContainsFunc(o.Items, func(p Piece) bool { return p.isLarge() }) {
		return false
	}
	l.replace(o, o.ghost())
	return true
}

// ghost stands for a message whose owner is not interested any more.
func (o *Outgoing) ghost() *Outgoing {
	g := *o
	g.Owner, g.abandoned = deaf{}, true
	g.loans, g.returns = lending{}, lending{}
	return &g
}

// replace puts another message wherever the link knows one.
func (l *Link) replace(o, by *Outgoing) {
	l.changeInFlight(func(other **Outgoing) bool {
		if *other == o {
			*other = by
		}
		return *other == by
	})
	l.unheard.Change(func(u *unconfirmed) bool {
		if u.number == o.Head.Number { // also of a Send that nobody was to hear more of: its sender is told now
			u.out = by
		}
		return u.out == by
	})
	if l.calls.get(o.Head.Number) == o {
		l.calls.remove(o.Head.Number)
		l.calls.put(o.Head.Number, by)
	}
}

// changeInFlight lets change look at what was handed to the NIC and whose owners were not told, until it reports that it has changed one.
func (l *Link) changeInFlight(change func(**Outgoing) bool) bool {
	return l.flight.Change(func(s **Slot) bool { return change(&(*s).out) }) || l.celled.Change(change)
}

// deaf owns what nobody wants to hear of any more.
type deaf struct{}

func (deaf) Sent(*Outgoing, error)            {}
func (deaf) Answered(*Outgoing, *Slot, error) {}
func (deaf) Returned(*Outgoing, error)        {}
