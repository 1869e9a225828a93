package stream

import (
	"fmt"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
)

// foreign is a ground of the peer's, that this end may write to.
type foreign struct {
	spans  [berths]wire.Span
	until  clock.Time
	ledger ledger
}

// takeGround hears where the peer lets this end write. It is used for half of the time that it is lent for: what is on its way when that
// ends has the other half to arrive in.
func (o *outgoing) takeGround(spans []wire.Span, expiry uint32) error {
	for _, s := range spans {
		if s.Length < bulkMost {
			return fmt.Errorf("a berth of %d bytes, a piece may have %d", s.Length, bulkMost)
		}
	}
	o.ground = &foreign{spans: [berths]wire.Span(spans), ledger: ledger{base: o.landed},
		until: clock.Real.Now().Add(time.Duration(expiry) * time.Millisecond / 2)}
	return nil
}

// berth returns one where the next piece may be written, if there is any.
func (o *outgoing) berth() (berth int, ok bool) {
	if g := o.ground; g != nil && clock.Real.Now() < g.until {
		return g.ledger.free()
	}
	return 0, false
}

// land has a loan written to the peer's memory, instead of being read from this end's. Nobody returns it: it is back when it was sent.
func (l *loan) land(berth int) {
	g := l.out.ground
	l.fill[0] = link.Fill{Return: berth, Into: g.spans[berth], Piece: l.pieces[1]}
	l.Fills, l.Until, l.ground, l.isBack = l.fill[:], g.until, g, true
	g.ledger.use(berth)
	l.out.landed++
}

// Late implements link.LateOwner: the peer had no room for the frame for so long that the ground may be taken back by now, and the bytes
// are lent after all. The frames of the ground behind this one are late, too.
func (l *loan) Late(*link.Outgoing) {
	o := l.out
	putKind(&l.head, bulk)
	l.Fills, l.Loans, l.isBack = nil, l.pieces[1:], false
	o.landed--
	if l.ground == o.ground {
		l.ground.ledger.undo(l.fill[0].Return)
	} else {
		o.ground.ledger.base-- // it came when this piece had been counted
	}
}
