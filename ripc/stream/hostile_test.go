package stream

import (
	"errors"
	"io"
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/pause"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
)

// stranger is the other end of a connection that says what it likes.
type stranger struct {
	line    *ripc.Line
	ready   loop.Event
	over    loop.Event // it was told goodbye
	offered loop.Event // it may write
	ground  [berths]wire.Span
}

func (s *stranger) Ready()      { s.ready.Set() }
func (s *stranger) Ended(error) { s.ready.Set(); s.over.Set() }
func (s *stranger) Arrived(m *wire.Message) {
	switch a, err := decode(m); {
	case err != nil:
	case a.kind == goodbye:
		s.over.Set()
	case a.kind == ground:
		s.ground = [berths]wire.Span(a.ground)
		s.offered.Set()
	}
}

// words are the owner of what a stranger says.
type words struct{}

func (words) Sent(*link.Outgoing, error)                 {}
func (words) Answered(*link.Outgoing, *link.Slot, error) {}
func (words) Returned(*link.Outgoing, error)             {}

// lend lends a buffer of some bytes, with items behind the head.
func (s *stranger) lend(t testing.TB, size int, items ...[]byte) {
	b, err := s.line.Node().Alloc(size)
	check(t, err)
	t.Cleanup(b.Release)
	s.send(t, &link.Outgoing{Owner: words{}, Loans: []link.Piece{s.line.Lend(b, size)}}, append([][]byte{head(bulk, window)}, items...))
}

// say sends items as they are.
func (s *stranger) say(t testing.TB, items ...[]byte) {
	s.send(t, &link.Outgoing{Owner: words{}}, items)
}

func (s *stranger) send(t testing.TB, o *link.Outgoing, items [][]byte) {
	for _, item := range items {
		o.Items = append(o.Items, link.Piece{Bytes: item})
	}
	check(t, s.line.Do(func() { check(t, s.line.Send(o)) }))
}

func visit(t testing.TB, l *Listener, n *ripc.Node) (*stranger, *Conn) {
	s := &stranger{}
	s.line = n.NewLine(s)
	check(t, s.line.Open(ripc.Name("there"), []byte(hello)))
	check(t, s.line.Await(patient(t), &s.ready))
	c, err := l.Accept()
	check(t, err)
	return s, c.(*Conn)
}

func head(k kind, allowed uint64) []byte { return headRead(k, allowed, 0) }

func headRead(k kind, allowed, read uint64) []byte {
	var b [headSize]byte
	putHead(&b, k, allowed, read)
	return b[:]
}

// offer lets the connection write to berths of some bytes, so many.
func (s *stranger) offer(t testing.TB, n, size int) {
	o := &link.Outgoing{Owner: words{}}
	for range n {
		b, err := s.line.Node().Alloc(size)
		check(t, err)
		t.Cleanup(b.Release)
		o.Returns = append(o.Returns, s.line.Lend(b, size))
	}
	s.send(t, o, [][]byte{head(ground, window)})
}

// land says that bytes have landed, which it need not have written.
func (s *stranger) land(t testing.TB, berth, size int) {
	b, err := s.line.Node().Alloc(max(size, 1))
	check(t, err)
	t.Cleanup(b.Release)
	var f link.Fill
	check(t, s.line.Await(patient(t), &s.offered))
	check(t, s.line.Do(func() {
		f = link.Fill{Return: berth, Into: s.ground[berth%berths], Piece: s.line.Lend(b, size)}
		f.Into.Length = max(f.Into.Length, uint64(size))
	}))
	s.send(t, &link.Outgoing{Owner: words{}, Fills: []link.Fill{f}}, [][]byte{head(landed, window)})
}

// claim says that so many bytes have landed, and writes nothing.
func (s *stranger) claim(t testing.TB, berth int) {
	s.send(t, &link.Outgoing{Owner: words{}, Fills: []link.Fill{{Return: berth}}}, [][]byte{head(landed, window)})
}

