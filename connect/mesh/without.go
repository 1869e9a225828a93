package mesh

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weft-fabric/weft/connect"
)

// Among is a part of the mesh: a few of its members, of which this must be one. Its calls involve only those, and use the
// same sessions: to close it is to close them.
func (m *Mesh) Among(members ...int) (*Mesh, error) {
	if !slices.Contains(members, m.self) {
		return nil, fmt.Errorf("mesh: among %v: this is member %d: %w", members, m.self, connect.ErrArgument)
	}
	part := *m
	part.sessions = make([]*connect.Session, len(m.sessions))
	for _, i := range members {
		if !m.Has(i) {
			return nil, fmt.Errorf("mesh: among %v: there is no member %d: %w", members, i, connect.ErrArgument)
		}
		part.sessions[i] = m.sessions[i]
	}
	return &part, nil
}

// Without is the mesh without its dead members. All survivors call it, whatever they were doing when they learned that
// somebody died; it returns the same members at all of them. The dead need not be known here: it finds out who answers, and
// believes what the others say. The sessions with the dead are closed, the others go on in the mesh that it returns, which
// takes the place of m. If it fails, m is closed, and the others are told why.
//
// It waits for the other survivors: whoever does not come in half of the time that the context has left (DefaultTimeout, if
// that has no deadline) is dead too. Let that be longer than the time in which they learn of the death. There is no quorum: a
// program that must not go on in two halves counts Members.
func (m *Mesh) Without(ctx context.Context, dead ...int) (*Mesh, error) {
	r, err := m.regroup(ctx, dead)
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("mesh: without %v: there was no time to agree: %w", dead, context.Cause(ctx))
	}
	if err != nil {
		_ = m.CloseWith(err)
		return nil, err
	}
	rest, err := m.Among(r.survivors()...)
	for i, s := range m.sessions {
		if s != nil && r.gone[i] {
			_ = s.Close()
		}
	}
	return rest, err
}

// regroup talks with everybody who is not gone, until all of them say that the same are gone.
func (m *Mesh) regroup(ctx context.Context, dead []int) (*regrouping, error) {
	if ctx == nil {
		return nil, fmt.Errorf("mesh: without %v: the context is nil: %w", dead, connect.ErrArgument)
	}
	r := &regrouping{Mesh: m, gone: make([]bool, len(m.sessions)), stop: make([]context.CancelFunc, len(m.sessions))}
	for i := range r.gone {
		r.gone[i] = !m.Has(i)
	}
	for _, i := range dead {
		if i < 0 || i >= len(r.gone) || i == m.self {
			return nil, fmt.Errorf("mesh: without %v: %d is this member, or none: %w", dead, i, connect.ErrArgument)
		}
		r.gone[i] = true
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(DefaultTimeout)
	}
	for {
		if agreed, err := r.round(ctx, time.Until(deadline)/2); agreed || err != nil {
			return r, err
		}
	}
}

// regrouping is a Without under way.
type regrouping struct {
	*Mesh

	mutex   sync.Mutex
	gone    []bool               // by index; grows from round to round
	stop    []context.CancelFunc // by index: ends what this round does with a member
	agreed  bool                 // so far, all have said the same in this round
	failure error                // why this member cannot go on
}

// round tells everybody who is not gone who is, and hears the same. It is the last if all say the same: whoever hears
// something else goes on, and takes those with it that have left already, because their next call gets ErrRegroup.
func (r *regrouping) round(ctx context.Context, patience time.Duration) (agreed bool, err error) {
	said := slices.Clone(r.gone)
	contexts := make([]context.Context, len(said))
	for i := range said {
		contexts[i], r.stop[i] = context.WithTimeout(ctx, patience)
		defer r.stop[i]()
	}
	r.agreed = true
	r.each(func(i int) {
		if !said[i] {
			heard, err := regroupWith(contexts[i], r.sessions[i], said)
			r.hear(i, said, heard, err)
		}
	})
	return r.agreed, r.failure
}

// hear takes in what a member said, or that it said nothing.
func (r *regrouping) hear(member int, said, heard []bool, err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if err != nil {
		r.gone[member], r.agreed = true, false
		return
	}
	r.agreed = r.agreed && slices.Equal(said, heard)
	for i, gone := range heard {
		if gone && i == r.self {
			r.failure = &Error{Doing: "without", Members: []Member{{member, r.names[member], ErrLeftOut}}}
		}
		if gone && !r.gone[i] {
			r.gone[i] = true
			r.stop[i]()
		}
	}
}

func (r *regrouping) survivors() []int {
	return slices.DeleteFunc(r.Members(), func(i int) bool { return r.gone[i] })
}

// regroupWith swaps with a member until that has come to regroup too.
func regroupWith(ctx context.Context, s *connect.Session, said []bool) ([]bool, error) {
	for {
		card, err := s.Swap(ctx, connect.Card{Note: label(kindRegroup, "", encodeFlags(said))})
		if err != nil {
			return nil, err
		}
		kind, _, note, err := parseLabel(card.Note)
		if err == nil && kind == kindStep {
			continue
		}
		var heard []bool
		if err == nil {
			heard, err = decodeFlags(note, len(said))
		}
		if err != nil {
			_ = s.CloseWith(err)
		}
		return heard, err
	}
}

// encodeFlags packs flags into bits.
func encodeFlags(flags []bool) []byte {
	b := make([]byte, (len(flags)+7)/8)
	for i, flag := range flags {
		if flag {
			b[i/8] |= 1 << (i % 8)
		}
	}
	return b
}

func decodeFlags(b []byte, n int) ([]bool, error) {
	flags := make([]bool, n)
	for i := range flags {
		flags[i] = i/8 < len(b) && b[i/8]>>(i%8)&1 == 1
	}
	if !slices.Equal(encodeFlags(flags), b) {
		return nil, fmt.Errorf("%w: %d bytes of flags for %d members", connect.ErrMalformed, len(b), n)
	}
	return flags, nil
}
