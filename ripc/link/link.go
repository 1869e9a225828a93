package link

import (
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/fifo"
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// Link is one end of a link between two processes.
type Link struct {
	Peer     any // the handler's own
	Identity any // the handler's own, too: whom it leads to; not changed any more once messages come

	hub   *Hub
	pair  *verbs.QueuePair
	state state
	limit int // bytes that a message to the peer may have

	credits
	pending bool                    // pump may have something to do. Invariant: if not, urgent, waiting, revokes and pulls are empty, it does not leave, and is not unregulated
	taking  bool                    // a message is being taken in
	last    uint64                  // the number of the last message
	urgent  fifo.Queue[*Outgoing]   // answers, which need no credit
	waiting fifo.Queue[*Outgoing]   // the rest
	flight  fifo.Queue[*Slot]       // being sent
	celled  fifo.Queue[*Outgoing]   // written to cells of the peer's, and their owners were not told
	unheard fifo.Queue[unconfirmed] // sent, and not confirmed
	calls   table[Outgoing]         // without an answer, by number
	lent    map[uint64]*Outgoing    // that lend something, by number

	ring        *ring   // that the peer may write to; nil: none
	far         farRing // that this end may write to
	isUnsettled bool    // it stands in the hub's list of those with something in celled

	spare    []*verbs.Window
	revokes  fifo.Queue[revocation] // to be begun
	revoking fifo.Queue[revocation] // begun

	pulls    fifo.Queue[*Pull]  // that have something to be asked for
	reading  fifo.Queue[*Pull]  // of each read under way
	releases fifo.Queue[uint64] // numbers of messages whose loans the peer may have back, and was not told

	leaves       bool // this end sends nothing new
	saidFarewell bool // and has told the peer
	peerLeaves   bool // the peer has told this end

	why      error  // it fails because of this
	lastSeen uint64 // arrivals, when it failed, or was looked at since

	aside map[wire.ID]*fifo.Queue[*Outgoing] // what waits for services that have enough for now, if they are there; nil: none have
	stops uint64                             // that were heard

	holdings    map[wire.ID]*holding // of services that have, or had, messages that are excused
	excused     int                  // messages of theirs
	stopped     int                  // of those services
	unregulated bool                 // the peer should have been told of one

	kept     int  // users who want to hear of the peer's end
	wordSet  bool // a timer to tell the peer something runs
	watchSet bool // a timer to watch the peer runs
	retrySet bool // a timer to look again for what the hub had not runs

	// Messages are counted, and do not look at the clock, which would take as long as they do. Who wants to know compares.
	arrivals   uint64     // messages that have come, words included
	givenUp    uint64     // of those, that gave up a call
	posts      uint64     // messages that have gone, words included
	received   uint64     // of arrivals, those that have come by Send
	sends      uint64     // of posts, those that have gone by Send
	wordPosts  uint64     // posts, when the timer for a word was set
	watchPosts uint64     // posts, when the timer to watch the peer was set
	idleUses   uint64     // arrivals and posts, when IdleFor was called last
	idleSince  clock.Time // when it found them first
}

type state uint8

const (
	connecting state = iota
	ready
	failing // nothing can be sent; what has come is taken in
	ended
)

// Terms is what each end of a link says before they are connected.
type Terms struct {
	Limit  int    // bytes of a message that it takes
	Credit uint32 // messages that the other may send ahead
}

// maxLimit bounds what a peer can say of its slots.
const maxLimit = 1 << 20

// NewLink makes an end. Address and Terms are for the peer, whose own Connect needs.
func (h *Hub) NewLink() (*Link, error) {
	if h.isClosed {
		return nil, fmt.Errorf("new link: %w", ErrClosed)
	}
	if !h.promise(h.config.FirstWindow + wordRoom) {
		return nil, fmt.Errorf("new link: all %d receives are promised: %w", h.config.MaxSlots, ErrFull)
	}
	pair, err := h.config.Domain.NewQueuePair(verbs.QueueConfig{Completions: h.config.Loop.Queue(), Shared: h.receives,
		SendDepth: h.config.SendDepth, MaxSpans: h.maxSpans, MaxInline: h.maxInline, Access: verbs.RemoteRead | verbs.RemoteWrite})
	if err != nil {
		h.promised -= h.config.FirstWindow + wordRoom
		return nil, fmt.Errorf("new link: %w", err)
	}
	l := &Link{hub: h, pair: pair, credits: newCredits(h.config.FirstWindow)}
	h.links.put(l.number(), l)
	return l, nil
}

// Address is what the peer needs to connect.
func (l *Link) Address() verbs.Address { return l.pair.Address() }

// Terms is what the peer needs to know.
func (l *Link) Terms() Terms { return Terms{Limit: l.hub.config.SlotSize, Credit: l.told} }

// Connect connects the end with the peer's, which does the same. The handler is told when it is ready.
func (l *Link) Connect(peer verbs.Address, terms Terms) error {
	if terms.Limit < 2*wire.HeadSize || terms.Limit > maxLimit || terms.Credit < 1 || terms.Credit > maxWindow {
		return fmt.Errorf("connect a link: messages of %d bytes, %d ahead: %w", terms.Limit, terms.Credit, ErrPeer)
	}
	l.limit, l.credit = min(terms.Limit, l.hub.config.SlotSize), terms.Credit
	return l.pair.Connect(l.tag(tagConnected), peer)
}

// number is that of its queue pair, by which the hub knows it.
func (l *Link) number() uint64 { return uint64(l.pair.Number()) }

func (l *Link) tag(kind uint64) verbs.Tag { return l.hub.tag(kind, l.number()) }

func (l *Link) stepConnected(c *verbs.Completion) {
	if err := completionError(c); err != nil {
		l.end(err)
		return
	}
	l.giveBack(l.whyTooLarge)
	if l.state == ended { // by somebody who was told
		return
	}
	l.state, l.idleSince = ready, l.hub.config.Loop.Now()
	l.hub.config.Handler.Ready(l)
	l.watch()
	l.pump()
	l.owe() // the peer may have been ready before, and have sent something
}

// whyTooLarge: what was given to the link before it knew how much the peer takes may be more.
func (l *Link) whyTooLarge(o *Outgoing) error {
	if err := o.check(l.limit); err != nil {
		return fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	return nil
}

// Limit is how many bytes a message to the peer may have, head and lists included.
func (l *Link) Limit() int { return l.limit }

// IsReady reports whether the link is connected, and has not ended.
func (l *Link) IsReady() bool { return l.state == ready }

// HasEnded reports whether the link is gone.
func (l *Link) HasEnded() bool { return l.state == ended }

// IsIdle reports whether nothing is under way on the link that this end knows of.
func (l *Link) IsIdle() bool {
	return l.urgent.Empty() && l.countUnsent() == 0 && l.flight.Empty() && l.celled.Empty() && l.unheard.Empty() && l.calls.len() == 0 && len(l.lent) == 0 &&
		l.pulls.Empty() && l.reading.Empty() && l.releases.Empty() && l.held()+l.excused == 0 && l.kept == 0
}

// Close ends the link at once. What is under way on it is told so.
func (l *Link) Close() { l.end(ErrClosed) }

// violated ends the link of a peer that has said what cannot be.
func (l *Link) violated(format string, args ...any) {
	l.hub.counts.Refused++
	l.end(fmt.Errorf("%w: %w", ErrPeer, fmt.Errorf(format, args...)))
}

// fail ends a link that nothing can be sent on any more, when all has been taken in that has come. Messages may be reported behind a
// request that has failed although they came before: of a peer that sends, and goes.
func (l *Link) fail(why error) {
	if l.state != ready {
		return
	}
	l.state, l.why, l.lastSeen = failing, why, l.arrivals
	l.failIn()
}

func (l *Link) failIn() { l.hub.port.After(failDelay, tagFailed<<kindShift|l.number()) }

// failDelay is how long nothing must have come.
const failDelay = time.Millisecond

// stepFailed ends the link, unless something has come meanwhile. The timer may be that of a link that has ended otherwise, whose queue
// pair's number is in use again.
func (l *Link) stepFailed() {
	if l.state != failing {
		return
	}
	if l.lastSeen != l.arrivals {
		l.lastSeen = l.arrivals
		l.failIn()
		return
	}
	l.end(l.why)
}

// end closes the queue pair, so that nothing can land any more, and tells everybody.
func (l *Link) end(why error) {
	if l.state == ended {
		return
	}
	l.state = ended
	h := l.hub
	if err := l.pair.Close(); err != nil {
		why = errors.Join(why, err)
	}
	h.links.remove(l.number())
	l.dropRing()
	h.promised -= l.window + wordRoom + l.calls.len() - l.held() // what is held is given back when it is released
	l.tellSenders(why)
	for _, p := range l.pulls.Drain() {
		p.finish(fmt.Errorf("%w: %w", ErrLost, why))
	}
	for _, p := range l.reading.Drain() {
		p.finish(fmt.Errorf("%w: %w", ErrLost, why))
	}
	h.config.Handler.Ended(l, why)
}

// tellSenders tells the owners of messages how those have ended.
func (l *Link) tellSenders(why error) {
	notSent, lost := fmt.Errorf("%w: %w", ErrNotSent, why), fmt.Errorf("%w: %w", ErrLost, why)
	flying := l.celled.Drain()
	for _, s := range l.flight.Drain() {
		flying = append(flying, s.out)
		l.hub.leaving.give(s)
	}
	for _, o := range flying {
		if o != nil && !o.Confirm {
			if o.Head.Type == wire.Call {
				l.calls.remove(o.Head.Number) // who hears that it was not sent waits for no answer
			}
			o.sent(lost)
		}
	}
	l.tellUnconfirmed(lost)
	unsent := l.urgent.Drain()
	for queue := range l.unsent() {
		unsent = append(unsent, queue.Drain()...)
	}
	for _, o := range unsent {
		o.sent(notSent)
	}
	for o := range l.calls.all() {
		o.answered(nil, lost)
	}
	for _, o := range l.lent {
		o.cameBack(lost)
	}
	l.calls, l.lent = table[Outgoing]{}, nil
	l.revokes, l.revoking, l.spare = fifo.Queue[revocation]{}, fifo.Queue[revocation]{}, nil
}
