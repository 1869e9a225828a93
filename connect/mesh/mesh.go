package mesh

import (
	"errors"
	"slices"
	"sync"

	"github.com/weft-fabric/weft/connect"
)

// Mesh is one member's sessions with all others. It does not change; Without and Among make others of the same sessions.
type Mesh struct {
	self     int
	names    []string
	sessions []*connect.Session // by index; nil: this member, and those that this mesh is without
	common   []string
}

// Self is the index of this member.
func (m *Mesh) Self() int { return m.self }

// Len is how many members there were at first: indexes are below it.
func (m *Mesh) Len() int { return len(m.sessions) }

// Members are the indexes of the members, this one among them, ascending.
func (m *Mesh) Members() []int {
	var members []int
	for i := range m.sessions {
		if m.Has(i) {
			members = append(members, i)
		}
	}
	return members
}

// Has reports whether an index is a member's.
func (m *Mesh) Has(member int) bool {
	return member >= 0 && member < len(m.sessions) && (member == m.self || m.sessions[member] != nil)
}

// Name is what errors call a member.
func (m *Mesh) Name(member int) string { return m.names[member] }

// Session is the one with a member, to ask who it is. Swaps on it would get in the way of the mesh's. Nil for this member
// itself, and for those that the mesh is without.
func (m *Mesh) Session(member int) *connect.Session { return m.sessions[member] }

// Agreed is the provider that this member and another have agreed on; zero for this member itself, and for those that the
// mesh is without.
func (m *Mesh) Agreed(member int) connect.Offer {
	if m.sessions[member] == nil {
		return connect.Offer{}
	}
	return m.sessions[member].Agreed()
}

// Common are the providers that all members can use with all others, in the order that the first member prefers: the same
// list at all members. It is empty if there are none, and with a single member.
func (m *Mesh) Common() []string { return slices.Clone(m.common) }

// Close ends all sessions. What others are waiting for fails there. A second Close does nothing.
func (m *Mesh) Close() error { return m.CloseWith(nil) }

// CloseWith ends all sessions, and tells the peers why: what they wait for, or do next, fails with connect.ErrGaveUp and
// this reason. It waits up to a second for those who are slow to hear it.
func (m *Mesh) CloseWith(reason error) error {
	errs := make([]error, len(m.sessions))
	m.each(func(i int) { errs[i] = m.sessions[i].CloseWith(reason) })
	return errors.Join(errs...)
}

// each does something with all sessions at once, and waits until it is done.
func (m *Mesh) each(do func(member int)) {
	var runs sync.WaitGroup
	for i, s := range m.sessions {
		if s != nil {
			runs.Add(1)
			go m.runOne(&runs, do, i)
		}
	}
	runs.Wait()
}

// runOne does one member's part of each, which waits for it.
func (m *Mesh) runOne(runs *sync.WaitGroup, do func(member int), member int) {
	defer runs.Done()
	do(member)
}
