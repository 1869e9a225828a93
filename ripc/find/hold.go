package find

import (
	"sync"

	"github.com/weft-fabric/weft/clock"
)

// Hold is the part of a Claim that is the same for every resolver: all but Withdraw. It is for those who write resolvers.
type Hold struct {
	mu     sync.Mutex
	record Record
	until  clock.Time // Invariant: 0 once err is set
	done   chan struct{}
	err    error
}

// NewHold makes the hold of a claim.
func NewHold(r Record, until clock.Time) *Hold {
	return &Hold{record: r, until: until, done: make(chan struct{})}
}

// Record is what is known of the service.
func (h *Hold) Record() Record {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.record
}

// ValidUntil is up to when nobody else can have the service. An ended claim was valid until the start of the process.
func (h *Hold) ValidUntil() clock.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.until
}

// Done is closed by End.
func (h *Hold) Done() <-chan struct{} { return h.done }

// Err is what End was told.
func (h *Hold) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// Renew says that r holds until a later moment. It returns false if the claim has ended: then it stays so.
func (h *Hold) Renew(r Record, until clock.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return false
	}
	h.record, h.until = r, max(h.until, until)
	return true
}

// End ends the claim, and returns whether it had not ended before.
func (h *Hold) End(why error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return false
	}
	h.err, h.until = why, 0
	close(h.done)
	return true
}
