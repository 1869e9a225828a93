package hook

import (
	"fmt"
	"sync"

	"github.com/weft-fabric/weft/verbs/driver"
)

// rekeyedMemory registers its bytes anew when its access is changed, and has a new remote key then. That is no lie: it is
// how a provider behaves that cannot change a registration in place (Soft-RoCE).
type rekeyedMemory struct {
	driver.Memory // the first registration: it stays, because the bytes and the local key are its own
	access        driver.MemoryAccess
	domain        driver.Domain
	faults        *faults

	mu    sync.Mutex
	later []driver.Memory // registrations of the same bytes; the last one is what peers may use
}

// Region has the newest remote key.
func (m *rekeyedMemory) Region() driver.Region {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.Memory.Region()
	if n := len(m.later); n > 0 {
		r.RemoteKey = m.later[n-1].Region().RemoteKey
	}
	return r
}

// SetAccess registers the bytes with the new access and takes all access from the registration before, whose completion
// says when nothing can land by the old key any more.
func (m *rekeyedMemory) SetAccess(queue driver.CompletionQueue, tag driver.Tag, access driver.Access) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	current := m.access
	if n := len(m.later); n > 0 {
		current = m.later[n-1].(driver.MemoryAccess)
	}
	if struck(m.faults.changeKey, Event{Op: driver.OpMemoryAccess, Tag: tag}) == nil {
		return current.SetAccess(queue, tag, access)
	}
	next, err := m.registerAgain(access)
	if err != nil {
		return err
	}
	if err := current.SetAccess(queue, tag, 0); err != nil {
		_ = next.Close() // the first error says more
		return err
	}
	m.later = append(m.later, next)
	return nil
}

func (m *rekeyedMemory) registerAgain(access driver.Access) (driver.Memory, error) {
	first := m.Memory.Region()
	next, err := m.domain.Register(first.Bytes, access)
	if err != nil {
		return nil, fmt.Errorf("hook: register again: %w", err)
	}
	if at := next.Region().Address; at != first.Address {
		_ = next.Close() // the address says more
		return nil, fmt.Errorf("hook: change key: the memory would move from %#x to %#x", first.Address, at)
	}
	return next, nil
}

// Close closes the registrations, the one that owns the bytes last.
func (m *rekeyedMemory) Close() error {
	if err := m.closeLater(); err != nil {
		return err
	}
	return m.Memory.Close()
}

func (m *rekeyedMemory) closeLater() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := len(m.later); n > 0; n-- {
		if err := m.later[n-1].Close(); err != nil {
			return err
		}
		m.later = m.later[:n-1]
	}
	return nil
}

// rekeyedRetirer is the memory's driver.Retirer.
type rekeyedRetirer struct {
	memory *rekeyedMemory
	first  driver.Retirer // it owns the bytes
}

func (r rekeyedRetirer) Retire() (free func() error, err error) {
	if err := r.memory.closeLater(); err != nil {
		return nil, err
	}
	return r.first.Retire()
}
