package soft

import (
	"bytes"
	"math/rand/v2"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/verbs/driver"
)

// A packet is taken apart, or refused; never more. What was taken apart makes the same packet.
func FuzzNote(f *testing.F) {
	f.Add((&note{Kind: noteBye}).encode(nil))
	f.Add((&note{Kind: noteRegion, Found: 1}).encode([]extent{{0, 4096, 0}, {1, 2, 3}}))
	f.Add([]byte("weft"))
	f.Fuzz(func(t *testing.T, packet []byte) {
		n, extents, err := decodeNote(packet)
		if err != nil {
			return
		}
		if again := n.encode(extents); !bytes.Equal(again, packet) {
			t.Errorf("%x was taken for %x", packet, again)
		}
		n.why()
		in := noteWithFD{note: n, extents: extents, fd: -1}
		if in.checkRegion() == nil {
			for _, e := range extents {
				if size := uint64(wholePages(int(n.Region.Length))); e.offset+e.length > size {
					t.Errorf("%+v was let into memory of %d bytes", e, size)
				}
			}
		}
	})
}

// A neighbour that has greeted and then sends nonsense loses its own connection at most.
func TestHostileNeighbour(t *testing.T) {
	l := newNeighbours(t)
	d := l.b.device
	before := countDescriptors(t)
	to := noteName{uint64(d.identity), l.qb.number, l.qb.life.Load().epoch}
	raw := func(b []byte) func(*stranger) { return func(s *stranger) { _ = send(s.conn, b, -1, true) } }
	whole := (&note{Kind: noteAsk}).encode(nil)
	for name, attack := range map[string]func(*stranger){
		"empty":     raw(nil),
		"truncated": raw(whole[:len(whole)-1]),
		"oversized": raw(append(whole, make([]byte, 8<<10)...)),
		"unknown":   func(s *stranger) { s.say(&note{Kind: 99}, nil, s.arena.fd) },
		"bye":       func(s *stranger) { s.say(&note{Kind: noteBye}, nil, -1) },
		"second hello": func(s *stranger) {
			s.say(&note{Kind: noteHello, Device: uint64(s.me), There: noteName{Device: uint64(d.identity)}}, nil, s.arena.fd)
		},
		"a call in another's name": func(s *stranger) {
			s.say(&note{Kind: noteCall, Here: noteName{1 << 40, 1, 1}, There: to, Life: s.words()}, nil, s.arena.fd)
		},
		"several descriptors": func(s *stranger) { s.sayWithMany(&note{Kind: noteAsk, There: to}, 3) },
	} {
		s := newStranger(t)
		s.greet(d)
		t.Run(name, func(*testing.T) { attack(s); s.gone() })
		s.end()
	}
	for name, attack := range map[string]func(*stranger){
		"an answer to nothing": func(s *stranger) {
			s.say(&note{Kind: noteAccept, Here: noteName{uint64(s.me), 1, 1}, There: to}, nil, s.arena.fd)
		},
		"refusal of nothing": func(s *stranger) {
			s.say(&note{Kind: noteRefuse, Here: noteName{uint64(s.me), 1, 1}, There: to}, nil, s.arena.fd)
		},
		"end of nothing": func(s *stranger) {
			s.say(&note{Kind: noteRetire, Here: noteName{uint64(s.me), 1, 1}, There: to}, nil, -1)
		},
		"closing nothing": func(s *stranger) { s.say(&note{Kind: noteClosed, Key: 5, Domain: 1}, nil, -1) },
		"a question of others": func(s *stranger) {
			s.say(&note{Kind: noteAsk, There: to, Key: l.memb.region.remoteKey}, nil, -1)
			if in := s.until(noteRegion); in.Found != 0 || in.fd >= 0 {
				t.Error("it was shown memory of a domain that it is not connected to")
			}
		},
		"a call to nobody": func(s *stranger) {
			s.say(&note{Kind: noteCall, Here: noteName{uint64(s.me), 1, 1}, There: noteName{uint64(d.identity), 999, 1}, Life: s.words()}, nil, s.arena.fd)
			s.until(noteRefuse)
		},
	} {
		s := newStranger(t)
		s.greet(d)
		t.Run(name, func(*testing.T) { attack(s); s.alive(d) })
		s.end()
	}
	sameDescriptors(t, before)
	l.works()
}

