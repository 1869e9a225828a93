package rdmc

import (
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/verbs"
)

const (
	patience    = time.Second     // how long words may take on the way
	mostGoodbye = 4 * time.Second // how long a group that has ended may need to be freed
)

// goodbye is how long last words may take. Who does not take them by then is gone itself. A device sends one that was lost
// again, for PeerTimeout: if we closed our end before, those who wait for the word would take us for dead and blame us.
func (g *Group) goodbye() time.Duration {
	return min(g.domain.Device().Limits().PeerTimeout+patience, mostGoodbye)
}

// fail ends the group. Nothing touches memory any more when it returns; the application hears of it in a Step of its own.
func (g *Group) fail(rank int, cause error) {
	if g.state.over() {
		return
	}
	g.becomeFailed(rank, cause)
	g.sayLast(failedWord(g.failure))
}

// failAlone ends the group for this member, which is idle and would hear of no further message. Others may still be at
// work and need neither this member nor the one who left: to them it is one more who leaves.
func (g *Group) failAlone(rank int, cause error) {
	g.becomeFailed(rank, cause)
	g.sayLast(makeWord(wordLeft, rank))
}

// becomeFailed ends what moves.
func (g *Group) becomeFailed(rank int, cause error) {
	g.state = failed
	g.failure = &Failure{Group: g.config.Name, Rank: rank, Cause: cause}
	if rank != Unknown {
		g.failure.Member = g.config.Members[rank]
	}
	g.closeData()
	g.port.After(0, makeTag(timerOver, 0, 0))
}

// blame ends the group because of what a peer sent.
func (g *Group) blame(l *link, format string, args ...any) {
	g.fail(l.rank, because(ErrProtocol, fmt.Errorf(format, args...)))
}

// failLocally ends the group because the device refused something.
func (g *Group) failLocally(err error) {
	cause := ErrMemory
	if errors.Is(err, verbs.ErrClosed) {
		cause = ErrDevice
	}
	g.fail(g.config.Self, because(cause, err))
}

// broke notes that a data pair is in Error. Its peer is gone, closed its end, or has ended the group for a reason that it is
// about to tell: the control pair knows. Needed says that something under way ended with it.
func (g *Group) broke(l *link, needed bool, status verbs.Status) {
	l.lacking = l.lacking || needed
	switch {
	case status == verbs.LocalLength:
		g.blame(l, "sent more than fits into a block")
	case status == verbs.ReceiverNotReady:
		g.blame(l, "gave a credit and had no receive")
	case status == verbs.LocalProtection:
		g.fail(g.config.Self, because(ErrMemory, errors.New("memory that the device does not know")))
	case l.left && l.lacking:
		g.fail(l.leaver, ErrLeft)
	case !l.broken:
		l.broken = true
		g.port.After(g.domain.Device().Limits().PeerTimeout+patience, makeTag(timerBroke, l.index, 0))
	}
}

// stepBroke ends the wait for a word on why a data pair broke.
func (g *Group) stepBroke(l *link) {
	if !l.left {
		g.fail(l.rank, ErrDied)
	}
}

// sayLast says a last word to all peers that can hear it. When they have taken it, or the time is up, ended is called.
func (g *Group) sayLast(w word) {
	for i := range g.links {
		l := &g.links[i]
		if l.left || l.control.State() != verbs.Ready {
			continue
		}
		if err := l.control.SendImm(g.tag(tagLastWord, l, 0), verbs.Span{}, uint32(w), 0); err == nil {
			l.parting = true
			g.parting++
		}
	}
	wait := g.goodbye()
	if g.parting == 0 {
		wait = 0
	}
	g.port.After(wait, makeTag(timerEnd, 0, 0))
}

// stepLastWord counts last words that were taken, or never will be.
func (g *Group) stepLastWord(l *link) {
	if !l.parting {
		return
	}
	l.parting = false
	if g.parting--; g.parting == 0 {
		g.ended()
	}
}

// stepEnd no longer waits for last words.
func (g *Group) stepEnd() {
	g.parting = 0
	g.ended()
}

// ended closes the queue pairs, and frees the rest if Close was called. It may be called again.
func (g *Group) ended() {
	g.closeData()
	for i := range g.links {
		l := &g.links[i]
		g.note(l.control.Close())
		l.parting = false
	}
	if g.state == closing && !g.freeing {
		g.freeing = true
		g.port.After(0, makeTag(timerFree, 0, 0)) // behind the completions that were polled already
	}
}

// closeData closes the data pairs: nothing comes in any more, and nothing is read.
func (g *Group) closeData() {
	for i := range g.links {
		l := &g.links[i]
		g.note(l.data.Close())
	}
}

// stepOver gives memory back, behind the completions that were polled already, and tells the application of a failure, unless it
// has called Close meanwhile.
func (g *Group) stepOver() {
	g.releaseAll()
	if g.state == failed && g.config.Failed != nil {
		g.config.Failed(g.failure)
	}
}

// Close ends what moves, says goodbye, then frees everything, and ends as Config.Closed: until then memory may be touched, but not what
// a Store was given back, which is soon. It is needed after a failure too. A second Close only returns what the first one met.
//
// Messages under way are given up, here and at those that need this member for them, where the group has failed with
// ErrLeft. Others that are done have about Config.Stall to close too: then the group ends so for those that would hear of
// the next message through this member, and for those behind them; or for all, when the next message is sent.
func (g *Group) Close() error {
	switch g.state {
	case forming, connected, ready:
		g.state = closing
		g.closeData()
		g.port.After(0, makeTag(timerOver, 0, 0))
		g.sayLast(makeWord(wordLeft, g.config.Self))
	case failed:
		g.state = closing
		if g.parting == 0 {
			g.ended()
		}
	}
	return g.closeError
}

// free gives everything back and leaves the loop.
func (g *Group) free() {
	g.releaseAll()
	g.note(g.buffers.close())
	g.port.Remove()
	g.state = closed
	if g.config.Closed != nil {
		g.config.Closed()
	}
}

// Discard frees everything at once, without a word to anybody: for programs whose loop no longer runs, and for groups that
// have not begun. It is not for callbacks. A Store gets its memory back; nothing else is called.
func (g *Group) Discard() {
	if g.state == closed {
		return
	}
	g.state = closed
	for i := range g.links {
		l := &g.links[i]
		if l.data != nil {
			g.note(l.data.Close())
		}
		if l.control != nil {
			g.note(l.control.Close())
		}
	}
	g.releaseAll()
	g.note(g.buffers.close())
	g.port.Remove()
}

// note keeps the first error of closing, for Close.
func (g *Group) note(err error) {
	if g.closeError == nil {
		g.closeError = err
	}
}
