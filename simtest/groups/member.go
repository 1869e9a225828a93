package groups

import (
	"bytes"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/rdmc"
)

// Member is one member of a group, and what it was told.
type Member struct {
	Group *Group
	Rank  int
	Node  *Node
	End   *rdmc.Group

	Ready     bool
	Completed []Completion  // in the order of the calls
	Failure   *rdmc.Failure // nil: none
	FailedAt  clock.Time
	Closed    bool // the last call came

	replica *replica
	store   *store
	leaving bool   // Close was called
	next    uint64 // number of the message that has to be complete next
	before  uint64 // what next was in the group whose work this one finishes
}

// Completion is a message that was reported complete.
type Completion struct {
	rdmc.Message
	At clock.Time
}

func (m *Member) problem(format string, arguments ...any) {
	m.Group.Cluster.problem("group %s, member %d (%s): "+format,
		append([]any{m.Group.Spec.Name, m.Rank, m.Node.Name}, arguments...)...)
}

func (m *Member) expect(err error) {
	if err != nil {
		m.problem("%v", err)
	}
}

// called judges whether a member may be called at all.
func (m *Member) called(what string) {
	switch {
	case m.Node.Crashed:
		m.problem("%s was called on a crashed node", what)
	case m.Failure != nil:
		m.problem("%s was called after Failed", what)
	case m.Closed:
		m.problem("%s was called after Closed", what)
	}
}

// live reports whether the group still runs here.
func (m *Member) live() bool { return m.Failure == nil && !m.leaving && !m.Node.Crashed }

// ready implements rdmc.Config.Ready.
func (m *Member) ready() {
	m.called("Ready")
	if m.Ready {
		m.problem("Ready was called twice")
	}
	m.Ready = true
}

// incoming implements rdmc.Config.Incoming. A slow member gives the memory later.
func (m *Member) incoming(message rdmc.Message) rdmc.Place {
	m.called("Incoming")
	m.checkMessage(message)
	place, err := m.replica.place(m.replica.message(message))
	m.expect(err)
	if wait := m.Group.wait(); wait > 0 && m.store == nil {
		m.Node.later(wait, func() {
			if m.live() {
				m.expect(m.End.Provide(message.Number, place))
			}
		})
		return rdmc.Place{}
	}
	return place
}

// accept lets a block pass the gate, at once or later.
func (m *Member) accept(h *held, block int) {
	pass := func() {
		if m.live() {
			h.have.Add(block)
			m.expect(m.End.Accept(h.Number, block))
		}
	}
	if wait := m.Group.wait(); wait > 0 {
		m.Node.later(wait, pass)
		return
	}
	pass()
}

// completed implements rdmc.Config.Completed.
func (m *Member) completed(d rdmc.Delivery) {
	m.called("Completed")
	m.checkMessage(d.Message)
	if d.Number != m.next {
		m.problem("message %d is complete, and %d was to be next", d.Number, m.next)
	}
	m.next = d.Number + 1
	h := m.replica.message(d.Message)
	if !m.isComplete(h, d.Place) {
		m.problem("message %d of %d bytes is not what was sent", d.Number, d.Size)
	}
	m.keep(h, d.Place)
	m.Completed = append(m.Completed, Completion{d.Message, m.Group.Cluster.Fabric.Now()})
	if m.Rank == 0 {
		m.Group.sendMore()
	}
}

// isComplete judges the contents of a message. One block lies in a buffer of the group's, and is copied: somebody may
// need it for a repair.
func (m *Member) isComplete(h *held, place rdmc.Place) bool {
	if m.store != nil {
		return h.have.Count() == h.Blocks()
	}
	if place.Memory == nil {
		return h.Size == 0
	}
	if place.Memory != h.memory {
		own, err := m.replica.place(h)
		m.expect(err)
		copy(own.Memory.Bytes(), place.Memory.Bytes()[place.Offset:place.Offset+h.Size])
	}
	return h.whole().isAt(place.Memory, int(place.Offset))
}

// keep has a slow member keep the group's buffer of a message of one block for a while.
func (m *Member) keep(h *held, place rdmc.Place) {
	wait := m.Group.wait()
	if m.store != nil || wait == 0 || h.Blocks() > 1 || m.Rank == 0 {
		return
	}
	m.End.Keep(h.Number)
	m.Node.later(wait, func() {
		if !m.live() {
			return
		}
		if h.Size > 0 && !h.whole().isAt(place.Memory, int(place.Offset)) {
			m.problem("message %d, which was kept, has changed", h.Number)
		}
		m.End.Release(h.Number)
	})
}

// checkMessage compares what a member is told of a message with what was sent.
func (m *Member) checkMessage(told rdmc.Message) {
	sizes := m.Group.stream.sizes
	if told.Number >= uint64(len(sizes)) || told.Size != sizes[told.Number] || told.BlockSize != m.Group.blockSize() {
		m.problem("was told of %+v, which nobody sent", told)
	}
}

// failed implements rdmc.Config.Failed.
func (m *Member) failed(f *rdmc.Failure) {
	m.called("Failed")
	if m.leaving {
		m.problem("Failed was called after Close: %v", f)
	}
	m.Failure, m.FailedAt = f, m.Group.Cluster.Fabric.Now()
	for _, h := range m.replica.held {
		h.freeze()
	}
	if m.store != nil {
		m.store.frozen = bytes.Clone(m.store.memory.Bytes())
	}
}

// closed implements rdmc.Config.Closed.
func (m *Member) closed() {
	if m.Closed || m.Node.Crashed || !m.leaving {
		m.problem("Closed was called: closed already %t, crashed %t, asked for %t", m.Closed, m.Node.Crashed, m.leaving)
	}
	m.Closed = true
}

// checkFrozen judges whether anything touched the memory of messages since the failure.
func (m *Member) checkFrozen() {
	for _, h := range m.replica.held {
		if h.changed() {
			m.problem("memory of message %d changed after Failed", h.Number)
		}
	}
	if m.store != nil && !bytes.Equal(m.store.frozen, m.store.memory.Bytes()) {
		m.problem("memory of the Store changed after Failed")
	}
}

// close ends the member, on its loop.
func (m *Member) close() {
	m.Node.do(func() {
		if !m.leaving {
			m.leaving = true
			m.expect(m.End.Close())
		}
	})
}
