package rdmc

import (
	"errors"
	"testing"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// Whatever a peer sends that it must not send ends the group, with its name, and nothing else.
func TestHostileData(t *testing.T) {
	good := header{blockSize: 64, first: 0, number: 0, size: 1000}
	change := func(f func(*header)) func() []byte {
		return func() []byte { h := good; f(&h); return h.bytes() }
	}
	for name, c := range map[string]struct {
		bytes func() []byte
		imm   uint32
		plain bool
	}{
		"another block size":   {bytes: change(func(h *header) { h.blockSize = 65 })},
		"another number":       {bytes: change(func(h *header) { h.number = 1 })},
		"a huge message":       {bytes: change(func(h *header) { h.size = 1 << 60 })},
		"too many blocks":      {bytes: change(func(h *header) { h.size = 1 << 40 })},
		"size of less":         {bytes: change(func(h *header) { h.size = 63 })},
		"size 0":               {bytes: change(func(h *header) { h.size = 0 })},
		"a block out of turn":  {bytes: change(func(h *header) { h.first = 3 }), imm: 3},
		"another block":        {bytes: change(func(h *header) {}), imm: 5},
		"no block, as imm":     {bytes: change(func(h *header) { h.first = headerAlone }), imm: headerAlone},
		"short":                {bytes: func() []byte { return good.bytes()[:headerSize+63] }},
		"only a header":        {bytes: func() []byte { return good.bytes()[:headerSize] }},
		"half a header":        {bytes: func() []byte { return good.bytes()[:16] }},
		"nothing":              {bytes: func() []byte { return nil }},
		"too long":             {bytes: func() []byte { return append(good.bytes(), 0) }},
		"another version":      {bytes: func() []byte { b := good.bytes(); b[4]++; return b }},
		"something else":       {bytes: func() []byte { b := good.bytes(); b[0]++; return b }},
		"without an immediate": {bytes: good.bytes, plain: true},
	} {
		t.Run(name, func(t *testing.T) {
			r, hostile := newHostile(t)
			r.pass(time.Millisecond)
			hostile.inject(t, c.bytes(), c.imm, c.plain)
			r.expectBlame()
		})
	}
}

// The same with blocks behind the first.
func TestHostileBlocks(t *testing.T) {
	good := header{blockSize: 64, first: 0, number: 0, size: 1000}
	for name, c := range map[string]struct {
		bytes int
		imm   uint32
		plain bool
	}{
		"out of turn": {bytes: 64, imm: 2}, "the first again": {bytes: 64, imm: 0}, "beyond the end": {bytes: 64, imm: 99},
		"short": {bytes: 63, imm: 1}, "long": {bytes: 65, imm: 1}, "empty": {imm: 1}, "plain": {bytes: 64, imm: 1, plain: true},
	} {
		t.Run(name, func(t *testing.T) {
			r, hostile := newHostile(t)
			r.pass(time.Millisecond)
			hostile.inject(t, good.bytes(), 0, false)
			r.pass(time.Millisecond)
			hostile.inject(t, make([]byte, c.bytes), c.imm, c.plain)
			r.expectBlame()
		})
	}
}

// And with words.
func TestHostileWords(t *testing.T) {
	for name, w := range map[string]word{
		"nothing": 0, "an unknown kind": makeWord(15, 1), "no credits": makeWord(wordCredit, 0),
		"too many credits": makeWord(wordCredit, 5), "a pong": makeWord(wordPong, 0),
		"nobody failed":    makeWord(wordFailed, 1000),
		"an unknown cause": makeWord(wordFailed, 100<<rankBits),
	} {
		t.Run(name, func(t *testing.T) {
			r, hostile := newHostile(t)
			r.pass(time.Millisecond)
			check(t, hostile.links[0].control.SendImm(hostile.port.Tag(makeTag(timerPump, 0, 0)), verbs.Span{}, uint32(w), 0))
			check(t, hostile.links[0].control.Flush())
			r.expectBlame()
		})
	}
	t.Run("bytes", func(t *testing.T) {
		r, hostile := newHostile(t)
		r.pass(time.Millisecond)
		check(t, hostile.links[0].control.SendImm(hostile.port.Tag(makeTag(timerPump, 0, 0)), hostile.buffers.header(0), 1, 0))
		check(t, hostile.links[0].control.Flush())
		r.members[0].crashed = true // its control pair is broken, so nobody can tell it
		r.expectBlame()
	})
}

// A credit that has no receive behind it is found out when a block waits for the receive in vain.
func TestFalseCredit(t *testing.T) {
	r := &rig{t: t, memory: 1 << 12}
	r.change = func(rank int, c *Config) {
		if rank == 1 {
			c.Incoming = func(Message) Place { return Place{} } // so it never posts another receive
		}
	}
	r.form(Config{Name: "g", Members: names(2), Algorithm: schedule.Chain, BlockSize: 64})
	r.members[1].group.links[0].owedCredits++
	_, err := r.members[0].group.Send(r.members[0].fill(1000), 1000)
	check(t, err)
	r.expectFailure(1, ErrProtocol, time.Minute)
}

// What one member says of a failure another one understands.
func TestFailedWord(t *testing.T) {
	for _, cause := range causes {
		for _, rank := range []int{Unknown, 0, 1, schedule.MaxMembers - 1} {
			w := failedWord(&Failure{Rank: rank, Cause: because(cause, errors.New("so"))})
			gotRank, got, ok := w.failed(schedule.MaxMembers)
			if !ok || gotRank != rank || !errors.Is(got, cause) || w.kind() != wordFailed {
				t.Errorf("%v of %d came as %v of %d (%t)", cause, rank, got, gotRank, ok)
			}
		}
	}
}

// newHostile forms a group of two whose root says what the test wants.
func newHostile(t *testing.T) (*rig, *Group) {
	r := &rig{t: t, memory: 1 << 12}
	r.form(Config{Name: "g", Members: names(2), Algorithm: schedule.Chain, BlockSize: 64})
	return r, r.members[0].group
}

func (h *header) bytes() []byte {
	b := make([]byte, headerSize+64)
	h.put(b)
	return b
}

// inject sends bytes as data, whatever the protocol says.
func (g *Group) inject(t *testing.T, b []byte, imm uint32, plain bool) {
	t.Helper()
	memory, err := g.domain.Alloc(max(len(b), 1), 0)
	check(t, err)
	t.Cleanup(func() { check(t, memory.Close()) })
	copy(memory.Bytes(), b)
	l := g.links[0]
	tag, span := g.port.Tag(makeTag(timerPump, 0, 0)), memory.Span(0, len(b))
	if plain {
		check(t, l.data.Send(tag, span, 0))
	} else {
		check(t, l.data.SendImm(tag, span, imm, 0))
	}
	check(t, l.data.Flush())
}

// expectBlame waits until member 1 has blamed the root, and the root has heard of it.
func (r *rig) expectBlame() {
	r.t.Helper()
	r.run("blamed", func(m *member) bool { return len(m.failures) == 1 })
	for _, m := range r.members {
		if m.crashed {
			continue
		}
		if f := m.failures[0]; f.Rank != 0 || !errors.Is(f, ErrProtocol) {
			r.t.Errorf("member %d: %v", m.rank, f)
		}
	}
}

func FuzzHeader(f *testing.F) {
	h := header{blockSize: 64, first: 0, number: 0, size: 1000}
	f.Add(h.bytes())
	c := Config{BlockSize: 64, MaxMessage: 1 << 40}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseHeader(b)
		if err != nil {
			return
		}
		again := make([]byte, headerSize)
		if h.put(again); string(again) != string(b[:headerSize]) {
			t.Errorf("%x became %x", b[:headerSize], again)
		}
		if h.check(&c, h.number, h.first) == nil {
			m := Message{Number: h.number, Size: h.size, BlockSize: c.BlockSize}
			if n := m.Blocks(); n < 1 || n > MaxBlocks || m.BlockLen(n-1) > 64 {
				t.Errorf("a message of %d blocks", n)
			}
		}
	})
}

func FuzzDescription(f *testing.F) {
	c := Config{Name: "g", Members: names(3), Racks: []int{0, 0, 1}, Algorithm: schedule.RackChain}
	c.setDefaults()
	d := c.describe()
	f.Add(d.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		other, err := parseDescription(b)
		if err != nil || other.version != Version {
			return
		}
		again, err := parseDescription(other.encode())
		if err != nil || again.compare(&other) != nil {
			t.Errorf("%+v became %+v, %v", other, again, err)
		}
		_ = d.compare(&other)
	})
}
