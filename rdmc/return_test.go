package rdmc

import (
	"testing"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// miser is a Store that gives too little, or what is no memory at all.
type miser struct {
	*shelf
	acquired, loaded func(verbs.Span) verbs.Span // may be nil
	short            map[verbs.Span]verbs.Span   // what was given, instead of what
}

func (m miser) change(by func(verbs.Span) verbs.Span, at verbs.Span, ok bool) (verbs.Span, bool) {
	if by == nil || !ok {
		return at, ok
	}
	given := by(at)
	m.short[given] = at
	return given, ok
}

func (m miser) Acquire(message uint64, block int) (verbs.Span, bool) {
	at, ok := m.shelf.Acquire(message, block)
	return m.change(m.acquired, at, ok)
}

func (m miser) Load(msg Message, block int) (verbs.Span, bool) {
	at, ok := m.shelf.Load(msg, block)
	return m.change(m.loaded, at, ok)
}

func (m miser) Release(msg Message, block int, at verbs.Span) {
	if whole, ok := m.short[at]; ok {
		at = whole
	}
	m.shelf.Release(msg, block, at)
}

// Memory that a Store gave comes back to it, whatever was wrong with it.
func TestBadMemoryIsGivenBack(t *testing.T) {
	little := func(at verbs.Span) verbs.Span { return at.Sub(0, 1) }
	unknown := func(at verbs.Span) verbs.Span { at.Key += 1 << 20; return at }
	outside := func(at verbs.Span) verbs.Span { return at.Sub(0, at.Length+1) }
	for name, c := range map[string]struct {
		rank int // whose memory it is
		miser
	}{
		"too little acquired": {1, miser{acquired: little}}, "too little loaded": {0, miser{loaded: little}},
		"unknown acquired": {1, miser{acquired: unknown}}, "unknown loaded": {0, miser{loaded: unknown}},
		"outside loaded": {0, miser{loaded: outside}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rig{t: t}
			shelves := r.shelves(2, 6, 64)
			r.change = func(rank int, config *Config) {
				config.Store = shelves[rank]
				if rank == c.rank {
					c.miser.shelf, c.miser.short = shelves[rank], map[verbs.Span]verbs.Span{}
					config.Store = c.miser
				}
			}
			r.open(Config{Name: "g", Members: names(2), BlockSize: 64})
			r.connect()
			r.pass(time.Millisecond)
			shelves[0].contents[0] = make([]byte, 1000)
			_, _ = r.members[0].group.Send(Place{}, 1000)
			r.expectFailure(c.rank, ErrMemory, time.Minute)
			r.expectNothingOut(shelves)
		})
	}
}

func (r *rig) expectNothingOut(shelves []*shelf) {
	r.t.Helper()
	for rank, s := range shelves {
		if len(s.out) > 0 || len(s.wrong) > 0 {
			r.t.Errorf("member %d: not released %v, %v", rank, s.out, s.wrong)
		}
	}
}

// Discard gives a Store its memory back too.
func TestDiscardGivesBack(t *testing.T) {
	r := &rig{t: t}
	shelves := r.shelves(3, 6, 64)
	r.form(Config{Name: "g", Members: names(3), BlockSize: 64})
	shelves[0].contents[0] = make([]byte, 10_000)
	_, err := r.members[0].group.Send(Place{}, 10_000)
	check(t, err)
	r.pass(10 * time.Microsecond)
	if len(shelves[0].out) == 0 || len(shelves[1].out) == 0 {
		t.Fatal("nothing is under way")
	}
	for _, m := range r.members {
		check(t, m.loop.Close())
		m.group.Discard()
	}
	r.expectNothingOut(shelves)
}

// Where headers travel alone they do not wait for an application that is slow to give memory.
func TestHeadersDoNotWaitForMemory(t *testing.T) {
	r := &rig{t: t, memory: 1 << 12}
	var slow []Message
	r.change = func(rank int, c *Config) {
		if rank > 0 {
			c.Incoming = func(m Message) Place { slow = append(slow, m); return Place{} }
		}
	}
	r.form(Config{Name: "g", Members: names(9), Algorithm: schedule.Circulant, BlockSize: 64})
	_, err := r.members[0].group.Send(r.members[0].fill(1000), 1000)
	check(t, err)
	r.pass(time.Millisecond)
	if len(slow) != 8 {
		t.Fatalf("%d members have heard of the message, want 8", len(slow))
	}
	for _, m := range r.members[1:] {
		check(t, m.group.Provide(0, Place{m.memory, 0}))
	}
	r.run("completed", func(m *member) bool { return len(m.completed) == 1 })
	r.closeAll()
}

// A message of very many blocks does not keep the loop busy when it is told of, and does not wait until all its sends are counted. What has gone on by then
// is given back afterwards.
func TestManyBlocksAreCountedInTurns(t *testing.T) {
	const blocks = 1 << 18
	r := &rig{t: t}
	shelves := r.shelves(3, 8, 1)
	r.form(Config{Name: "g", Members: names(3), Algorithm: schedule.Chain, BlockSize: 1})
	shelves[0].contents[0] = make([]byte, blocks)
	_, err := r.members[0].group.Send(Place{}, blocks)
	check(t, err)
	g, most, last, early := r.members[1].group, 0, 0, 0
	for len(g.active) == 0 || !g.active[0].isCounted() {
		_, err := r.fabric.Step()
		check(t, err)
		if len(g.active) > 0 {
			most, last = max(most, g.active[0].counted-last), g.active[0].counted
		}
		if last < blocks {
			early = len(shelves[1].arrived)
		}
	}
	if last < blocks || most == last || early == 0 {
		t.Errorf("%d steps were counted, up to %d in one turn, and %d blocks have arrived before", last, most, early)
	}
	r.run("a few blocks have gone on", func(m *member) bool { return m.rank == 0 || len(shelves[m.rank].arrived) > 10 })
}
