package stream

import "github.com/weft-fabric/weft/ripc/link"

// notice is a frame without data. A connection has one on its way at most.
type notice struct {
	link.Outgoing
	conn       *Conn
	head       [headSize]byte
	pieces     [1]link.Piece
	last       kind // what was said of the end: nothing (0), finish, goodbye
	isUnderway bool
}

// tell says what the peer has to hear, if no data says it. What has to wait is said when the notice that is on its way has gone.
func (c *Conn) tell() {
	n := &c.notice
	if k := c.news(); k != 0 && !n.isUnderway && c.line.IsReady() {
		n.send(k)
	}
	c.settle()
}

// news is what the peer has to hear; 0: nothing.
func (c *Conn) news() kind {
	switch {
	case c.notice.last == goodbye:
	case c.isOver():
		return goodbye
	case (c.isFinished || c.mustReturnGround()) && c.notice.last != finish:
		return finish
	case c.in.mustTell():
		return grant
	}
	return 0
}

// mustReturnGround reports whether the peer, which reads no more, waits for its memory. This end may stay open for as long as it likes.
func (c *Conn) mustReturnGround() bool { return c.isParted && c.out.ground != nil }

func (n *notice) send(k kind) {
	if k != grant {
		n.last = k
	}
	allowed, read := n.conn.in.tell()
	putHead(&n.head, k, allowed, read)
	n.pieces[0].Bytes = n.head[:]
	n.Outgoing = link.Outgoing{Owner: n, Items: n.pieces[:]}
	n.isUnderway = true
	if err := n.conn.line.Send(&n.Outgoing); err != nil {
		n.isUnderway = false
		n.conn.lose(err)
	}
}

// Sent implements link.Owner.
func (n *notice) Sent(_ *link.Outgoing, err error) {
	n.isUnderway = false
	if err != nil {
		n.conn.lose(err)
		return
	}
	n.conn.tell()
}

// Answered implements link.Owner. Nobody asks.
func (n *notice) Answered(*link.Outgoing, *link.Slot, error) {}

// Returned implements link.Owner. Nothing is lent.
func (n *notice) Returned(*link.Outgoing, error) {}

// settle lets a Close go on when all is said and sent, and forgets the line when the peer has said goodbye, too.
func (c *Conn) settle() {
	if !c.line.IsReady() {
		c.settled.Set()
		return
	}
	if c.notice.last != goodbye || c.notice.isUnderway || c.out.underway > 0 {
		return
	}
	c.settled.Set()
	if c.isParted {
		c.line.Drop()
	}
}