// sayWithMany sends a note with several descriptors.
func (s *stranger) sayWithMany(m *note, n int) {
	list := make([]int, n)
	for i := range list {
		list[i] = s.arena.fd
	}
	_, _, _ = s.conn.WriteMsgUnix(m.encode(nil), unix.UnixRights(list...), nil)
}

// alive checks that the device still answers.
func (s *stranger) alive(d *Device) {
	s.t.Helper()
	s.say(&note{Kind: noteAsk, There: noteName{Device: uint64(d.identity), Number: 1 << 30}, Key: 4711}, nil, -1)
	for in := s.until(noteRegion); in.Key != 4711; in = s.until(noteRegion) {
		closeDescriptor(in.fd)
	}
}

// end hangs up and frees what the stranger has.
func (s *stranger) end() {
	s.conn.Close()
	s.arena.close(false)
	s.arena = nil
}

// A neighbour that says where its words lie, and lies: the connection is not made, and the caller hears of it.
func TestLifeThatIsNotThere(t *testing.T) {
	h := newHostWith(t, Config{Lanes: SharedMemory})
	before := -1
	for name, edit := range map[string]func(*lifeNote){
		"warm-up":   func(n *lifeNote) { n.End = 0 },
		"end":       func(n *lifeNote) { n.End = arenaSize - 64 },
		"odd end":   func(n *lifeNote) { n.End++ },
		"order":     func(n *lifeNote) { n.Order = 1 << 63 },
		"ring":      func(n *lifeNote) { n.OrderLength = 3 },
		"no ring":   func(n *lifeNote) { n.PostsLength = 0 },
		"long ring": func(n *lifeNote) { n.OrderLength = 1 << 31 },
		"depth":     func(n *lifeNote) { n.Depth = 1 << 31 },
		"spans":     func(n *lifeNote) { n.MaxSpans = 1 << 31 },
		"no spans":  func(n *lifeNote) { n.MaxSpans = 0 },
		"words":     func(n *lifeNote) { n.Words = arenaSize },
		"leaf":      func(n *lifeNote) { n.Leaf = ^uint64(0) - 7 },
		"pool":      func(n *lifeNote) { n.Pool = 0 },
		"slots":     func(n *lifeNote) { n.Slots = arenaSize - 8 },
	} {
		s := newStranger(t)
		s.greet(h.device)
		q := h.pair()
		ok(t, q.Connect(connectTag, s.address(q.number)))
		bad := s.words()
		edit(&bad)
		fd := s.event()
		s.say(&note{Kind: noteCall, Here: noteName{uint64(s.me), q.number, 1},
			There: noteName{uint64(h.device.identity), q.number, q.life.Load().epoch}, Life: bad}, nil, fd)
		closeDescriptor(fd)
		if in := s.until(noteRefuse); in.why() == "" {
			t.Errorf("%s: refused without a reason", name)
		}
		h.expect(connectTag, driver.OpConnect, driver.RetryExceeded)
		ok(t, q.Close())
		s.end()
		if before < 0 {
			before = countDescriptors(t)
		}
	}
	sameDescriptors(t, before)
}

