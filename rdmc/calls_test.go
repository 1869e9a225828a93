package rdmc

import (
	"fmt"
	"testing"
	"time"

	"github.com/weft-fabric/weft/verbs"
)

// What an application still does when the group is closed changes nothing: the loop lives on, for its other groups.
func TestCallsAfterClosed(t *testing.T) {
	r := &rig{t: t, memory: 1 << 12}
	r.change = func(rank int, c *Config) {
		if rank == 1 {
			c.Completed = func(d Delivery) { r.members[1].group.Keep(d.Number) }
		}
	}
	r.form(Config{Name: "g", Members: names(2), BlockSize: 64})
	_, err := r.members[0].group.Send(r.members[0].fill(64), 64)
	check(t, err)
	r.run("completed", func(m *member) bool { return len(m.completed) == 1 })
	r.closeAll()
	for _, m := range r.members {
		m.callAll()
		m.group.Release(0)
		m.group.Discard()
	}
	r.pass(10 * time.Second)
}

// callAll calls everything that may be called at any time.
func (m *member) callAll() {
	g := m.group
	if g == nil {
		return // New has not returned yet
	}
	g.Continue()
	g.Release(0)
	g.Keep(0)
	g.Progress()
	g.Holdings()
	_ = g.Accept(0, 0)
	_ = g.Provide(0, Place{m.memory, 0})
	_ = g.Connect(1-m.rank, nil)
	g.Addresses(1 - m.rank)
	_, _ = g.Send(Place{m.memory, 0}, 64)
}

// nosy is a Store that calls the group from each of its methods.
type nosy struct {
	*shelf
	call func(where string)
}

func (n nosy) Acquire(message uint64, block int) (verbs.Span, bool) {
	n.call("Acquire")
	return n.shelf.Acquire(message, block)
}

func (n nosy) Arrived(m Message, block int, at verbs.Span) {
	n.shelf.Arrived(m, block, at)
	n.call("Arrived")
}

func (n nosy) Load(m Message, block int) (verbs.Span, bool) {
	n.call("Load")
	return n.shelf.Load(m, block)
}

func (n nosy) Release(m Message, block int, at verbs.Span) {
	n.shelf.Release(m, block, at)
	n.call("Release")
}

// Every callback may call every method: Close too, after which nothing but Closed comes.
func TestCallsFromCallbacks(t *testing.T) {
	for _, store := range []bool{false, true} {
		for _, where := range []string{"Ready", "Incoming", "Completed", "Acquire", "Arrived", "Load", "Release", "nowhere"} {
			t.Run(fmt.Sprintf("%t/%s", store, where), func(t *testing.T) { callFrom(t, store, where) })
		}
	}
}

// callFrom has the members call everything from all callbacks, and Close from one.
func callFrom(t *testing.T, store bool, where string) {
	r := &rig{t: t, memory: 1 << 16}
	var shelves []*shelf
	if store {
		shelves = r.shelves(3, 8, 64)
	}
	r.change = func(rank int, c *Config) {
		call := func(from string) { r.meddle(rank, from, where) }
		if store {
			c.Store = nosy{shelves[rank], call}
		}
		c.Incoming = func(msg Message) Place {
			m := r.members[rank]
			m.call("Incoming")
			_ = m.group.Provide(msg.Number, Place{m.memory, 0})
			call("Incoming")
			return Place{m.memory, 0}
		}
		c.Completed = func(Delivery) { call("Completed") }
		c.Ready = func() { call("Ready") }
	}
	r.open(Config{Name: "g", Members: names(3), BlockSize: 64, Stall: time.Second})
	for i := range uint64(10 * len(shelves)) {
		shelves[0].contents[i] = make([]byte, 640)
	}
	r.connect()
	r.pass(time.Minute)
	for rank, m := range r.members {
		check(t, m.group.Close())
		if where == "nowhere" && len(m.completed) < 4 {
			t.Errorf("member %d: %d messages are complete", rank, len(m.completed))
		}
	}
	r.run("closed", func(m *member) bool { return m.closed == 1 })
	for rank, m := range r.members {
		if len(m.late) > 0 || store && (len(shelves[rank].out) > 0 || len(shelves[rank].wrong) > 0) {
			t.Errorf("member %d: late calls %v", rank, m.late)
		}
	}
}

// meddle calls everything, and Close if this is the place for it.
func (r *rig) meddle(rank int, from, closes string) {
	m := r.members[rank]
	if m.group == nil {
		return
	}
	if m.group.next < 4 {
		m.callAll()
		_, _ = m.group.Send(Place{m.memory, 0}, 640)
	}
	if from == closes && rank == len(from)%3 {
		_ = m.group.Close()
	}
}

// shy is a Store that gives memory only when it is asked a second time, and says so at once.
type shy struct {
	*shelf
	group func() *Group
	asked map[string]bool
}

func (s shy) Load(m Message, block int) (verbs.Span, bool) {
	if what := fmt.Sprint(m.Number, " ", block); !s.asked[what] {
		s.asked[what] = true
		s.group().Continue()
		return verbs.Span{}, false
	}
	return s.shelf.Load(m, block)
}

// Continue is heard even from within the very question that it answers.
func TestContinueAtOnce(t *testing.T) {
	r := &rig{t: t}
	shelves := r.shelves(2, 6, 64)
	r.change = func(rank int, c *Config) {
		c.Store = shy{shelves[rank], func() *Group { return r.members[rank].group }, map[string]bool{}}
	}
	r.form(Config{Name: "g", Members: names(2), BlockSize: 64})
	shelves[0].contents[0] = make([]byte, 1000)
	_, err := r.members[0].group.Send(Place{}, 1000)
	check(t, err)
	r.pass(time.Millisecond) // before anybody looks whether the others are alive
	for _, m := range r.members {
		if len(m.completed) != 1 {
			t.Errorf("member %d waits", m.rank)
		}
	}
	r.closeAll()
}

// The last callbacks may call everything too: to close a group in its Failed is what most programs do.
func TestCallsFromTheLastCallbacks(t *testing.T) {
	r := &rig{t: t, memory: 1 << 18}
	r.form(Config{Name: "g", Members: names(3), BlockSize: 64})
	for _, m := range r.members {
		failed, closed := m.group.config.Failed, m.group.config.Closed
		m.group.config.Failed = func(f *Failure) { failed(f); m.callAll(); check(t, m.group.Close()) }
		m.group.config.Closed = func() { closed(); m.callAll(); check(t, m.group.Close()) }
	}
	_, err := r.members[0].group.Send(r.members[0].fill(1<<18), 1<<18)
	check(t, err)
	r.pass(10 * time.Microsecond)
	r.crash(1)
	r.run("closed", func(m *member) bool { return m.closed == 1 })
	r.pass(10 * time.Second)
	for _, m := range r.members {
		if !m.crashed && (len(m.failures) != 1 || m.closed != 1 || len(m.late) > 0) {
			t.Errorf("member %d: %v, closed %d times, late calls %v", m.rank, m.failures, m.closed, m.late)
		}
	}
}