// One who breaks the protocol breaks his connection, and no other.
func TestWhoSaysWhatCannotBeLosesTheConnection(t *testing.T) {
	dir := t.TempDir()
	l, client := listen(t, newNode(t, dir)), newNode(t, dir)
	there, here := connect(t, l, client)
	for name, say := range map[string]func(s *stranger){
		"nothing":            func(s *stranger) { s.say(t) },
		"half a head":        func(s *stranger) { s.say(t, make([]byte, headSize-1)) },
		"an unknown kind":    func(s *stranger) { s.say(t, head(lastKind+1, window)) },
		"data without bytes": func(s *stranger) { s.say(t, head(data, window)) },
		"a grant with bytes": func(s *stranger) { s.say(t, head(grant, window), []byte("x")) },
		"too many items":     func(s *stranger) { s.say(t, head(data, window), []byte("x"), []byte("y")) },
		"less allowed":       func(s *stranger) { s.say(t, head(grant, window-1)) },
		"too much allowed":   func(s *stranger) { s.say(t, head(grant, math.MaxUint64)) },
		"data after the end": func(s *stranger) {
			s.say(t, head(finish, window))
			s.say(t, head(data, window), []byte("x"))
		},
		"more lent than allowed": func(s *stranger) { s.lend(t, window+1) },
		"a loan that is small":   func(s *stranger) { s.lend(t, bulkLeast-1) },
		"bytes and a loan":       func(s *stranger) { s.lend(t, 1, []byte("x")) },
		"more read than written": func(s *stranger) { s.say(t, headRead(grant, window, 1)) },
		"too few berths":         func(s *stranger) { s.offer(t, berths-1, bulkMost) },
		"berths that are small":  func(s *stranger) { s.offer(t, berths, bulkMost-1) },
		"landed nowhere":         func(s *stranger) { s.claim(t, 0) },
		"landed in no berth": func(s *stranger) {
			s.lend(t, bulkMost)
			s.land(t, berths, 1)
		},
		"landed without bytes": func(s *stranger) {
			s.lend(t, bulkMost)
			s.land(t, 0, 0)
		},
		"landed where nobody has read": func(s *stranger) {
			s.lend(t, bulkMost)
			s.land(t, 1, 1)
			s.land(t, 1, 1)
		},
		"more than allowed": func(s *stranger) {
			for range window/1000 + 1 {
				s.say(t, head(data, window), make([]byte, 1000))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := visit(t, l, client)
			say(s)
			check(t, s.line.Await(patient(t), &s.over))
			if _, err := io.Copy(io.Discard, c); name != "data after the end" && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("read: %v", err)
			}
			if _, err := c.Write([]byte("x")); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("write: %v", err)
			}
			check(t, c.Close())
			check(t, s.line.Do(s.line.Drop))
		})
	}
	_, err := there.Write([]byte("x"))
	check(t, err)
	_, err = io.ReadFull(here, make([]byte, 1))
	check(t, err)
}

func FuzzDecode(f *testing.F) {
	for k := data; k <= lastKind; k++ {
		f.Add(head(k, window), []byte("bytes"), uint8(2), uint8(0), uint8(0), uint8(0))
		f.Add(head(k, 0), []byte{}, uint8(1), uint8(1), uint8(0), uint8(0))
		f.Add(head(k, 0), []byte{}, uint8(1), uint8(0), uint8(berths), uint8(0))
		f.Add(headRead(k, 0, 1), []byte{}, uint8(1), uint8(0), uint8(0), uint8(1))
	}
	f.Fuzz(func(t *testing.T, first, second []byte, items, loans, returns, fills uint8) {
		var m wire.Message
		for range loans {
			m.Loans.Add(wire.Span{Length: 1})
		}
		for range returns {
			m.Returns.Add(wire.Span{Length: 2})
		}
		for range fills {
			m.Fills.Add(wire.Fill{Length: 3})
		}
		for i, item := range [][]byte{first, second, second} {
			if i < int(items) {
				m.Items.Add(item)
			}
		}
		a, err := decode(&m)
		if (err == nil) == (a.kind == 0) {
			t.Fatalf("%+v, %v", a, err)
		}
		if err != nil {
			return
		}
		if is := (shape{len(m.Items.All()), int(a.loan.Length), len(a.ground), int(a.fill.Length) / 3}); is != a.kind.shape() {
			t.Fatalf("%+v is no %d", a, a.kind)
		}
		again := [][]byte{headRead(a.kind, a.allowed, a.read)}
		if a.kind == data {
			again = append(again, a.bytes)
		}
		for i, item := range again {
			if string(item) != string(m.Items.All()[i]) || len(again) != m.Items.Len() {
				t.Fatalf("%q is not what %+v is made of", m.Items.All(), a)
			}
		}
	})
}

// Who reads a connection after it has broken hears that, and not that all has come: not even when the peer has parted since.
func TestABrokenConnectionHasNoEnd(t *testing.T) {
	there, here := pair(t)
	check(t, here.line.Do(func() {
		here.lose(errMalformed)
		here.tell()
	}))
	check(t, there.Close())
	for ctx, isParted := patient(t), false; !isParted; {
		check(t, here.line.Do(func() { isParted = here.isParted }))
		check(t, pause.For(ctx, time.Millisecond))
	}
	if _, err := here.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("it reads %v", err)
	}
}
