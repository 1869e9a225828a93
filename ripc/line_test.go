package ripc

import (
	"context"
	"errors"
	"testing"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
)

// talker is a user of a line that keeps what it hears.
type talker struct {
	line   *Line
	ready  loop.Event
	heard  []string
	enough int
	full   loop.Event // it has heard enough
	why    error
	ended  loop.Event
}

func newTalker(n *Node, enough int) *talker {
	u := &talker{enough: enough}
	u.line = n.NewLine(u)
	return u
}

func (u *talker) Ready() { u.ready.Set() }

func (u *talker) Arrived(m *wire.Message) {
	u.heard = append(u.heard, string(m.Items.All()[0]))
	if len(u.heard) == u.enough {
		u.full.Set()
	}
}

func (u *talker) Ended(why error) {
	u.why = why
	u.ready.Set()
	u.ended.Set()
}

func (u *talker) say(t testing.TB, text string) {
	check(t, u.line.Do(func() {
		check(t, u.line.Send(&link.Outgoing{Owner: nobody{}, Items: []link.Piece{{Bytes: []byte(text)}}}))
	}))
}

// lined makes a line from one node to a service of another.
func lined(t testing.TB, from *Node, s *Service, enough int) (there, here *talker) {
	there, here = newTalker(from, enough), newTalker(s.node, enough)
	check(t, there.line.Open(s.ID(), []byte("please")))
	m, err := s.Receive(patient(t))
	check(t, err)
	defer m.Release()
	if items := m.Items(); len(items) != 2 || string(items[1]) != "please" {
		t.Errorf("it was asked by %q", items)
	}
	check(t, here.line.Accept(m))
	check(t, there.line.Await(patient(t), &there.ready))
	return there, here
}

func TestWhatIsSaidOnALineIsHeardInOrder(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "lines")
	check(t, err)
	defer func() { check(t, s.Close()) }()
	for _, from := range []*Node{a, b} {
		there, here := lined(t, from, s, 500)
		for i := range 500 {
			there.say(t, string(rune('a'+i)))
			here.say(t, string(rune('a'+i)))
		}
		for _, u := range []*talker{there, here} {
			check(t, u.line.Await(patient(t), &u.full))
			for i, text := range u.heard {
				if text != string(rune('a'+i)) {
					t.Fatalf("%q is number %d", text, i)
				}
			}
			check(t, u.line.Do(u.line.Drop))
		}
	}
}

func TestALineThatIsRefusedOrLostIsToldSo(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "lines")
	check(t, err)
	lost, _ := lined(t, a, s, 0)
	refused := newTalker(a, 0)
	check(t, refused.line.Open(s.ID()))
	m, err := s.Receive(patient(t))
	check(t, err)
	if err := refused.line.Refuse(m, "by the wrong end"); !errors.Is(err, ErrArgument) {
		t.Errorf("a line of another node answers: %v", err)
	}
	check(t, newTalker(b, 0).line.Refuse(m, "not today"))
	m.Release()
	check(t, refused.line.Await(patient(t), &refused.ended))
	if !errors.Is(refused.why, ErrFailed) {
		t.Errorf("refused: %v", refused.why)
	}
	check(t, b.Close())
	check(t, lost.line.Await(patient(t), &lost.ended))
	if !errors.Is(lost.why, ErrLost) {
		t.Errorf("lost: %v", lost.why)
	}
	nowhere := newTalker(a, 0)
	check(t, nowhere.line.Open(Name("nobody")))
	check(t, nowhere.line.Await(patient(t), &nowhere.ended))
	if !errors.Is(nowhere.why, ErrNoService) {
		t.Errorf("to nobody: %v", nowhere.why)
	}
}

// slow finds nothing until it is let.
type slow struct {
	*directory
	gate chan struct{}
}

func (s *slow) Find(ctx context.Context, id ID) ([]find.Record, error) {
	<-s.gate
	return s.directory.Find(ctx, id)
}

