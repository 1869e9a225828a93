package loop

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// mailbox takes functions from other goroutines. A loop that gets none pays one atomic load a turn.
type mailbox struct {
	limit   int
	waiting atomic.Int32

	mu      sync.Mutex
	shut    bool // takes nothing more
	letters []func()
	spare   []func() // the slice that was run last, to be filled next
}

func (m *mailbox) put(f func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shut {
		return fmt.Errorf("do: the loop is being closed: %w", ErrFull)
	}
	if len(m.letters) >= m.limit {
		return fmt.Errorf("do: %d functions wait for the loop: %w", m.limit, ErrFull)
	}
	m.letters = append(m.letters, f)
	m.waiting.Store(int32(len(m.letters)))
	return nil
}

// close takes nothing more, and runs what was taken.
func (m *mailbox) close() {
	m.mu.Lock()
	m.shut = true
	m.mu.Unlock()
	m.run()
}

// run runs what is there now. What those functions hand over in turn waits for the next turn.
func (m *mailbox) run() int {
	if m.waiting.Load() == 0 {
		return 0
	}
	m.mu.Lock()
	letters := m.letters
	m.letters, m.spare = m.spare[:0], nil
	m.waiting.Store(0)
	m.mu.Unlock()
	for i, f := range letters {
		f()
		letters[i] = nil
	}
	m.mu.Lock()
	m.spare = letters[:0]
	m.mu.Unlock()
	return len(letters)
}
