package link

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc/wire"
)

// The processes of a model do what chance says, and afterwards everything must add up: whoever sent something was told its end once, what
// was sent to a service came in order, and no receive, no slot and no ring was lost.

// model is some processes, of which some poll.
type model struct {
	*world
	chance  *rand.Rand
	agents  []*agent
	links   []*Link // both ends of each, side by side
	letters []*tale
	calm    bool // nothing new is sent
}

// agent is a process of a model.
type agent struct {
	*process
	held  []*arrival // what it has not released
	loan  Piece      // what it lends
	other Piece      // what it lends to be written to
}

// tale is a letter of a model, and what should become of it.
type tale struct {
	letter
	model                *model
	link                 *Link
	name                 string
	came                 int
	isCancelled, isGhost bool
	isAbandoned          bool
	onSent               func()
}

func (t *tale) Sent(o *Outgoing, err error) {
	t.letter.Sent(o, err)
	if then := t.onSent; then != nil {
		t.onSent = nil
		then()
	}
}

func (t *tale) Answered(o *Outgoing, s *Slot, err error) {
	t.letter.Answered(o, s, err)
	if s != nil {
		s.Release()
	}
}

// The services of each agent: one answers at once, one when it comes to it, one hardly ever, and one refuses every other message.
var (
	quick    = wire.NameID("quick")
	slow     = wire.NameID("slow")
	sleepy   = wire.NameID("sleepy")
	rude     = wire.NameID("rude")
	services = []wire.ID{quick, slow, sleepy, rude}
)

func newModel(t *testing.T, lane soft.Lanes, seed uint64) *model {
	m := &model{world: &world{t: t, lanes: lane}, chance: rand.New(rand.NewPCG(seed, 7))}
	for i := range 3 {
		m.polls = i < 2 || seed%2 == 0
		window := 1 << m.chance.IntN(7)
		config := Config{Window: window, FirstWindow: 1 + m.chance.IntN(window), MaxSlots: 64 << m.chance.IntN(5), SendDepth: 32 << m.chance.IntN(2)}
		if m.chance.IntN(3) == 0 {
			config.SlotSize = 2*wire.HeadSize + m.chance.IntN(100)
		}
		a := &agent{process: m.newProcess(config)}
		a.loan, a.other = a.alloc(64), a.alloc(64)
		a.on = func(got *arrival) { m.arrive(a, got) }
		m.agents = append(m.agents, a)
	}
	for i, a := range m.agents {
		m.connect(a, m.agents[(i+1)%len(m.agents)])
	}
	return m
}

func (m *model) connect(a, b *agent) {
	there, errThere := a.hub.NewLink()
	back, errBack := b.hub.NewLink()
	if errThere != nil || errBack != nil { // all receives are promised
		for _, l := range []*Link{there, back} {
			if l != nil {
				l.Close()
			}
		}
		return
	}
	check(m.t, there.Connect(back.Address(), back.Terms()))
	check(m.t, back.Connect(there.Address(), there.Terms()))
	there.Peer, back.Peer = map[wire.ID]int{}, map[wire.ID]int{}
	m.links = append(m.links, there, back)
}

// otherEnd is that of a link.
func (m *model) otherEnd(l *Link) *Link {
	for i, one := range m.links {
		if one == l {
			return m.links[i^1]
		}
	}
	panic("no such link")
}

// arrive is what an agent does with a message. What comes to a service comes in the order in which it was sent there.
func (m *model) arrive(a *agent, got *arrival) {
	var number, order int
	_, err := fmt.Sscanf(got.items[0], "%d %d", &number, &order)
	check(m.t, err)
	t := m.letters[number]
	t.came++
	last := got.link.Peer.(map[wire.ID]int)
	if t.link != m.otherEnd(got.link) || order <= last[got.head.To] {
		m.t.Fatalf("%s has come after message %d of its link to that service", t.name, last[got.head.To])
	}
	last[got.head.To] = order
	switch {
	case got.head.To == rude && m.chance.IntN(2) == 0:
		m.refuseOne(got)
	case got.head.To == quick:
		m.answer(got)
		got.slot.Release()
	default:
		a.held = append(a.held, got)
	}
	if m.calm {
		return
	}
	switch m.chance.IntN(5000) {
	case 0:
		got.link.Close()
	case 1:
		got.link.Leave()
	}
}

