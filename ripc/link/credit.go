package link

import (
	"github.com/weft-fabric/weft/internal/fifo"
	"github.com/weft-fabric/weft/ripc/wire"
)

// wordRoom is how many receives are kept on each link for words.
const wordRoom = 1

// maxWindow bounds what a peer can let this end send.
const maxWindow = 1 << 16

// credits counts messages, in both directions, since the link was made. Counters come round at 2³²: only differences count.
type credits struct {
	// To the peer.
	credit uint32 // how many the peer lets us send
	sent   uint32 // how many were
	heard  uint32 // how many the peer has handed to services

	// From the peer.
	window  int    // how many it may be ahead of what was released
	told    uint32 // how many it was told that it may send
	arrived uint32
	freed   uint32             // of those, released
	taken   uint32             // of those, handed to services or refused
	said    uint32             // how many of taken it was told
	refused fifo.Queue[uint32] // which of them are to be refused: the peer takes them for delivered if it hears that they were taken first

	idle int // words in a row that said nothing new
}

func newCredits(window int) credits { return credits{window: window, told: uint32(window)} }

// maySend reports whether the peer has room for one more.
func (c *credits) maySend() bool { return int32(c.credit-c.sent) > 0 }

// held is how many messages have not been released.
func (c *credits) held() int { return int(c.arrived - c.freed) }

// left is how many the peer may still send.
func (c *credits) left() int { return int(int32(c.told - c.arrived)) }

// untold is how many more it could send if it were told.
func (c *credits) untold() int { return int(int32(c.freed + uint32(c.window) - c.told)) }

// hear takes in what the peer says of credits and of what it has taken, and reports whether that can be. Neither goes back, and it
// cannot have taken what was not sent.
func (c *credits) hear(credit, taken uint32) bool {
	more, news := credit-c.credit, taken-c.heard
	if more > maxWindow || credit-c.sent > maxWindow || news > c.sent-c.heard {
		return false
	}
	if more|news != 0 {
		c.credit, c.heard, c.idle = credit, taken, 0
	}
	return true
}

// isLow reports whether half of what the peer had is used up.
func (c *credits) isLow() bool { return 2*c.left() <= c.window }

// mustTell reports whether the peer should hear of its credits at once: it has not many left, and enough is free to be worth a word.
// One message at a time is not: its answer tells.
func (c *credits) mustTell() bool { return c.isLow() && c.untold() >= max(2, c.window/4) }

// hasNews reports whether there is something that the peer could be told.
func (c *credits) hasNews() bool { return c.said != c.settled() || c.isLow() && c.untold() > 0 }

// tell returns what the next message says.
func (c *credits) tell() (credit, taken uint32) {
	c.told += uint32(max(0, c.untold()))
	c.said = c.settled()
	return c.told, c.said
}

// settled is how many of those that were taken the peer may be told of: those before the first whose refusal has not been sent.
func (c *credits) settled() uint32 {
	if c.refused.Empty() {
		return c.taken
	}
	return c.refused.Front() - 1
}

// tellIn has a message tell the peer what it may do.
func (l *Link) tellIn(head *wire.Head) {
	head.Credit, head.Taken = l.tell()
	if head.Cells = 0; l.ring != nil {
		head.Cells = uint8(l.ring.taken)
	}
}

// widen lets a peer that has used up its window send further ahead, as long as there are receives to promise.
func (l *Link) widen() {
	more := min(l.window, l.hub.config.Window-l.window)
	if more > 0 && l.hub.promise(more) {
		l.window += more
	}
}
