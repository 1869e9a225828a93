package link

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// Config describes a hub. Domain, Loop and Handler are required.
type Config struct {
	Domain  *verbs.Domain // of the hub's memory and queue pairs
	Loop    *loop.Loop    // whose completion queue they report to
	Handler Handler

	SlotSize    int // bytes of the largest message, head and lists included; 0: 4 KiB
	MaxSlots    int // messages that may be held, by all links together; 0: 4096, or what the device can
	FirstWindow int // messages that a new peer may send ahead; 0: 2
	Window      int // messages that a peer may come to send ahead, and that a service may hold beyond half of them; 0: 64
	SendDepth   int // requests of one link that may be under way; 0: 64
}

// Handler is told what comes. It is called from inside a Step, and must not wait.
type Handler interface {
	// Ready: the link is connected.
	Ready(l *Link)
	// Arrived: a message to a service. m is only valid during the call, and points into s; s is the handler's until it
	// releases it.
	Arrived(l *Link, m *wire.Message, s *Slot)
	// Undelivered: a Send, which nobody waits for any more, was refused (a *RefusedError), or nobody knows (ErrLost).
	Undelivered(l *Link, to wire.ID, why error)
	// GivenUp: the peer waits no more for the answer to its call of a number, to a service. It may have been answered, or never made.
	GivenUp(l *Link, to wire.ID, number uint64)
	// Leaving: the peer sends nothing new, and takes nothing new: it is about to end.
	Leaving(l *Link)
	// Ended: the link is gone. Everybody else has been told.
	Ended(l *Link, why error)
}

func (c *Config) validate() error {
	if c.Domain == nil || c.Loop == nil || c.Handler == nil {
		return fmt.Errorf("new hub: Config.Domain, Loop or Handler is nil: %w", ErrArgument)
	}
	depth := c.Domain.Device().Limits().MaxDepth
	for _, n := range []struct {
		name                   string
		value                  *int
		preset, atLeast, limit int
	}{
		{"SlotSize", &c.SlotSize, 4096, 2 * wire.HeadSize, 1 << 20},
		{"MaxSlots", &c.MaxSlots, min(4096, depth), blockSlots, depth},
		{"FirstWindow", &c.FirstWindow, 2, 1, 1 << 14},
		{"Window", &c.Window, 64, 1, 1 << 14},
		{"SendDepth", &c.SendDepth, 64, 2 * wire.MaxList, depth},
	} {
		if *n.value == 0 {
			*n.value = n.preset
		}
		if *n.value < n.atLeast || *n.value > n.limit {
			return fmt.Errorf("new hub: Config.%s is %d, allowed are %d to %d: %w", n.name, *n.value, n.atLeast, n.limit, ErrArgument)
		}
	}
	return nil
}

// Hub is what the links of a process share. Its methods, and those of its links, are called on its loop: from a Step, or by
// whoever runs the loop.
type Hub struct {
	config   Config
	port     loop.Port
	receives *verbs.SharedReceives
	arriving slots // receives
	leaving  slots // room for messages to be sent
	promised int   // receives that peers may count on
	excused  int   // of those, for messages beyond the windows of their links
	places   int   // of a window, that may be held before what comes and stays is excused
	share    int   // how many messages of a link a service may have excused before it is stopped
	batch    int   // how many receives are posted at a time
	unposted []*Slot
	links    table[Link]  // by the number of their queue pair
	message  wire.Message // taken apart last
	draft    wire.Message // put together last, of those that are not short
	spans    []verbs.Span // of a message
	maxSpans int          // how many of them
	counts   Counts
	isClosed bool

	// Of a hub that is polled: its loop never sleeps, and the last word of what peers write comes last.
	isPolled  bool
	scans     loop.Port // of its scanner
	rings     rings     // that are lent
	ringEvery uint64    // after how many messages from a peer it is seen whether it can have a ring: it goes to those that talk
	loose     slots     // room for messages that have come in cells
	scratch   *Slot     // where messages to cells are put together; nil: there were none
	maxInline int       // bytes that are sent inline; 0: as it comes
	unsettled []*Link   // those with something in celled
	settled   []*Link   // its memory, for the next turn
}

// Counts is what a hub has done.
type Counts struct {
	Sent, Received uint64 // messages, words included
	Words          uint64 // sent
	Copied         uint64 // bytes of items that were copied: to be sent, because they did not lie in registered memory, or out of a cell
	Pulled, Filled uint64 // bytes that were read from peers, and written to them
	Refused        uint64 // peers whose link was ended because they broke the protocol
}

// NewHub makes a hub on a loop.
func NewHub(config Config) (*Hub, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	limits := config.Domain.Device().Limits()
	h := &Hub{config: config, batch: min(16, config.MaxSlots/8), maxSpans: min(8, limits.MaxSpans)}
	h.places, h.share = min(config.Window, config.MaxSlots/4)/2, min(config.Window, config.MaxSlots/16)
	h.arriving, h.leaving = newSlots(h, config.SlotSize), newSlots(h, config.SlotSize)
	h.loose, h.ringEvery = newSlots(h, cellSize), 64
	if h.isPolled = config.Loop.Polls() && limits.LastWordLast; h.isPolled {
		h.maxInline = min(cellSize, limits.MaxInline)
	}
	var err error
	h.receives, err = config.Domain.NewSharedReceives(verbs.SharedConfig{Completions: config.Loop.Queue(), Depth: config.MaxSlots})
	if err != nil {
		return nil, fmt.Errorf("new hub: %w", err)
	}
	if err := h.join(); err != nil {
		return nil, errors.Join(fmt.Errorf("new hub: %w", err), h.receives.Close())
	}
	return h, nil
}

