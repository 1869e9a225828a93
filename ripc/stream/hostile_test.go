package stream

import (
	"errors"
	"io"
	"math"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/ripc/wire"
)

// stranger is the other end of a connection that says what it likes.
type stranger struct {
	line  *ripc.Line
	ready loop.Event
	over  loop.Event // it was told goodbye
}

func (s *stranger) Ready()      { s.ready.Set() }
func (s *stranger) Ended(error) { s.ready.Set(); s.over.Set() }
func (s *stranger) Arrived(m *wire.Message) {
	if a, err := decode(m); err == nil && a.kind == goodbye {
		s.over.Set()
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
	check(t, s.line.Open(ripc.Name("there"), []byte{version}))
	check(t, s.line.Await(patient(t), &s.ready))
	c, err := l.Accept()
	check(t, err)
	return s, c.(*Conn)
}

func head(k kind, allowed uint64) []byte {
	var b [headSize]byte
	putHead(&b, k, allowed)
	return b[:]
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
		"bytes and a loan":       func(s *stranger) { s.lend(t, 1, []byte("x")) },
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
		f.Add(head(k, window), []byte("bytes"), uint8(2))
		f.Add(head(k, 0), []byte{}, uint8(1))
	}
	f.Fuzz(func(t *testing.T, first, second []byte, items uint8) {
		var m wire.Message
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
		again := [][]byte{head(a.kind, a.allowed)}
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
