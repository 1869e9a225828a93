package link

import (
	"github.com/weft-fabric/weft/ripc/wire"
)

// unconfirmed is a Send of which it is not known whether the peer has handed it to its service.
type unconfirmed struct {
	number  uint64
	ordinal uint32 // among the messages that took a credit
	to      wire.ID
	out     *Outgoing // nil: nobody waits for it
	code    wire.Code // it was refused
}

// remember keeps a Send until the peer says that it has taken it. There are never more than it may send ahead.
func (l *Link) remember(o *Outgoing) {
	u := unconfirmed{number: o.Head.Number, ordinal: l.credits.sent, to: o.Head.To}
	if o.Confirm {
		u.out = o
		l.watch()
	}
	l.unheard.Push(u)
}

// refuse notes that a Send was refused, and reports whether there was such a one.
func (l *Link) refuse(number uint64, code wire.Code) bool {
	return l.unheard.Change(func(u *unconfirmed) bool {
		if u.number == number {
			u.code = code
		}
		return u.number == number
	})
}

// confirm tells of what the peer has taken by now.
func (l *Link) confirm() {
	for l.state != ended && !l.unheard.Empty() && int32(l.heard-l.unheard.Front().ordinal) >= 0 {
		l.tellConfirmed(l.unheard.Pop())
	}
}

func (l *Link) tellConfirmed(u unconfirmed) {
	var err error
	if u.code != wire.NoCode {
		err = &RefusedError{u.code}
	}
	if u.out != nil {
		u.out.sent(err)
	} else if err != nil {
		l.hub.config.Handler.Undelivered(l, u.to, err)
	}
}

// tellUnconfirmed tells of those that nobody knows of, and never will.
func (l *Link) tellUnconfirmed(lost error) {
	for _, u := range l.unheard.Drain() {
		if u.out != nil {
			u.out.sent(lost)
		} else {
			l.hub.config.Handler.Undelivered(l, u.to, lost)
		}
	}
}
