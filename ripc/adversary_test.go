package ripc

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
)

// intruder is a peer that says what it likes: sessions and a queue pair, driven by hand.
type intruder struct {
	t    *testing.T
	end  *connect.End
	keys *keys.Keyring
}

func newIntruder(t *testing.T, ring *keys.Keyring) *intruder {
	t.Helper()
	inner, err := soft.New(soft.Config{})
	check(t, err)
	device, err := verbs.Open(inner)
	check(t, err)
	end, err := connect.OpenEnd(device, connect.EndConfig{Memory: 1 << 16, Queue: verbs.QueueConfig{ReceiveDepth: 256, Access: verbs.RemoteWrite}})
	check(t, err)
	t.Cleanup(func() {
		check(t, end.Close())
		check(t, device.Close())
	})
	return &intruder{t, end, ring}
}

func (i *intruder) options() connect.Options {
	o := connect.Options{Name: "intruder", Plain: true}
	if i.keys != nil {
		o.TLS = i.keys.TLS()
	}
	return o
}

// call dials a node.
func (i *intruder) call(n *Node) *connect.Session {
	i.t.Helper()
	s, err := connect.Dial(patient(i.t), n.Addresses()[0], i.options())
	check(i.t, err)
	i.t.Cleanup(func() { _ = s.Close() })
	return s
}

// hello is what an honest process would say.
func (i *intruder) hello() hello {
	h := hello{salt: newSalt(), provider: "soft"}
	h.terms.Limit, h.terms.Credit = 4096, 16
	return h
}

// greet says hello, and what it thinks of the answer. It returns what the node thinks.
func (i *intruder) greet(s *connect.Session, note []byte) (verdict string, theirs connect.Card, err error) {
	i.t.Helper()
	theirs, err = s.Swap(patient(i.t), connect.Card{Step: "ripc", Addresses: []verbs.Address{i.end.Pairs[0].Address()}, Note: note})
	if err != nil {
		return "", theirs, err
	}
	card, err := s.Swap(patient(i.t), connect.Card{Step: "verdict", Note: []byte("yes")})
	return string(card.Note), theirs, err
}

// link links it with a node, and returns the node's view of it.
func (i *intruder) link(n *Node, h hello) {
	i.t.Helper()
	for range 32 {
		check(i.t, i.end.Pairs[0].Receive(1, i.end.Memory.Span(1<<15, 1<<15)))
	}
	verdict, theirs, err := i.greet(i.call(n), h.append(nil))
	check(i.t, err)
	if verdict != "yes" {
		i.t.Fatalf("the node says %q", verdict)
	}
	check(i.t, i.end.Verbs.Connect(patient(i.t), i.end.Pairs[0], theirs.Addresses[0]))
}

// say sends a message as it is, but for the credit: that is at least as in hello.
func (i *intruder) say(m *wire.Message) {
	i.t.Helper()
	m.Head.Credit = max(16, m.Head.Credit)
	b := m.Append(nil)
	copy(i.end.Memory.Bytes(), b)
	_ = i.end.Verbs.Send(patient(i.t), i.end.Pairs[0], i.end.Memory.Span(0, len(b))) // the node may have closed the link
}

