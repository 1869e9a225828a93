package groups

import (
	"strings"
	"testing"

	"github.com/weft-fabric/weft/rdmc"
)

// Whatever a group may do wrong, its members notice.
func TestMembersNotice(t *testing.T) {
	message := func(number uint64) rdmc.Delivery {
		return rdmc.Delivery{Message: rdmc.Message{Number: number, Size: 10, BlockSize: 4}}
	}
	deliver := func(m *Member, number uint64) {
		d := message(number)
		h, err := m.replica.make(d.Message)
		m.expect(err)
		d.Memory = h.memory
		m.completed(d)
	}
	for _, c := range []struct {
		want string
		do   func(m *Member)
	}{
		{"", func(m *Member) { deliver(m, 0); deliver(m, 1) }},
		{"", func(m *Member) { m.failed(&rdmc.Failure{}); m.checkFrozen() }},
		{"message 1 is complete, and 0 was to be next", func(m *Member) { deliver(m, 1) }},
		{"message 0 is complete, and 1 was to be next", func(m *Member) { deliver(m, 0); deliver(m, 0) }},
		{"which nobody sent", func(m *Member) { m.checkMessage(message(2).Message) }},
		{"which nobody sent", func(m *Member) { m.checkMessage(rdmc.Message{Size: 9, BlockSize: 4}) }},
		{"is not what was sent", func(m *Member) {
			h, _ := m.replica.make(message(0).Message)
			h.memory.Bytes()[9]++
			deliver := message(0)
			deliver.Memory = h.memory
			m.completed(deliver)
		}},
		{"Incoming was called after Failed", func(m *Member) { m.failed(&rdmc.Failure{}); m.incoming(message(0).Message) }},
		{"Failed was called after Failed", func(m *Member) { m.failed(&rdmc.Failure{}); m.failed(&rdmc.Failure{}) }},
		{"Failed was called after Close", func(m *Member) { m.leaving = true; m.failed(&rdmc.Failure{}) }},
		{"Ready was called twice", func(m *Member) { m.ready(); m.ready() }},
		{"Closed was called", func(m *Member) { m.closed() }},
		{"Ready was called on a crashed node", func(m *Member) { m.Group.Cluster.Crash(0); m.ready() }},
		{"memory of message 0 changed after Failed", func(m *Member) {
			h, _ := m.replica.make(message(0).Message)
			m.failed(&rdmc.Failure{})
			h.memory.Bytes()[3]++
			m.checkFrozen()
		}},
	} {
		if got := judged(t, Spec{}, c.do); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("noticed %q, and should have noticed %q", got, c.want)
		}
	}
}

// And so do stores.
func TestStoresNotice(t *testing.T) {
	message := rdmc.Message{Size: 10, BlockSize: 4}
	arrive := func(m *Member, block int) {
		at, _ := m.store.Acquire(0, block)
		m.expect(m.replica.message(message).block(block).put(m.store.memory, m.store.slot(at)*4))
		m.store.Arrived(message, block, at)
		m.store.Release(message, block, at)
	}
	for _, c := range []struct {
		want string
		do   func(m *Member)
	}{
		{"", func(m *Member) { arrive(m, 0); arrive(m, 2); m.store.Load(message, 2) }},
		{"block 1 of message 0 came although it was here", func(m *Member) { arrive(m, 1); arrive(m, 1) }},
		{"block 1 of message 0 was asked for, and is not here", func(m *Member) { m.store.Load(message, 1) }},
		{"block 2 of message 0 has wrong contents", func(m *Member) {
			at, _ := m.store.Acquire(0, 2)
			m.store.Arrived(message, 2, at)
		}},
		{"block 0 of message 0 was released twice", func(m *Member) {
			at, _ := m.store.Acquire(0, -1)
			m.store.Release(message, 0, at)
			m.store.Release(message, 0, at)
		}},
		{"memory of the Store changed after Failed", func(m *Member) {
			m.failed(&rdmc.Failure{})
			m.store.memory.Bytes()[5]++
			m.checkFrozen()
		}},
		{"message 0 of 10 bytes is not what was sent", func(m *Member) { arrive(m, 0); m.completed(rdmc.Delivery{Message: message}) }},
	} {
		spec := Spec{Blockwise: true}
		got := judged(t, spec, func(m *Member) {
			var err error
			m.store, err = newStore(m, 3, 4, false)
			m.expect(err)
			c.do(m)
		})
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("noticed %q, and should have noticed %q", got, c.want)
		}
	}
}

// judged has a member told something by hand, in a group of one that was to get two messages of ten bytes.
func judged(t *testing.T, spec Spec, do func(m *Member)) string {
	t.Helper()
	c, err := New(Config{Nodes: 2})
	check(t, err)
	spec.Nodes, spec.BlockSize = []int{1, 0}, 4
	g := c.prepare(spec, c.newStream())
	g.stream.sizes = []uint64{10, 10}
	do(g.Members[1])
	check(t, c.Close())
	return strings.Join(c.Problems, "; ")
}
