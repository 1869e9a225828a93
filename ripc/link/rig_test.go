package link

import (
	"fmt"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
	"github.com/weft-fabric/weft/verbs/driver"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is where the ends of a test live: one provider, and how time passes there.
type world struct {
	t      testing.TB
	fabric *sim.Fabric // nil: the software NIC
	lanes  soft.Lanes  // of that; 0: all
	polls  bool        // loops never sleep, and lend rings at once
	loops  []*loop.Loop
	hubs   []*Hub
}

// everywhere runs a test in the simulator and on the software NIC.
func everywhere(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Run("sim", func(t *testing.T) {
		fabric, err := sim.New(sim.Config{Seed: 1})
		check(t, err)
		test(&world{t: t, fabric: fabric})
	})
	t.Run("soft", func(t *testing.T) { test(&world{t: t}) })
	t.Run("cells", func(t *testing.T) { test(&world{t: t, polls: true}) })
}

func (w *world) newDevice() driver.Device {
	if w.fabric != nil {
		d, err := w.fabric.NewDevice(sim.NodeConfig{Name: fmt.Sprintf("node-%d", len(w.loops))})
		check(w.t, err)
		return d
	}
	d, err := soft.New(soft.Config{Lanes: w.lanes})
	check(w.t, err)
	return d
}

// until lets time pass until something is so.
func (w *world) until(what string, so func() bool) {
	w.t.Helper()
	if w.turn(); w.fabric != nil { // what was staged outside a Step goes to the NIC
		check(w.t, w.fabric.RunUntil(so, w.fabric.Now().Add(time.Minute)))
		w.checkLinks()
	} else {
		for end := time.Now().Add(20 * time.Second); !so() && time.Now().Before(end); {
			w.turn()
		}
	}
	if !so() {
		w.t.Fatalf("it did not come to pass: %s", what)
	}
}

func (w *world) turn() {
	for _, l := range w.loops {
		_, err := l.Turn()
		check(w.t, err)
	}
	w.checkLinks()
}

// checkLinks finds a link on which something waits that pump would pass by.
func (w *world) checkLinks() {
	for _, h := range w.hubs {
		for l := range h.links.all() {
			if !l.pending && (!l.urgent.Empty() || !l.waiting.Empty() || !l.revokes.Empty() || !l.pulls.Empty() || l.leaves || l.unregulated || l.state == ready && l.mustTell()) {
				w.t.Fatalf("nothing is pending: %+v", l)
			}
		}
	}
}

// while lets time pass.
func (w *world) while(d time.Duration) {
	if w.turn(); w.fabric != nil {
		check(w.t, w.fabric.Run(w.fabric.Now().Add(d)))
		return
	}
	for end := time.Now().Add(d); time.Now().Before(end); {
		w.turn()
	}
}

// process is a hub, and what it was told.
type process struct {
	world  *world
	hub    *Hub
	domain *verbs.Domain
	loop   *loop.Loop

	ready       int
	leaving     int
	arrived     []*arrival
	undelivered []error
	givenUp     []uint64 // numbers of calls
	ended       []error
	on          func(a *arrival) // what to do with what arrives; nil: keep it
}

// arrival is a message that has arrived.
type arrival struct {
	link  *Link
	head  wire.Head
	items []string
	loans []wire.Span
	backs []wire.Span
	slot  *Slot
}

func (p *process) Ready(*Link)   { p.ready++ }
func (p *process) Leaving(*Link) { p.leaving++ }
func (p *process) Arrived(l *Link, m *wire.Message, s *Slot) {
	a := &arrival{link: l, head: m.Head, slot: s, loans: append([]wire.Span(nil), m.Loans.All()...),
		backs: append([]wire.Span(nil), m.Returns.All()...)}
	for _, item := range m.Items.All() {
		a.items = append(a.items, string(item))
	}
	p.arrived = append(p.arrived, a)
	if p.on != nil {
		p.on(a)
	}
}
func (p *process) Undelivered(_ *Link, _ wire.ID, why error) {
	p.undelivered = append(p.undelivered, why)
}
func (p *process) GivenUp(_ *Link, _ wire.ID, number uint64) {
	p.givenUp = append(p.givenUp, number)
}
func (p *process) Ended(_ *Link, why error) { p.ended = append(p.ended, why) }

func (w *world) newProcess(config Config) *process {
	w.t.Helper()
	p := &process{world: w}
	device, err := verbs.Open(w.newDevice())
	check(w.t, err)
	p.domain, err = device.NewDomain()
	check(w.t, err)
	queue, err := device.NewCompletionQueue(device.Limits().MaxCompletion / 2)
	check(w.t, err)
	waiting := loop.Waiting{}
	if w.polls {
		waiting = loop.Polling()
	}
	p.loop, err = loop.New(loop.Config{Completions: queue, Waiting: waiting})
	check(w.t, err)
	config.Domain, config.Loop, config.Handler = p.domain, p.loop, p
	p.hub, err = NewHub(config)
	if w.polls {
		p.hub.ringEvery = 1
	}
	check(w.t, err)
	w.loops, w.hubs = append(w.loops, p.loop), append(w.hubs, p.hub)
	w.t.Cleanup(func() {
		for _, c := range []interface{ Close() error }{p.hub, p.loop, queue, p.domain, device} {
			check(w.t, c.Close())
		}
	})
	return p
}

// full has a process have no receives beyond the windows of its links.
func (p *process) full() *process {
	p.hub.excused = p.hub.config.MaxSlots / 2
	return p
}

// join makes a link between two processes.
func (w *world) join(a, b *process) (there, back *Link) {
	w.t.Helper()
	there, err := a.hub.NewLink()
	check(w.t, err)
	back, err = b.hub.NewLink()
	check(w.t, err)
	ready := a.ready + b.ready
	check(w.t, there.Connect(back.Address(), back.Terms()))
	check(w.t, back.Connect(there.Address(), there.Terms()))
	w.until("the link is connected", func() bool { return a.ready+b.ready == ready+2 })
	return there, back
}

// letter is a message that remembers what became of it.
type letter struct {
	Outgoing
	sentErr, answerErr, returnedErr error
	sent, answered, returned        int
	answer                          []string
	head                            wire.Head
	slot                            *Slot
}

func (l *letter) Sent(_ *Outgoing, err error) { l.sent, l.sentErr = l.sent+1, err }
func (l *letter) Answered(_ *Outgoing, s *Slot, err error) {
	l.answered, l.answerErr, l.slot = l.answered+1, err, s
	if s == nil {
		return
	}
	var m wire.Message
	if err := m.Take(s.Bytes()); err != nil {
		panic(err)
	}
	l.head = m.Head
	for _, item := range m.Items.All() {
		l.answer = append(l.answer, string(item))
	}
}
func (l *letter) Returned(_ *Outgoing, err error) { l.returned, l.returnedErr = l.returned+1, err }

var (
	alice = wire.NameID("alice")
	bob   = wire.NameID("bob")
)

// newLetter is a message from alice to bob.
func newLetter(kind wire.Type, items ...string) *letter {
	l := &letter{}
	l.Head = wire.Head{Type: kind, From: alice, To: bob}
	for _, item := range items {
		l.Items = append(l.Items, Piece{Bytes: []byte(item)})
	}
	l.Owner = l
	return l
}

// answerTo is the answer to a call.
func answerTo(a *arrival, items ...string) *letter {
	l := newLetter(wire.Answer, items...)
	l.Head.From, l.Head.To, l.Head.Number = a.head.To, a.head.From, a.head.Number
	return l
}