// until waits until something is so on a node's loop.
func until(t *testing.T, n *Node, what string, so func() bool) {
	t.Helper()
	for ctx, done := patient(t), false; !done; {
		check(t, n.on(func() { done = so() }))
		if ctx.Err() != nil {
			t.Fatalf("not so: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func linked(n *Node) func() bool {
	return func() bool {
		for _, p := range n.office.peers {
			if p.link != nil && p.node != n.id {
				return true
			}
		}
		return false
	}
}

func unlinked(n *Node) func() bool { return func() bool { return !linked(n)() } }

// cluster makes keyrings for members, each of which may have what its name says.
func cluster(t *testing.T) func(name string, services ...string) *keys.Keyring {
	t.Helper()
	authority, err := keys.NewAuthority("lab", 0)
	check(t, err)
	return func(name string, services ...string) *keys.Keyring {
		bundle, err := authority.Issue(keys.Request{Name: name, Role: "member", Services: services})
		check(t, err)
		path := filepath.Join(t.TempDir(), name+".pem")
		check(t, bundle.Write(path))
		ring, err := keys.Open(keys.Config{Files: []string{path}})
		check(t, err)
		return ring
	}
}

func TestMembersTalkAsTheirCertificatesSay(t *testing.T) {
	d, issue := newDirectory(), cluster(t)
	a := newNode(t, d, Config{Keys: issue("a", "front"), Listen: []string{"127.0.0.1:0"}})
	b := newNode(t, d, Config{Keys: issue("b", "kv/*"), Listen: []string{"127.0.0.1:0"}})
	echo(t, b, "kv/1")
	ask(t, a, "kv/1", "hello")
	front := echo(t, a, "front")
	m, err := front.Call(patient(t), Name("kv/1"), []byte("in its own name"))
	check(t, err)
	m.Release()
	if _, err := a.Register(patient(t), "kv/2"); !errors.Is(err, ErrForbidden) || !strings.Contains(err.Error(), "lab/a") {
		t.Errorf("a name that the certificate does not list: %v", err)
	}
	if _, err := a.Join(patient(t), "kv/2"); !errors.Is(err, ErrForbidden) {
		t.Errorf("a group that the certificate does not list: %v", err)
	}
}

// A resolver may be lied to: what it says is believed only if the process that is found there may have the service.
func TestAServiceAtAProcessThatMayNotHaveItIsForbidden(t *testing.T) {
	d, issue := newDirectory(), cluster(t)
	a := newNode(t, d, Config{Keys: issue("a"), Listen: []string{"127.0.0.1:0"}})
	b := newNode(t, d, Config{Keys: issue("b", "kv"), Listen: []string{"127.0.0.1:0"}})
	eve := newNode(t, d, Config{Keys: issue("eve", "other"), Listen: []string{"127.0.0.1:0"}})
	echo(t, b, "kv")
	poison := find.Record{Service: Name("kv"), Name: "kv", Node: eve.ID(), At: eve.Addresses()}
	tell := func(h *find.Hold) (before *find.Hold) {
		d.mu.Lock()
		defer d.mu.Unlock()
		before, d.holds[Name("kv")] = d.holds[Name("kv")], h
		return before
	}
	honest := tell(find.NewHold(poison, clock.Never))
	for range 2 {
		if _, err := a.Call(patient(t), Name("kv")); !errors.Is(err, ErrForbidden) || !strings.Contains(err.Error(), "lab/eve") {
			t.Errorf("a call to a poisoned record: %v", err)
		}
		if err := a.Send(patient(t), Name("kv")); !errors.Is(err, ErrForbidden) {
			t.Errorf("a send to a poisoned record: %v", err)
		}
	}
	tell(honest)
	ask(t, a, "kv", "the record was forgotten")
}

// The ID of a process follows from whose it is: the salt of another one leads elsewhere.
func TestNobodyCanBeSomebodyElsesProcess(t *testing.T) {
	d, issue := newDirectory(), cluster(t)
	a := newNode(t, d, Config{Keys: issue("a"), Listen: []string{"127.0.0.1:0"}})
	b := newNode(t, d, Config{Keys: issue("b", "kv"), Listen: []string{"127.0.0.1:0"}})
	echo(t, b, "kv")
	eve := newIntruder(t, issue("eve"))
	h := eve.hello()
	h.salt = b.salt
	eve.link(a, h)
	until(t, a, "eve is linked", linked(a))
	check(t, a.on(func() {
		if a.office.peers[b.id] != nil {
			t.Error("eve has the ID of b")
		}
	}))
	ask(t, a, "kv", "to the real one")
}

func TestAProcessCannotBeThisOne(t *testing.T) {
	n := newNode(t, nil, Config{})
	i := newIntruder(t, nil)
	h := i.hello()
	h.salt = n.salt
	if verdict, _, err := i.greet(i.call(n), h.append(nil)); !strings.Contains(verdict, "itself") {
		t.Errorf("the verdict is %q, %v", verdict, err)
	}
}

// A sender that is not the peer's own ends its link, and the message is not delivered.
func TestASenderCannotBeForged(t *testing.T) {
	d, issue := newDirectory(), cluster(t)
	victim := newNode(t, d, Config{Keys: issue("victim", "victim"), Listen: []string{"127.0.0.1:0"}})
	other := newNode(t, d, Config{Keys: issue("b", "*"), Listen: []string{"127.0.0.1:0"}})
	s, err := victim.Register(patient(t), "victim")
	check(t, err)
	defer func() { check(t, s.Close()) }()
	drawn, err := other.RegisterRandom(patient(t))
	check(t, err)
	defer func() { check(t, drawn.Close()) }()
	present := func(from ID, proof []byte) *wire.Message {
		m := &wire.Message{Head: wire.Head{Type: wire.Present, From: from}}
		m.Items.Add(proof)
		return m
	}
	for name, lies := range map[string][]*wire.Message{
		"another process":                     {{Head: wire.Head{Type: wire.Send, From: other.ID(), To: s.ID(), Number: 1}}},
		"a name that it has not presented":    {{Head: wire.Head{Type: wire.Send, From: Name("eve"), To: s.ID(), Number: 1}}},
		"a name that it may not have":         {present(Name("boss"), []byte("boss"))},
		"a drawn service of another process":  {present(drawn.ID(), drawn.salt[:])},
		"a drawn service without a true salt": {present(drawn.ID(), []byte("?"))},
	} {
		t.Run(name, func(t *testing.T) {
			eve := newIntruder(t, issue("eve", "eve"))
			eve.link(victim, eve.hello())
			until(t, victim, "eve is linked", linked(victim))
			for _, m := range lies {
				eve.say(m)
			}
			until(t, victim, "eve has lost its link", unlinked(victim))
			check(t, victim.on(func() {
				if !s.arrived.Empty() {
					t.Error("a forged message was delivered")
				}
			}))
		})
	}
}

// A service is sent to, and may read what it was lent; what it could write to, or was written, is for calls and lines.
func TestASendToAServiceHasNoReturnsAndFillsNothing(t *testing.T) {
	d, issue := newDirectory(), cluster(t)
	victim := newNode(t, d, Config{Keys: issue("victim", "victim"), Listen: []string{"127.0.0.1:0"}})
	s, err := victim.Register(patient(t), "victim")
	check(t, err)
	defer func() { check(t, s.Close()) }()
	for name, add := range map[string]func(m *wire.Message){
		"returns": func(m *wire.Message) {
			m.Head.Expiry = 1000
			m.Returns.Add(wire.Span{Address: 1, Length: 1, Key: 1})
		},
		"fills": func(m *wire.Message) { m.Fills.Add(wire.Fill{Length: 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			eve := newIntruder(t, issue("eve", "eve"))
			eve.link(victim, eve.hello())
			until(t, victim, "eve is linked", linked(victim))
			present := &wire.Message{Head: wire.Head{Type: wire.Present, From: Name("eve")}}
			present.Items.Add([]byte("eve"))
			eve.say(present)
			m := &wire.Message{Head: wire.Head{Type: wire.Send, From: Name("eve"), To: s.ID(), Number: 1}}
			add(m)
			eve.say(m)
			until(t, victim, "eve has lost its link", unlinked(victim))
			check(t, victim.on(func() {
				if !s.arrived.Empty() {
					t.Error("it was delivered")
				}
			}))
		})
	}
}

func TestAServiceWithoutANameSendsInItsOwn(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	drawn, err := a.RegisterRandom(patient(t))
	check(t, err)
	to, err := b.Register(patient(t), "to")
	check(t, err)
	defer func() { check(t, drawn.Close()); check(t, to.Close()) }()
	check(t, drawn.Send(patient(t), to.ID(), []byte("hello")))
	m, err := to.Receive(patient(t))
	check(t, err)
	if m.From() != drawn.ID() {
		t.Errorf("it comes from %v", m.From())
	}
	m.Release()
	check(t, b.Send(patient(t), drawn.ID(), []byte("back")))
	m, err = drawn.Receive(patient(t))
	check(t, err)
	m.Release()
}

// What a peer says before it is linked is checked like everything else. Whoever lies is not linked, and nothing is left of it.
func TestAHelloThatLies(t *testing.T) {
	n := newNode(t, nil, Config{})
	echo(t, n, "echo")
	i := newIntruder(t, nil)
	change := func(f func(h *hello)) []byte {
		h := i.hello()
		f(&h)
		return h.append(nil)
	}
	for name, note := range map[string][]byte{
		"nothing":               nil,
		"no hello":              []byte("GET / HTTP/1.1"),
		"another version":       append([]byte{9}, change(func(*hello) {})[1:]...),
		"more than a hello":     append(change(func(*hello) {}), 0),
		"messages without end":  change(func(h *hello) { h.terms.Limit = 1 << 31 }),
		"messages of no bytes":  change(func(h *hello) { h.terms.Limit = 0 }),
		"credit without end":    change(func(h *hello) { h.terms.Credit = 1<<32 - 1 }),
		"no credit":             change(func(h *hello) { h.terms.Credit = 0 }),
		"another provider":      change(func(h *hello) { h.provider = "other" }),
		"an unprintable device": change(func(h *hello) { h.provider = "\x00\x1b[2J" }),
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _ = i.greet(i.call(n), note)
			until(t, n, "nothing is left of it", func() bool {
				return len(n.office.places) == 0 && unlinked(n)() && (len(n.office.peers) == 0 || n.office.peers[n.id] != nil && len(n.office.peers) == 1)
			})
			ask(t, n, "echo", "still here")
		})
	}
}

// Who greets, and then says nothing more, leaves nothing behind, and keeps nobody out.
func TestManyWhoDialAndSayNothing(t *testing.T) {
	d := newDirectory()
	n, honest := newNode(t, d, Config{}), newNode(t, d, Config{})
	echo(t, n, "echo")
	i := newIntruder(t, nil)
	var all sync.WaitGroup
	for range 2 * maxMeetings {
		all.Go(func() {
			s, err := connect.Dial(patient(t), n.Addresses()[0], i.options())
			if err != nil {
				return
			}
			defer func() { _ = s.Close() }()
			_, _ = s.Swap(patient(t), connect.Card{Step: "ripc", Addresses: []verbs.Address{i.end.Pairs[0].Address()}, Note: i.helloNote()})
		})
	}
	all.Wait()
	until(t, n, "nothing is left of them", func() bool { return len(n.office.peers) == 0 })
	ask(t, honest, "echo", "let in")
}

func (i *intruder) helloNote() []byte {
	h := i.hello()
	return h.append(nil)
}

func TestWithoutKeysOnlyUnixSocketsAreListenedTo(t *testing.T) {
	inner, err := soft.New(soft.Config{})
	check(t, err)
	device, err := verbs.Open(inner)
	check(t, err)
	defer func() { check(t, device.Close()) }()
	for name, config := range map[string]Config{
		"tcp without keys": {Device: device, Listen: []string{"127.0.0.1:0"}},
		"keys and plain":   {Device: device, Plain: true, Keys: cluster(t)("a")},
	} {
		if _, err := Open(config); !errors.Is(err, ErrArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An answer that comes twice, or fills what was not lent, ends the link of whoever sends it; the first answer counts.
func TestAPeerThatAnswersTwice(t *testing.T) {
	n, i := linkedLiar(t)
	var done sync.WaitGroup
	done.Go(func() {
		m, err := n.Call(patient(t), Name("liar"))
		if err != nil || string(m.Bytes()) != "first" {
			t.Errorf("the answer: %v", err)
			return
		}
		m.Release()
	})
	until(t, n, "the call is sent", func() bool { return n.office.hub.Counts().Sent > 0 })
	for _, text := range []string{"first", "second"} {
		m := &wire.Message{Head: wire.Head{Type: wire.Answer, From: Name("liar"), To: n.ID(), Number: 1, Taken: 1}}
		m.Items.Add([]byte(text))
		i.say(m)
	}
	done.Wait()
	until(t, n, "it has lost its link", unlinked(n))
}

// linkedLiar is an intruder that a node takes for the service "liar".
func linkedLiar(t *testing.T) (*Node, *intruder) {
	t.Helper()
	d := newDirectory()
	n, i := newNode(t, d, Config{}), newIntruder(t, nil)
	h := i.hello()
	i.link(n, h)
	until(t, n, "it is linked", linked(n))
	_, err := d.Claim(patient(t), find.Record{Service: Name("liar"), Name: "liar", Node: processID("", h.salt), At: []string{"unix:@nobody"}})
	check(t, err)
	return n, i
}

// Who never gives back what it was lent has it taken away, and the sender hears so.
func TestAPeerThatNeverReleases(t *testing.T) {
	n, i := linkedLiar(t)
	b, err := n.Alloc(100)
	check(t, err)
	defer b.Release()
	var done sync.WaitGroup
	done.Go(func() {
		err := n.Post(patient(t), Request{To: Name("liar"), Lend: []*Buffer{b}, Expiry: time.Millisecond})
		if !errors.Is(err, ErrExpired) {
			t.Errorf("the sender hears %v", err)
		}
	})
	until(t, n, "it is sent", func() bool { return n.office.hub.Counts().Sent > 0 })
	i.say(&wire.Message{Head: wire.Head{Type: wire.Word, Taken: 1}})
	done.Wait()
}

// Who takes no messages makes its own senders wait, as long as they like, and nobody else.
func TestAPeerThatNeverReads(t *testing.T) {
	n, _ := linkedLiar(t)
	echo(t, n, "echo")
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() { _ = n.Send(ctx, Name("liar")) })
	}
	until(t, n, "its credit is used up", func() bool { return n.office.hub.Counts().Sent >= 16 })
	for range 100 {
		ask(t, n, "echo", "others are served")
	}
	cancel()
	all.Wait()
	check(t, n.on(func() {
		if sent := n.office.hub.Counts().Sent; sent > 16+2*(100+100) {
			t.Errorf("%d messages were sent", sent)
		}
	}))
}

// An answer that nobody takes, and that its service does not wait for any longer, was not sent: the call can still be answered.
func TestAnAnswerThatIsTakenBackFromTheQueue(t *testing.T) {
	d := newDirectory()
	n, i := newNode(t, d, Config{}), newIntruder(t, nil)
	s, err := n.Register(patient(t), "service")
	check(t, err)
	defer func() { check(t, s.Close()) }()
	h := i.hello()
	h.terms.Credit = 1000
	i.link(n, h)
	me := processID("", h.salt)
	_, err = d.Claim(patient(t), find.Record{Service: Name("liar"), Name: "liar", Node: me, At: []string{"unix:@nobody"}})
	check(t, err)
	i.say(&wire.Message{Head: wire.Head{Type: wire.Call, From: me, To: s.ID(), Number: 1, Credit: 1000}})
	call, err := s.Receive(patient(t))
	check(t, err)
	defer call.Release()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	for range 100 { // which take all receives of the intruder's, and all room to send
		all.Go(func() { _ = n.Send(ctx, Name("liar")) })
	}
	until(t, n, "there is no room", func() bool { return n.office.hub.Counts().Sent >= 32+64 })
	hasty, giveUp := context.WithCancel(patient(t))
	time.AfterFunc(time.Millisecond, giveUp)
	if err := call.Answer(hasty); !errors.Is(err, context.Canceled) || call.isAnswered {
		t.Fatalf("an answer that was not sent: %v", err)
	}
	for range 100 {
		check(t, i.end.Pairs[0].Receive(1, i.end.Memory.Span(1<<15, 1<<15)))
	}
	check(t, i.end.Pairs[0].Flush())
	check(t, call.Fail(patient(t), "no answer"))
}
