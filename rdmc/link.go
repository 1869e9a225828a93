package rdmc

import (
	"errors"
	"slices"
	"time"

	"github.com/weft-fabric/weft/verbs"
)

// link is what a member has with one peer: a queue pair for blocks and one for words. The second always has receives
// posted, so it is the one that notices when the peer is gone.
//
// What each block touches comes first: 56 bytes, because Go puts large pieces of memory 8 bytes behind the beginning of a line of
// cache, and so it is within one line in either case.
type link struct {
	index         int
	data, control *verbs.QueuePair
	credits       int    // blocks that the peer is ready for. Invariant: at most Config.Credits + 1
	posted        uint64 // receives ever posted on data, which QueuePair.Arrival counts
	owedCredits   int    // a word that waits for room
	owesPong      bool   // and others that do
	wantsPing     bool
	connected     uint8 // of the two
	listed        bool  // among the group's creditors
	heir          bool  // the peer hears of messages from here
	heard         bool  // something came since the last look
	left          bool  // it said goodbye
	broken        bool  // the data pair is in Error

	rank    int
	told    uint64 // messages up to, not including, which the peer was told of
	silent  int    // looks in a row at which nothing had come
	leaver  int    // because of whom it left: itself, or the one through whom it heard of messages
	awaited bool   // we wait for the peer: see stall.go
	pinged  bool   // a ping was not answered yet
	lacking bool   // something under way ended with it
	parting bool   // our last word is under way
	onWire  int32  // blocks under way to the peer
	wire    wire   // with all of this the next link lies like this one
}

// Depths of the queue pairs of a link. A word finds a receive always: a peer has at most Credits + 1 credits out that we
// did not look at, a ping, a pong and a last word.
const (
	controlSends = 32 // of words, package verbs has every sixteenth reported; the last place is for the last word
	moreWords    = 4
)

func (c *Config) controlReceives() int { return c.Credits + 1 + moreWords }

func (c *Config) dataConfig(queue *verbs.CompletionQueue) verbs.QueueConfig {
	return verbs.QueueConfig{Completions: queue, SendDepth: c.Sends, ReceiveDepth: c.Credits + 1, MaxSpans: 2,
		ReceiverWait: c.receiverWait(queue)}
}

func (c *Config) controlConfig(queue *verbs.CompletionQueue) verbs.QueueConfig {
	return verbs.QueueConfig{Completions: queue, SendDepth: controlSends, ReceiveDepth: c.controlReceives(), MaxSpans: 1,
		ReceiverWait: c.receiverWait(queue)}
}

// receiverWait is long: what is sent finds a receive, so only a packet that was lost, and is sent again, can look as if there
// were none. A device sends it again for as long as it waits for a peer.
func (c *Config) receiverWait(queue *verbs.CompletionQueue) time.Duration {
	return c.Stall + queue.Device().Limits().PeerTimeout
}

// linkRoom is how many completions a link reserves.
func (c *Config) linkRoom() int {
	return c.Sends + c.Credits + 1 + controlSends + c.controlReceives() + 2*verbs.ControlRoom
}

// openLink makes the queue pairs for a peer, and posts the receives for its words.
func (g *Group) openLink(l *link) (err error) {
	queue := g.port.Loop().Queue()
	if l.data, err = g.domain.NewQueuePair(g.config.dataConfig(queue)); err != nil {
		return err
	}
	if l.control, err = g.domain.NewQueuePair(g.config.controlConfig(queue)); err != nil {
		return errors.Join(err, l.data.Close())
	}
	for range g.config.controlReceives() {
		err = errors.Join(err, l.control.Receive(g.tag(tagHeard, l, 0), verbs.Span{}))
	}
	return errors.Join(err, l.control.Flush())
}

func (g *Group) tag(kind tagKind, l *link, slot int) verbs.Tag {
	return g.port.Tag(makeTag(kind, l.index, slot))
}