func (m *model) refuseOne(got *arrival) {
	r := m.newTale(got.link, wire.Refusal)
	r.Head = wire.Head{Type: wire.Refusal, Code: wire.NotHere, From: got.head.To, To: got.head.From, Number: got.head.Number}
	r.Credit = got.head.Type == wire.Send
	m.send(r)
	if len(got.loans) > 0 {
		got.link.Release(got.head.Number)
	}
	got.slot.Release()
}

func (m *model) answer(got *arrival) {
	if got.head.Type != wire.Call {
		return
	}
	a := m.newTale(got.link, wire.Answer, "yes"+strings.Repeat("!", m.chance.IntN(2)*20))
	a.Head.From, a.Head.To, a.Head.Number = got.head.To, got.head.From, got.head.Number
	m.send(a)
	if len(got.loans) > 0 {
		got.link.Release(got.head.Number)
	}
}

func (m *model) newTale(l *Link, kind wire.Type, items ...string) *tale {
	t := &tale{letter: *newLetter(kind, items...), model: m, link: l}
	t.Owner = t
	t.name = fmt.Sprintf("%v %d", kind, len(m.letters))
	m.letters = append(m.letters, t)
	return t
}

// send gives a letter to its link. One that is not taken is as if it was never there.
func (m *model) send(t *tale) {
	if err := t.link.Send(&t.Outgoing); err != nil {
		if t.sent != 0 {
			m.t.Fatalf("%s: %v, and was told", t.name, err)
		}
		t.isCancelled = true
	}
}

// write sends something new.
func (m *model) write(l *Link) {
	kind := []wire.Type{wire.Send, wire.Call}[m.chance.IntN(2)]
	t := m.newTale(l, kind)
	t.Head.To = services[m.chance.IntN(len(services))]
	if m.chance.IntN(2) == 0 {
		t.Head.To = quick
	}
	text := fmt.Sprintf("%d %d ", len(m.letters)-1, len(m.letters))
	t.Confirm = kind == wire.Send && m.chance.IntN(3) == 0
	if a := m.agentOf(l); m.chance.IntN(8) == 0 && kind == wire.Call {
		t.Loans, t.Returns = []Piece{a.loan}, []Piece{a.other}
	}
	room := l.limitNow() - wire.Overhead(1, len(t.Loans)+len(t.Returns), 0) - len(text)
	t.Items = []Piece{{Bytes: []byte(text + strings.Repeat("x", max(0, min(m.chance.IntN(5)*80, room))))}}
	if m.chance.IntN(10) == 0 {
		t.onSent = func() { m.reenter(l) }
	}
	m.send(t)
}

// burst sends so many, as long as the link is there.
func (m *model) burst(l *Link, n int) {
	for ; n > 0 && !l.HasEnded(); n-- {
		m.write(l)
	}
}

// reenter is what the owner of a message does from inside Sent.
func (m *model) reenter(l *Link) {
	if m.calm || l.HasEnded() {
		return
	}
	switch m.chance.IntN(100) {
	case 0:
		l.Close()
	case 1:
		l.Leave()
	default:
		m.write(l)
	}
}

func (m *model) agentOf(l *Link) *agent {
	for _, a := range m.agents {
		if a.hub == l.hub {
			return a
		}
	}
	panic("no such hub")
}

// step does something.
func (m *model) step() {
	l := m.links[len(m.links)-1-m.chance.IntN(min(6, len(m.links)))]
	switch n := m.chance.IntN(1000); {
	case n < 10:
		m.burst(l, m.chance.IntN(150))
	case n < 350:
		m.burst(l, 1)
	case n < 600:
		_, err := m.loops[m.chance.IntN(len(m.loops))].Turn()
		check(m.t, err)
		m.checkLinks()
	case n < 800:
		m.release(m.agents[m.chance.IntN(len(m.agents))])
	case n < 850:
		if n := len(m.letters); n > 0 {
			m.interfere(m.letters[max(0, n-1-m.chance.IntN(100))])
		}
	case n < 851:
		l.Close()
	case n < 852:
		l.Leave()
	case n < 862:
		m.reconnect()
	}
}

// interfere has the owner of a message want it back, in some way.
func (m *model) interfere(t *tale) {
	if t.isCancelled || t.isGhost || t.isAbandoned || t.link.HasEnded() || t.Head.Type > wire.Call {
		return
	}
	switch o := &t.Outgoing; m.chance.IntN(4) {
	case 0:
		t.isCancelled = t.link.Cancel(o)
	case 1:
		if t.Head.Type == wire.Call && t.answered == 0 && o.isPosted {
			t.isAbandoned = true
			t.link.GiveUp(o)
		}
	case 2:
		if o.isPosted && t.sent == 0 && !o.lends() && (t.answered == 0 && o.answer == nil) {
			t.isGhost = t.link.Disown(o)
		}
	case 3:
		if t.Head.Type == wire.Call && o.isPosted {
			t.isAbandoned = true
			t.link.Abandon(o)
		}
	}
}