// join adds the hub to its loop.
func (h *Hub) join() (err error) {
	if h.port, err = h.config.Loop.Add(h); err != nil || !h.isPolled {
		return err
	}
	if h.scans, err = h.config.Loop.Add(scanner{h}); err != nil {
		h.port.Remove()
	}
	return err
}

// Counts is what the hub has done so far.
func (h *Hub) Counts() Counts { return h.counts }

// Links is how many links the hub has.
func (h *Hub) Links() int { return h.links.len() }

// All are those links. They may be closed meanwhile.
func (h *Hub) All() iter.Seq[*Link] { return h.links.all() }

// Held is how many messages the program holds, if no call can be sent because of that; else 0.
func (h *Hub) Held() int {
	if h.promised+h.batch <= h.config.MaxSlots {
		return 0
	}
	return h.arriving.held() + h.loose.held()
}

// SlotSize is how many bytes a message of the hub's may have.
func (h *Hub) SlotSize() int { return h.config.SlotSize }

// The kinds of a tag: what an end is about. The rest of the tag says which one.
const (
	tagReceived  = iota // a slot
	tagSent             // a slot
	tagConnected        // a queue pair
	tagWritten          // a queue pair: a fill, a cell, or a probe. Only failure matters, and that there is room again
	tagPulled           // a queue pair: the oldest of its reads
	tagRevoked          // a queue pair: the oldest of its revocations
	tagWord             // a queue pair: a timer, to tell what the peer has not been told
	tagWatch            // a queue pair: a timer, to see whether the peer is there and what has expired
	tagFailed           // a queue pair: a timer, to end when all has been taken in that has come
	tagRetry            // a queue pair: a timer, to look again for what the hub had not
	tagRing             // a queue pair: the first write to the peer's ring

	kindShift = 40
)

func (h *Hub) tag(kind, which uint64) verbs.Tag { return h.port.Tag(kind<<kindShift | which) }

// Step implements loop.Machine.
func (h *Hub) Step(c *verbs.Completion) {
	which := uint64(c.Tag) & (1<<kindShift - 1)
	switch c.Tag >> kindShift {
	case tagReceived:
		h.stepReceived(h.arriving.at(int(which)), c)
		return
	case tagSent:
		h.stepSent(h.leaving.at(int(which)), c)
		return
	}
	l := h.links.get(which)
	if l == nil {
		return // it has ended meanwhile
	}
	switch c.Tag >> kindShift {
	case tagConnected:
		l.stepConnected(c)
	case tagWritten:
		l.stepWritten(c)
	case tagPulled:
		l.stepPulled(c)
	case tagRevoked:
		l.stepRevoked(c)
	case tagWord:
		l.stepWord()
	case tagWatch:
		l.stepWatch()
	case tagFailed:
		l.stepFailed()
	case tagRetry:
		l.stepRetry()
	case tagRing:
		l.stepRing(c)
	}
}

// promise keeps n more receives for a peer, and makes them if there are not enough. It reports whether they fit.
func (h *Hub) promise(n int) bool {
	needed := h.promised + n + h.batch - 1
	if needed > h.config.MaxSlots {
		return false
	}
	for h.arriving.count() < needed {
		if !h.extend() {
			return false
		}
	}
	h.promised += n
	return true
}

// extend posts another block of receives.
func (h *Hub) extend() bool {
	first := h.arriving.count()
	if h.arriving.extend() != nil {
		return false
	}
	for i := first; i < h.arriving.count(); i++ {
		h.post(h.arriving.at(i))
	}
	return true
}

// free takes back a slot that a message has come in.
func (h *Hub) free(s *Slot) {
	if s.pool == &h.arriving {
		h.post(s)
	} else if !h.isClosed {
		s.pool.give(s)
	}
}

// post makes a slot ready for the next message, as soon as there are enough of them: whoever sends here, a NIC or a peer in shared
// memory, has to look at them once, not once for each. Fewer than that are free and not posted, and not promised either.
func (h *Hub) post(s *Slot) {
	s.link, s.length = nil, 0
	if h.isClosed {
		return
	}
	if h.unposted = append(h.unposted, s); len(h.unposted) >= h.batch {
		h.postAll()
	}
}

// postAll posts what is free. There is room: it has as many receives as slots.
func (h *Hub) postAll() {
	for _, s := range h.unposted {
		_ = h.receives.Receive(h.tag(tagReceived, uint64(s.index)), s.span) // it fails when the device is lost: so do the links
	}
	h.unposted = h.unposted[:0]
}

// watchEvery is how often a link that waits for its peer looks whether it is there.
const watchEvery = 200 * time.Millisecond

// Close ends all links, and frees what the hub has. Slots that the program has not released can still be read, and need not be
// released any more.
func (h *Hub) Close() error {
	if h.isClosed {
		return nil
	}
	for l := range h.All() {
		l.end(ErrClosed)
	}
	h.isClosed = true
	h.port.Remove()
	h.scans.Remove()
	h.unposted, h.unsettled, h.settled, h.scratch = nil, nil, nil, nil
	return errors.Join(h.receives.Close(), h.arriving.close(), h.leaving.close(), h.loose.close(), h.rings.close())
}
