package rdmc

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// state is where a group stands.
//
//	         all are              Begin         a failure
//	forming ─────────▶ connected ───────▶ ready ───────────▶ failed
//	  │  │                │  │              │                 ▲ │
//	  │  └── a failure ───┼──┴──────────────┼─────────────────┘ │
//	  │                   │                 │                   │
//	  └──────────┬────────┴─────────────────┴───────────────────┘
//	             │ Close
//	             ▼          last words were taken
//	          closing ─────────────────────────────▶ closed
type state uint8

const (
	forming state = iota
	connected
	ready
	failed
	closing
	closed
)

// over reports whether nothing moves any more.
func (s state) over() bool { return s >= failed }

// Group is one member's end of a group.
type Group struct {
	config Config
	part   *schedule.Part
	port   loop.Port
	domain *verbs.Domain
	state  state

	links   []link  // by rank
	ranks   []int32 // of the links: to look for one touches none of them
	herald  *link   // who tells of new messages; nil at the root
	heirs   []*link
	missing int  // queue pairs that are not connected
	begun   bool // it need not wait for Begin

	buffers   buffers
	incoming  []incoming // receives posted; the index is the slot in tags
	outgoing  []outgoing // sends under way
	idleIn    []int      // slots of incoming that are free
	idleOut   []int
	creditors []*link // receives for them were staged
	awaiting  int     // receives posted for messages under way. Invariant: at most Config.Credits

	next        uint64      // number of the next message that is sent, or told of
	queue       []*transfer // at the root: messages that wait. Invariant: at most MaxQueued
	active      []*transfer // messages under way, in order. Invariant: at most maxActive, but for the unfinished
	receiveAt   int         // index in active of the first whose receives are not all posted
	paceUntil   clock.Time  // when the next block may go, while one is on its way
	pacing      bool        // timerPace will come
	counting    bool        // timerCount will
	sendAt      int         // index in active of the first whose sends are not all posted
	firstPosted bool        // the receive for the next message's first block is posted

	delivering *transfer // Completed is being called
	pumping    bool      // a Step runs, or will: what is asked for meanwhile is done at its end
	woken      bool      // something was asked for meanwhile
	watching   bool      // timerStall will come
	parting    int       // last words under way
	freeing    bool      // timerFree will come
	failure    *Failure
	closeError error // the first that closing something met

	request verbs.Request // being posted: here, and not on the heap
	receipt verbs.Receive
	piece   [1]verbs.Span // the second of either

	room struct { // where lists begin: most need no more, and find it beside them
		idleIn, idleOut [4]int
		creditors       [2]*link
		active          [maxActive]*transfer
	}
}

// New makes one member's end of a group: its queue pairs and buffers. It is ready when all Peers are connected. It fails
// with ErrArgument if the configuration makes no sense, and with what package verbs says if the device has not so much.
func New(l *loop.Loop, domain *verbs.Domain, config Config) (*Group, error) {
	if l == nil || domain == nil {
		return nil, fmt.Errorf("new group: the loop or the domain is nil: %w", ErrArgument)
	}
	g := &Group{config: config, domain: domain}
	g.config.setDefaults()
	if err := g.plan(domain.Device().Limits()); err != nil {
		return nil, err
	}
	var err error
	if g.port, err = l.Add(g); err != nil {
		return nil, fmt.Errorf("group %s: %w", config.Name, err)
	}
	if err = g.open(); err != nil {
		g.Discard()
		return nil, fmt.Errorf("group %s: %w", config.Name, err)
	}
	g.wake()
	return g, nil
}

// plan checks the configuration and computes what follows from it.
func (g *Group) plan(limits verbs.Limits) error {
	c := &g.config
	err := c.validate()
	if err == nil {
		err = c.validateFor(limits)
	}
	if err != nil {
		return err
	}
	if g.part, err = schedule.New(c.shape(), c.Self); err != nil {
		return c.wrong("%v", err)
	}
	repairs, err := c.repairs()
	if err != nil {
		return err
	}
	g.resume(repairs)
	for i, rank := range c.peers(g.part, repairs) {
		g.ranks = append(g.ranks, int32(rank))
		g.links = append(g.links, link{index: i, rank: rank})
	}
	g.missing = 2 * len(g.links)
	return nil
}

// open makes queue pairs and buffers.
func (g *Group) open() error {
	for i := range g.links {
		l := &g.links[i]
		if err := g.openLink(l); err != nil {
			return err
		}
	}
	if rank, ok := g.part.Herald(); ok {
		g.herald = g.linkOf(rank)
	}
	for _, rank := range g.part.Heirs() {
		l := g.linkOf(rank)
		l.heir = true
		g.heirs = append(g.heirs, l)
	}
	g.openSlots()
	return g.openBuffers()
}

// peers are all that a member must be connected with, for its schedule and for what is unfinished.
func (c *Config) peers(part *schedule.Part, repairs []repair) []int {
	peers := slices.Clone(part.Peers())
	for _, r := range repairs {
		peers = append(peers, r.peers...)
	}
	slices.Sort(peers)
	return slices.Compact(peers)
}

// CompletionRoom is how many completions such a group reserves in its loop's queue. Of a member that is alone that is 1, so
// that a queue can be made of it.
func CompletionRoom(config Config) (int, error) {
	config.setDefaults()
	part, err := schedule.New(config.shape(), config.Self)
	if err != nil {
		return 0, config.wrong("%v", err)
	}
	repairs, err := config.repairs()
	if err != nil {
		return 0, err
	}
	return max(1, config.linkRoom()*len(config.peers(part, repairs))), nil
}