// Memory that a neighbour offers is mapped only if it cannot go away. Nobody touches a page that is not there.
func TestMemoryThatIsNotThere(t *testing.T) {
	h := newHostWith(t, Config{Lanes: SharedMemory})
	m := h.memory(1<<20, 0)
	s := newStranger(t)
	s.greet(h.device)
	const size = 64 << 10
	all := []extent{{0, size, 0}}
	directory, err := os.Open(t.TempDir())
	ok(t, err)
	defer directory.Close()
	attempts := []struct {
		name    string
		fd      int
		extents []extent
		edit    func(*note)
		want    driver.Status
	}{
		{"good", s.file(size, true), all, nil, driver.OK},
		{"not sealed", s.file(size, false), all, nil, driver.RemoteAccess},
		{"too short", s.file(size/2, true), all, nil, driver.RemoteAccess},
		{"beyond the end", s.file(size, true), []extent{{0, size, size}}, nil, driver.RemoteAccess},
		{"far beyond", s.file(size, true), []extent{{0, size, 1<<63 - 4096}}, nil, driver.RemoteAccess},
		{"second piece beyond", s.file(size, true), append(all, extent{4096, 4096, size}), nil, driver.RemoteAccess},
		{"second piece outside", s.file(size, true), append(all, extent{size, 4096, 0}), nil, driver.RemoteAccess},
		{"second piece overflows", s.file(size, true), append(all, extent{^uint64(0) - 4095, 8192, 0}), nil, driver.RemoteAccess},
		{"second piece odd", s.file(size, true), append(all, extent{1, 4096, 0}), nil, driver.RemoteAccess},
		{"no piece", s.file(size, true), nil, nil, driver.RemoteAccess},
		{"short piece", s.file(size, true), []extent{{0, 4096, 0}}, nil, driver.RemoteAccess},
		{"no file", -1, all, nil, driver.RemoteAccess},
		{"an event", s.event(), all, nil, driver.RemoteAccess},
		{"a directory", int(directory.Fd()), all, nil, driver.RemoteAccess},
		{"no words", s.file(size, true), all, func(n *note) { n.Region.Control = arenaSize }, driver.RemoteAccess},
		{"endless", s.file(size, true), all, func(n *note) { n.Region.Length = 1 << 62 }, driver.RemoteAccess},
		{"wraps", s.file(size, true), all, func(n *note) { n.Region.Base = ^uint64(0) - 100 }, driver.RemoteAccess},
		{"truncated later", s.file(size, false), all, func(n *note) { n.Region.Fragile = 1 }, driver.RemoteAccess},
	}
	for i, a := range attempts {
		key := uint64(i + 100)
		q := s.connect(h)
		n := s.region(key, size)
		if a.edit != nil {
			a.edit(n)
		}
		s.say(n, a.extents, a.fd)
		s.alive(h.device)
		if a.name == "truncated later" {
			ok(t, unix.Ftruncate(a.fd, 0))
		}
		post(t, q, driver.Request{Tag: 1, Op: driver.OpWrite, Span: span(m, 0, size),
			Remote: driver.RemoteSpan{Address: 1 << 30, Length: size, Key: key}})
		if a.want != driver.OK && a.name != "truncated later" { // it asks, and hears the same again
			s.until(noteAsk)
			s.say(n, a.extents, a.fd)
		}
		t.Run(a.name, func(*testing.T) { h.expect(1, driver.OpWrite, a.want) })
		ok(t, q.Close())
		if a.fd != int(directory.Fd()) {
			closeDescriptor(a.fd)
		}
	}
}

// Random notes: of a valid kind, with bits turned.
func TestRandomNotes(t *testing.T) {
	l := newNeighbours(t)
	d := l.b.device
	before := countDescriptors(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	s := newStranger(t)
	s.greet(d)
	words := s.words()
	for range 3000 {
		m := &note{Kind: noteKind(1 + r.IntN(9)), Found: uint8(r.IntN(2)), Device: uint64(s.me), Here: noteName{uint64(s.me), uint32(r.IntN(3)), 1},
			There: noteName{uint64(d.identity), uint32(r.IntN(4)), uint32(r.IntN(3))}, Life: words, Key: r.Uint64N(8), Domain: r.Uint64N(3)}
		m.Region = regionNote{Control: 64, Base: 1 << 20, Length: 4096}
		packet := m.encode([]extent{{0, 4096, 0}})
		for range r.IntN(3) {
			packet[8+r.IntN(len(packet)-8)] ^= 1 << r.IntN(8)
		}
		if send(s.conn, packet[:len(packet)-r.IntN(20)/19], []int{-1, s.arena.fd}[r.IntN(2)], false) != nil {
			s.conn.Close() // hung up, or too slow for us
			strangers++
			s.me = strangers
			s.greet(d)
		}
	}
	s.end()
	sameDescriptors(t, before)
	l.works()
}
