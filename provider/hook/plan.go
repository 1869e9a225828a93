package hook

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/verbs/driver"
)

// ErrRefused is returned when a rule refuses to make something.
var ErrRefused = errors.New("out of resources (by the fault plan)")

// Plan says which faults a device has. The zero Plan has none.
type Plan struct {
	Rules []Rule
}

// Rule is one fault: when it strikes, and what happens. Exactly one of the fields from Fail on is set.
//
// A rule counts the events that match Op, Queue and Match, from 1. With neither Nth nor Every it strikes each time.
type Rule struct {
	Op    driver.Op          // OpNone: every data operation
	Queue uint32             // number of a queue pair; 0: every one
	Match func(e Event) bool // nil: every event; called from every goroutine that uses the device
	Nth   uint64             // strike at this event only
	Every uint64             // strike at each so manieth event

	// Fail makes a posted request fail with this status. The request inside is replaced by one that really fails, so
	// the queue pair goes to Error and flushes as it must. A status that is Refused puts both ends in Error.
	Fail driver.Status
	// Delay and Polls hold a completion, and what comes behind it on the completion queue, for a time or for a number
	// of polls that do not report it.
	Delay time.Duration
	Polls int
	// Kill is called before a request is posted or, if Op is not a request, before the completion is reported. What
	// dies is up to its owner. It may be called from every goroutine that uses the device.
	Kill func(e Event)
	// Refuse makes the call that would make such an object fail with ErrRefused. Op, Queue and Match do not apply.
	Refuse Object
	// ChangeKey gives memory a new remote key when its access is changed, as the contract allows: some providers can
	// only register it anew. It needs one that finds the same bytes at the same address when they are registered again.
	ChangeKey bool
	Lie       Lie
}

// Event is what a rule looks at: a request about to be posted, a completion about to be reported, a list of receives
// (OpReceive), a change of access (OpQueueAccess, OpMemoryAccess) or a Reset (OpReset). What does not apply is zero: all
// of it when domains and memory are made or closed, when a program sleeps, and when it asks for the limits.
type Event struct {
	Op     driver.Op
	Flags  driver.Flags // of a request
	Queue  uint32
	Tag    driver.Tag
	Bytes  uint64
	Status driver.Status // of a completion

	control bool // not a data operation: only rules that name Op match
}

// Validate says what is wrong with a plan.
func (p Plan) Validate() error {
	for i := range p.Rules {
		if err := p.Rules[i].validate(); err != nil {
			return fmt.Errorf("fault plan: rule %d: %w", i, err)
		}
	}
	return nil
}

func (r *Rule) validate() error {
	faults := 0
	for _, set := range [...]bool{r.Fail != driver.OK, r.Delay != 0, r.Polls != 0, r.Kill != nil,
		r.Refuse != NoObject, r.ChangeKey, r.Lie != NoLie} {
		if set {
			faults++
		}
	}
	switch {
	case faults != 1:
		return fmt.Errorf("must have exactly one of Fail, Delay, Polls, Kill, Refuse, ChangeKey and Lie, has %d", faults)
	case r.Nth != 0 && r.Every != 0:
		return fmt.Errorf("has both Nth (%d) and Every (%d)", r.Nth, r.Every)
	case r.Fail == driver.Flushed, r.Fail == driver.LocalLength, int(r.Fail) >= statusCount:
		return fmt.Errorf("Fail: no request fails with %v of its own", r.Fail)
	case r.Fail != driver.OK && r.Op != driver.OpNone && !r.Op.IsRequest():
		return fmt.Errorf("Fail: %v is not a request", r.Op)
	case r.Delay < 0, r.Polls < 0:
		return fmt.Errorf("Delay %v and Polls %d must not be negative", r.Delay, r.Polls)
	case r.Refuse >= objectCount:
		return fmt.Errorf("Refuse: unknown %v", r.Refuse)
	case r.Lie >= lieCount:
		return fmt.Errorf("Lie: unknown %v", r.Lie)
	}
	return nil
}

// armed is a rule at work. Its count is atomic because queue pairs of one device may work in parallel; within one
// goroutine the faults are deterministic.
type armed struct {
	Rule
	seen atomic.Uint64
}

// strikes counts an event that matches, and reports whether it is the rule's turn.
func (a *armed) strikes(e Event) bool { return a.matches(e) && a.turn() }

// matches looks at everything but the count.
func (a *armed) matches(e Event) bool {
	if a.Op == driver.OpNone && e.control || a.Op != driver.OpNone && a.Op != e.Op {
		return false
	}
	return (a.Queue == 0 || a.Queue == e.Queue) && (a.Match == nil || a.Match(e))
}

// turn counts an event and reports whether Nth and Every let the rule strike.
func (a *armed) turn() bool {
	n := a.seen.Add(1)
	switch {
	case a.Nth != 0:
		return n == a.Nth
	case a.Every != 0:
		return n%a.Every == 0
	}
	return true
}
