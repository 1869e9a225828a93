package stream

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/weft-fabric/weft/internal/fifo"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
)

const (
	berths     = window / bulkMost // pieces that a ground has room for: as many as the peer may send ahead
	maxGrounds = 64                // that a process offers at a time: 128 MiB
)

// groundLife is how long a peer may use a ground. Then it has to lend once more to be offered another.
var groundLife = link.DefaultExpiry

// offered is how many grounds a process has offered, and not got back.
var offered atomic.Int32

// landing is a ground: memory of this end that the peer writes large bytes to, by itself. What is lent has to be asked for, and
// travels behind the question. So one who has lent much is offered a ground. Each of its berths is for one piece, and for another one when the peer was told that it was read.
type landing struct {
	link.Outgoing
	conn    *Conn
	buffers []*ripc.Buffer // of the berths
	ledger  ledger
	head    [headSize]byte
	pieces  [1 + berths]link.Piece
}

// ledger is what both ends know of a ground: which berths are in use. They are free again in the order in which they were used.
type ledger struct {
	base uint64 // pieces that had landed before, elsewhere
	busy [berths]bool
	used fifo.Queue[int] // the busy ones
}

// use takes a berth.
func (l *ledger) use(berth int) {
	l.busy[berth] = true
	l.used.Push(berth)
}

// read frees the berths of pieces, from one to another, as they are counted since the connection was made.
func (l *ledger) read(from, to uint64) {
	for n := max(from, l.base); n < to; n++ {
		l.busy[l.used.Pop()] = false
	}
}

// undo takes back that a berth is used.
func (l *ledger) undo(berth int) {
	if l.used.Remove(func(other int) bool { return other == berth }) {
		l.busy[berth] = false
	}
}

// free returns a berth that is free: the first, so that the same memory is used again while caches have it.
func (l *ledger) free() (berth int, ok bool) {
	berth = slices.Index(l.busy[:], false)
	return berth, berth >= 0
}

// offerGround lets the peer write, if there is memory to spare.
func (c *Conn) offerGround() {
	if c.in.landing != nil || c.in.isEnded || offered.Load() >= maxGrounds {
		return
	}
	g := &landing{conn: c, ledger: ledger{base: c.in.landed}}
	offered.Add(1)
	c.in.landing = g
	for i := range berths {
		buffer, err := c.line.Node().Alloc(bulkMost)
		if err != nil {
			g.over()
			return
		}
		g.buffers = append(g.buffers, buffer)
		g.pieces[1+i] = c.line.Lend(buffer, bulkMost)
	}
	allowed, read := c.in.tell()
	putHead(&g.head, ground, allowed, read)
	g.pieces[0].Bytes = g.head[:]
	g.Outgoing = link.Outgoing{Owner: g, Items: g.pieces[:1], Returns: g.pieces[1:], Expiry: groundLife}
	if err := c.line.Send(&g.Outgoing); err != nil {
		g.over()
	}
}

// endGround takes a ground back, when the peer has said that it writes no more, or does not know of the connection.
func (c *Conn) endGround() {
	g := c.in.landing
	switch {
	case g == nil:
	case c.line.Cancel(&g.Outgoing):
		g.over()
	default:
		c.line.TakeBack(&g.Outgoing)
	}
}

// over gives the memory back. Nothing can land there any more; what has landed and was not read is kept by its segments.
func (g *landing) over() {
	if g.conn.in.landing != g {
		return
	}
	g.conn.in.landing = nil
	offered.Add(-1)
	for _, b := range g.buffers {
		b.Release()
	}
}

// Sent implements link.Owner. A ground that could not be offered is none; the connection goes on without.
func (g *landing) Sent(_ *link.Outgoing, err error) {
	if err != nil {
		g.over()
	}
}

// Answered implements link.Owner. Nobody asks.
func (g *landing) Answered(*link.Outgoing, *link.Slot, error) {}

// Returned implements link.Owner.
func (g *landing) Returned(*link.Outgoing, error) { g.over() }

// land takes in a piece that the peer has written. It lies where it must: in a berth that was free.
func (c *Conn) land(f wire.Fill) error {
	g := c.in.landing
	if g == nil {
		return fmt.Errorf("%d bytes have landed without a ground", f.Length)
	}
	if f.Return >= berths || g.ledger.busy[f.Return] || f.Length == 0 || f.Length > bulkMost {
		return fmt.Errorf("%d bytes have landed in berth %d, which is in use, or cannot take them", f.Length, f.Return)
	}
	if err := c.in.count(f.Length); err != nil {
		return err
	}
	c.in.landed++
	g.ledger.use(int(f.Return))
	berth := g.buffers[f.Return]
	berth.Retain()
	c.in.expect(&segment{bytes: berth.Bytes()[:f.Length], berth: berth, in: &c.in})
	c.in.offer(c.endOfReading())
	return nil
}