// Who gives a line up before the service was found asks nobody.
func TestALineIsGivenUp(t *testing.T) {
	d := newDirectory()
	gate := make(chan struct{})
	a, b := newNode(t, nil, Config{Resolver: &slow{d, gate}}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "lines")
	check(t, err)
	defer func() { check(t, s.Close()) }()
	first := newTalker(a, 0)
	check(t, first.line.Open(s.ID(), []byte("first")))
	check(t, first.line.Do(first.line.GiveUp))
	close(gate)
	check(t, first.line.Await(patient(t), &first.ended))
	lined(t, a, s, 0) // it was asked for this one only
}

// A third process that has learnt the ID of a line cannot speak on it: it loses its own link instead (section III).
func TestNobodyElseSpeaksOnALine(t *testing.T) {
	d := newDirectory()
	a, b, c := newNode(t, d, Config{}), newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "lines")
	check(t, err)
	defer func() { check(t, s.Close()) }()
	there, here := lined(t, a, s, 1)
	thief, other := lined(t, c, s, 1)
	check(t, thief.line.Do(func() { thief.line.remote = here.line.id }))
	thief.say(t, "give me everything")
	check(t, thief.line.Await(patient(t), &thief.ended))
	check(t, other.line.Await(patient(t), &other.ended))
	there.say(t, "hello")
	check(t, here.line.Await(patient(t), &here.full))
	if here.heard[0] != "hello" {
		t.Errorf("%q was heard", here.heard)
	}
}

// routesTo counts the routes that lead to ends of lines. There should be none: nobody sends to them by a name.
func routesTo(t *testing.T, n *Node, users ...*talker) (count int) {
	t.Helper()
	check(t, n.on(func() {
		for _, u := range users {
			if n.office.routes[u.line.remote] != nil {
				count++
			}
		}
	}))
	return count
}

// An end that speaks to one that is gone is told so, and loses nothing but its line. Nor does a lost link leave anything behind of what
// was said and not heard.
func TestALineToNobodyEndsAlone(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := b.Register(patient(t), "lines")
	check(t, err)
	alone, gone := lined(t, a, s, 1)
	there, here := lined(t, a, s, 1)
	check(t, gone.line.Do(gone.line.Drop))
	alone.say(t, "is anybody there?")
	alone.say(t, "hello?")
	check(t, alone.line.Await(patient(t), &alone.ended))
	if !errors.Is(alone.why, ErrRefused) {
		t.Errorf("it has ended: %v", alone.why)
	}
	there.say(t, "hello")
	check(t, here.line.Await(patient(t), &here.full))
	check(t, a.on(func() {
		check(t, there.line.Send(&link.Outgoing{Owner: nobody{}}))
		there.line.link.Close()
	}))
	check(t, there.line.Await(patient(t), &there.ended))
	if !errors.Is(there.why, ErrLost) {
		t.Errorf("the other has ended: %v", there.why)
	}
	if n := routesTo(t, a, alone, there); n > 0 {
		t.Errorf("%d routes lead to nobody", n)
	}
}

// Only an answer that says so accepts a line. What asks for one does not, whoever sends it back.
func FuzzAcceptance(f *testing.F) {
	id := serviceID(ID{}, salt{})
	f.Add([]byte(accepts), id[:], true)
	f.Add(id[:], []byte("weft stream 3"), true)
	f.Add(id[:], []byte{}, false)
	f.Fuzz(func(t *testing.T, first, second []byte, two bool) {
		items := [][]byte{first}
		if two {
			items = append(items, second)
		}
		remote, err := acceptedBy(items)
		if is := two && string(first) == accepts && len(second) == len(id) && ID(second).Kind() == wire.Random; is != (err == nil) {
			t.Fatalf("%q: %v", items, err)
		}
		if err == nil && remote != ID(second) {
			t.Fatalf("%q: %v", items, remote)
		}
	})
}