// linkOf finds the link with a member, or nil. Peers are few and sorted.
func (g *Group) linkOf(rank int) *link {
	i, found := slices.BinarySearch(g.ranks, int32(rank))
	if !found {
		return nil
	}
	return &g.links[i]
}

// speak says what there is to say, as far as there is room. The word that takes the last room but one is reported, so that
// the rest is said then.
func (g *Group) speak(l *link) {
	for !g.state.over() && l.connected == 2 && !l.left && l.control.Room() > 1 {
		w := l.nextWord()
		if w == 0 {
			return
		}
		flags := verbs.Quiet
		if l.control.Room() == 2 {
			flags = 0
		}
		if err := l.control.SendImm(g.tag(tagSaid, l, 0), verbs.Span{}, uint32(w), flags); err != nil {
			g.fail(g.config.Self, because(ErrDevice, err))
			return
		}
	}
}

// nextWord takes the next word off what the link has to say, or returns 0.
func (l *link) nextWord() word {
	switch {
	case l.owedCredits > 0:
		n := l.owedCredits
		l.owedCredits = 0
		return makeWord(wordCredit, n)
	case l.owesPong:
		l.owesPong = false
		return makeWord(wordPong, 0)
	case l.wantsPing:
		l.wantsPing = false
		return makeWord(wordPing, 0)
	}
	return 0
}

// stepHeard takes a word from the peer.
func (g *Group) stepHeard(l *link, c *verbs.Completion) {
	switch {
	case g.state.over() || l.left:
		return
	case c.Status == verbs.LocalLength:
		g.blame(l, "sent bytes where only words go")
		return
	case c.Status != verbs.OK:
		g.fail(l.rank, ErrDied)
		return
	case c.Op != verbs.OpReceiveImm || c.Bytes != 0:
		g.blame(l, "sent %d bytes where only words go", c.Bytes)
		return
	}
	l.heard = true
	if err := l.control.Receive(g.tag(tagHeard, l, 0), verbs.Span{}); err != nil {
		g.fail(g.config.Self, because(ErrDevice, err))
		return
	}
	g.hear(l, word(c.Imm))
}

// hear does what a word asks for.
func (g *Group) hear(l *link, w word) {
	switch w.kind() {
	case wordCredit:
		g.hearCredit(l, w.value())
	case wordFailed:
		g.hearFailed(l, w)
	case wordLeft:
		g.hearLeft(l, w.value())
	case wordPing:
		l.owesPong = true
		g.speak(l)
	case wordPong:
		if !l.pinged {
			g.blame(l, "answered a ping that nobody sent")
		}
		l.pinged = false
	default:
		g.blame(l, "said %#x, which is no word", uint32(w))
	}
}

func (g *Group) hearCredit(l *link, n int) {
	l.credits += n
	if n == 0 || l.credits > g.config.Credits+1 {
		g.blame(l, "gave %d credits at once: it cannot have posted so many receives", n)
	}
}

func (g *Group) hearFailed(l *link, w word) {
	rank, cause, ok := w.failed(len(g.config.Members))
	if !ok {
		g.blame(l, "named a failure %#x that cannot be", w.value())
		return
	}
	g.fail(rank, because(cause, &told{l.rank, g.config.Members[l.rank]}))
}

// hearLeft notes that a member closed its end. That is a failure only when somebody needs it.
func (g *Group) hearLeft(l *link, leaver int) {
	if leaver >= len(g.config.Members) {
		g.blame(l, "says that member %d has left, and there is none", leaver)
		return
	}
	l.left, l.leaver = true, leaver
	if l.lacking {
		g.fail(leaver, ErrLeft)
	}
}

// stepSaid makes room for more words. If it failed, receives of the control pair say so, behind the last word that came.
func (g *Group) stepSaid(l *link, c *verbs.Completion) {
	if c.Status == verbs.OK && !g.state.over() {
		g.speak(l)
	}
}