// release gives back something that an agent holds, answered or not yet.
func (m *model) release(a *agent) {
	if len(a.held) == 0 {
		return
	}
	i := m.chance.IntN(len(a.held))
	got := a.held[i]
	if got.head.To == sleepy && !m.calm && m.chance.IntN(20) > 0 {
		return
	}
	a.held = append(a.held[:i], a.held[i+1:]...)
	if m.chance.IntN(2) == 0 {
		m.answer(got)
		got.slot.Release()
	} else {
		got.slot.Release()
		m.answer(got)
	}
}

// reconnect makes a new link for one that has ended.
func (m *model) reconnect() {
	open := 0
	for _, l := range m.links {
		if !l.HasEnded() {
			open++
		}
	}
	if open < 6 {
		i := m.chance.IntN(len(m.agents))
		m.connect(m.agents[i], m.agents[(i+1)%len(m.agents)])
	}
}

// finish lets everything come to its end.
func (m *model) finish() {
	m.calm = true
	m.until("all is over", func() bool {
		for _, a := range m.agents {
			for len(a.held) > 0 {
				m.release(a)
			}
		}
		for _, l := range m.links {
			if !l.HasEnded() && !(l.IsReady() && l.IsIdle()) {
				return false
			}
		}
		return true
	})
	for _, l := range m.links {
		l.Close()
	}
	m.turn()
	for _, t := range m.letters {
		t.check()
	}
	for _, a := range m.agents {
		a.checkHub()
	}
}

// check finds what a letter's owner was told too often, or not at all.
func (t *tale) check() {
	test := t.model.t
	isOut := t.isCancelled || t.isGhost
	wantSent, isCall := 1, t.Head.Type == wire.Call
	if isOut {
		wantSent = 0
	}
	if t.letter.sent != wantSent {
		test.Errorf("%s: told %d times that it was sent, %v", t.name, t.letter.sent, t.sentErr)
	}
	switch {
	case isCall && !isOut && !t.isAbandoned && t.sentErr == nil && t.answered != 1, t.answered > 1, !isCall && t.answered > 0:
		test.Errorf("%s: answered %d times, %v", t.name, t.answered, t.answerErr)
	case errors.Is(t.sentErr, ErrNotSent) && t.came > 0, t.came > 1, t.isCancelled && t.came > 0:
		test.Errorf("%s: has come %d times, %v", t.name, t.came, t.sentErr)
	case t.Confirm && t.letter.sent == 1 && t.sentErr == nil && t.came != 1:
		test.Errorf("%s: was confirmed, and has come %d times", t.name, t.came)
	case t.lends() && !isOut && !errors.Is(t.sentErr, ErrNotSent) && t.returned != 1, t.returned > 1:
		test.Errorf("%s: came back %d times, %v; %v", t.name, t.returned, t.returnedErr, t.sentErr)
	}
}

// checkHub finds what was lost.
func (a *agent) checkHub() {
	h, t := a.hub, a.world.t
	if h.promised != 0 || h.excused != 0 || h.links.len() != 0 {
		t.Errorf("%d receives are promised, %d excused, there are %d links", h.promised, h.excused, h.links.len())
	}
	if len(h.rings.links) != 0 || len(h.rings.free) != h.rings.made {
		t.Errorf("%d rings are lent, of %d there are %d", len(h.rings.links), h.rings.made, len(h.rings.free))
	}
	leaving := h.leaving.count() - len(h.leaving.free)
	if h.scratch != nil {
		leaving--
	}
	if leaving != 0 || h.arriving.held() != 0 || h.loose.held() != 0 || h.loose.count() != len(h.loose.free) {
		t.Errorf("slots are gone: %d to send from, %d and %d to receive in", leaving, h.arriving.held(), h.loose.count()-len(h.loose.free))
	}
	for _, why := range a.ended {
		if errors.Is(why, ErrPeer) {
			t.Errorf("an honest peer was refused: %v", why)
		}
	}
}

func TestWhateverHappensEverythingAddsUp(t *testing.T) {
	for seed := range uint64(8) {
		lane := soft.InProcess
		if seed%4 == 3 {
			lane = soft.TCP
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := newModel(t, lane, seed)
			for range 3000 {
				m.step()
			}
			m.finish()
		})
	}
}
