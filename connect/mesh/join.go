package mesh

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/connect"
)

// errMismatch: somebody came who does not belong here.
var errMismatch = errors.New("not a member of this mesh")

// Join meets all other members, and returns when all have met all. It ends with the context, or after DefaultTimeout if
// that has no deadline. Its error names everybody who did not come; those who did are told why there will be no mesh.
func Join(ctx context.Context, config Config) (*Mesh, error) {
	if ctx == nil {
		return nil, fmt.Errorf("mesh: join: the context is nil: %w", connect.ErrArgument)
	}
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("mesh: join: %w", err)
	}
	if _, ok := ctx.Deadline(); !ok {
		bounded, cancel := context.WithTimeout(ctx, DefaultTimeout)
		defer cancel()
		ctx = bounded
	}
	m := &Mesh{self: config.Self, names: config.names()}
	var err error
	if m.sessions, err = meet(ctx, config); err == nil {
		err = m.settle(ctx)
	}
	if err != nil {
		_ = m.CloseWith(err)
		return nil, err
	}
	return m, nil
}

// settle waits until all members have met all, and finds out what all can use.
func (m *Mesh) settle(ctx context.Context) error {
	mine := m.usable()
	lists, err := m.swapAll(ctx, "joined", func(int) connect.Card { return connect.Card{Note: encodeWords(mine)} })
	if err != nil {
		return err
	}
	first := mine
	if m.self != 0 {
		first = decodeWords(lists[0].Note)
	}
	m.common = first
	for i := range m.sessions {
		if i != m.self {
			m.common = both(m.common, decodeWords(lists[i].Note))
		}
	}
	m.common = both(m.common, mine)
	return nil
}

// within is how long a context lasts, for people.
func within(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline()
	left := time.Until(deadline)
	if left > time.Second {
		return left.Round(100 * time.Millisecond)
	}
	return left.Round(10 * time.Millisecond)
}
