package hook

import (
	"fmt"
	"sync"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Fault wraps a device so that it fails, or lies, by a plan. If the plan is not valid, the device makes nothing:
// every call that would make an object returns the error of Plan.Validate.
func Fault(inner driver.Device, plan Plan) driver.Device {
	f := &faults{clock: clockOf(inner), invalid: plan.Validate()}
	if f.invalid == nil {
		for _, rule := range plan.Rules {
			f.arm(rule)
		}
	}
	return wrap(inner, f)
}

// faults is a plan at work on one device, and what the lies need to know of the device.
type faults struct {
	clock   clock.Clock
	invalid error // why the plan cannot be used

	fail, hold, kill []*armed // hold: Delay and Polls
	refuse           []*armed
	changeKey        []*armed
	lies             [lieCount][]*armed

	mu       sync.Mutex
	memories []*faultyMemory                   // open ones, to reach bytes by their address
	kept     map[driver.Domain][]driver.Memory // by KeepMemory: still to be closed
	keys     uint64                            // by GuessableKeys: given out so far
	only     driver.Domain                     // by OneDomain: the one that all are
	users    int                               // of only
}

// arm sorts a rule by what it does, so that an event is shown only to the rules that it may concern.
func (f *faults) arm(rule Rule) {
	a := &armed{Rule: rule}
	switch {
	case rule.Fail != driver.OK:
		f.fail = append(f.fail, a)
	case rule.Delay != 0, rule.Polls != 0:
		f.hold = append(f.hold, a)
	case rule.Kill != nil:
		f.kill = append(f.kill, a)
	case rule.Refuse != NoObject:
		f.refuse = append(f.refuse, a)
	case rule.ChangeKey:
		f.changeKey = append(f.changeKey, a)
	default:
		f.lies[rule.Lie] = append(f.lies[rule.Lie], a)
	}
}

// struck returns the first rule that strikes, or nil. Every rule counts the event.
func struck(rules []*armed, e Event) *armed {
	var first *armed
	for _, a := range rules {
		if a.strikes(e) && first == nil {
			first = a
		}
	}
	return first
}

// knows reports whether the plan has a lie at all: most plans have few, and asking is cheap.
func (f *faults) knows(lie Lie) bool { return len(f.lies[lie]) > 0 }

// tells reports whether a lie is to be told about an event.
func (f *faults) tells(lie Lie, e Event) bool { return struck(f.lies[lie], e) != nil }

// kills calls the rules that kill at an event. A rule for requests, or for everything, looks at posts, any other at
// completions, so that none sees an operation twice.
func (f *faults) kills(e Event, posted bool) {
	for _, a := range f.kill {
		if watchesPosts := a.Op == driver.OpNone || a.Op.IsRequest(); watchesPosts == posted && a.strikes(e) {
			a.Kill(e)
		}
	}
}

// limits leaves out what a lie leaves out.
func (f *faults) limits(inner driver.Limits) driver.Limits {
	if f.tells(NoPeerTimeout, Event{}) {
		inner.PeerTimeout = 0
	}
	return inner
}

// admit refuses what the plan refuses, and widens the access that a lie widens.
func (f *faults) admit(object Object, access driver.Access) (driver.Access, error) {
	if f.invalid != nil {
		return 0, f.invalid
	}
	for _, a := range f.refuse {
		if a.Refuse == object && a.turn() {
			return 0, fmt.Errorf("new %v: %w", object, ErrRefused)
		}
	}
	switch {
	case object == MemoryObject && f.tells(WidenMemoryAccess, Event{Op: driver.OpMemoryAccess}),
		object == QueuePairObject && f.tells(WidenQueueAccess, Event{Op: driver.OpQueueAccess}):
		return driver.RemoteAll, nil
	}
	return access, nil
}

func (f *faults) completions(inner completionParts) completionParts {
	q := &faultyQueue{CompletionQueue: inner.CompletionQueue, waiter: inner.Waiter, faults: f,
		pairs: map[uint32]*faultyQueuePair{}}
	inner.CompletionQueue = q
	if inner.Waiter != nil {
		w := &faultyWaiter{inner.Waiter, inner.sharedWaiter, q}
		if inner.Waiter = w; inner.sharedWaiter != nil {
			inner.sharedWaiter = w
		}
	}
	if inner.Driven != nil {
		inner.Driven = faultyDriven{inner.Driven, q}
	}
	return inner
}

func (f *faults) queuePair(inner driver.QueuePair, config driver.QueueConfig,
	own driver.CompletionQueue) driver.QueuePair {
	q := own.(*faultyQueue)
	p := &faultyQueuePair{QueuePair: inner, number: inner.Number(), faults: f, queue: q, madeWith: config.Access,
		sent: make([]sent, 2*max(config.SendDepth, 1)), staged: make([]driver.Request, 0, max(config.SendDepth, 1))}
	q.pairs[p.number] = p
	return p
}

func (f *faults) shared(inner driver.SharedReceives, _ driver.CompletionQueue) driver.SharedReceives {
	return &faultyReceives{SharedReceives: inner, faults: f}
}
