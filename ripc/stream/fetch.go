package stream

import (
	"fmt"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
)

// fetch takes in bulk: it is read from the peer's memory at once, so that the peer has it back, into a buffer of this node's.
func (c *Conn) fetch(m *wire.Message, loan wire.Span) error {
	if loan.Length < bulkLeast { // a buffer for each would be many times of what the window allows
		return fmt.Errorf("%d bytes are lent, at least %d", loan.Length, bulkLeast)
	}
	if err := c.in.count(loan.Length); err != nil {
		return err
	}
	buffer, err := c.line.Node().Alloc(int(loan.Length))
	if err != nil {
		return err
	}
	p := &pull{conn: c, buffer: buffer}
	p.segment = &segment{bytes: buffer.Bytes(), pull: p}
	c.in.expect(p.segment)
	p.from[0], p.into[0] = loan, c.line.Lend(buffer, buffer.Len()).Span
	p.Number, p.From, p.Into, p.Owner = m.Head.Number, p.from[:], p.into[:], p
	p.Until = clock.Real.Now().Add(time.Duration(m.Head.Expiry) * time.Millisecond)
	if err := c.line.Pull(&p.Pull); err != nil {
		p.isDone = true
		c.in.cut(p.segment)
		return err
	}
	if loan.Length == bulkMost { // more will follow
		c.offerGround()
	}
	return nil
}

// Pulled implements link.PullOwner.
func (p *pull) Pulled(_ *link.Pull, err error) {
	c := p.conn
	p.isDone = true
	if p.isWaste {
		p.buffer.Release()
		return
	}
	if err != nil {
		c.in.cut(p.segment)
		c.lose(err)
	}
	c.in.offer(c.endOfReading())
	c.tell()
}
