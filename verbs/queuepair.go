package verbs

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/weft-fabric/weft/verbs/driver"
)

// ControlRoom is how many control operations (Connect, SetAccess, Reset) a queue pair may have under way, and how much
// room it reserves for them in its completion queue.
const ControlRoom = 4

// QueueConfig describes a queue pair. The zero value of every field but Completions is usable.
type QueueConfig struct {
	Completions  *CompletionQueue // where ends are reported; required
	Shared       *SharedReceives  // take receives from this pool; nil: the queue pair has its own
	SendDepth    int              // requests outstanding at a time; 0: 64
	ReceiveDepth int              // receives posted at a time; 0: 64; not used with Shared
	MaxSpans     int              // pieces of a request or receive; 0: 4, or what the device can
	MaxInline    int              // bytes of an Inline request; 0: 64, or what the device can
	Access       Access           // what the peer may do through this queue pair; 0: nothing but Send
	ReceiverWait time.Duration    // how long a Send or WriteImm waits for a receive at the peer; 0: one second
}

// QueuePair is one end of a connection (InfiniBand: QP). Requests are staged, and go to the NIC with Flush; what was
// staged is also flushed when the completion queue is polled or waited on.
//
// Calls that stage (Send, Write, Read, the atomics, Receive, Stage and their kin) never block, and say at once what is
// wrong: ErrQueueFull when there is no Room, ErrState when the queue pair is not connected or is being reset, ErrClosed
// after Close, ErrLimit when a message, its inline bytes or its pieces are over the limits, ErrBounds when a span is not
// inside its memory or is longer than the remote span, ErrArgument for unknown flags or misaligned atomics,
// ErrNotSupported for what the device cannot do. Everything else is found by the NIC and ends in the completion's
// Status.
//
// A queue pair belongs to the goroutine that owns its completion queue.
type QueuePair struct {
	// What staging and settling need comes first, close together: a process may have very many queue pairs.
	driver     driver.QueuePair
	queue      *CompletionQueue
	number     uint32
	slot       uint32 // in the completion queue's table
	generation uint16
	phase      phase
	inStaged   bool // listed in the completion queue's staged

	receives                 history
	requests                 history
	receiveRoom, requestRoom [4]posted // where the histories begin: idle queue pairs need no more
	quietRun                 int       // requests since the last signaled one
	stagedReceives           []driver.Receive
	stagedRequests           []driver.Request
	pieces                   []Span         // what the More of staged requests and receives points into
	limits                   *driver.Limits // the device's
	domain                   *Domain
	pool                     *SharedReceives
	config                   QueueConfig
	controls                 [ControlRoom]control
	windows                  []*Window              // open
	immediate                driver.ImmediateWriter // the driver, if it is one; nil: it is not
}

// phase is what package verbs must know of the state: which calls it lets through. The provider knows the rest.
type phase uint8

const (
	phaseNew       phase = iota // before the first Connect, and after Reset
	phaseConnected              // a Connect has completed OK: requests are accepted
	phaseResetting
	phaseClosed
)

// control is a control operation under way. A vacant record has op 0.
type control struct {
	tag Tag
	op  Op
}

// NewQueuePair makes a queue pair. It fails with ErrQueueFull if the completion queue has not enough room left
// (SendDepth + ReceiveDepth + ControlRoom), ErrLimit if a number is beyond the device's Limits, ErrForeign if the
// completion queue or the shared receives belong elsewhere, ErrArgument if the completion queue is missing, the access
// unknown or the wait negative.
func (d *Domain) NewQueuePair(config QueueConfig) (*QueuePair, error) {
	if err := config.validate(d); err != nil {
		return nil, err
	}
	q := &QueuePair{domain: d, limits: &d.device.limits, queue: config.Completions, pool: config.Shared, config: config}
	q.requests, q.receives = newHistory(q.requestRoom[:]), newHistory(q.receiveRoom[:])
	var err error
	if q.slot, q.generation, err = q.queue.enrol(member{pair: q}, config.room()); err != nil {
		return nil, fmt.Errorf("new queue pair: %w", err)
	}
	err = d.adopt(&d.pairs, "new queue pair", func() (err error) {
		inner := config.forDriver()
		inner.Record = unsafe.Pointer(q)
		q.driver, err = d.driver.NewQueuePair(inner)
		return err
	})
	if err != nil {
		q.queue.dismiss(q.slot, config.room())
		return nil, err
	}
	q.number = q.driver.Number()
	q.immediate, _ = q.driver.(driver.ImmediateWriter)
	if q.pool != nil {
		q.pool.users++
	}
	return q, nil
}

// validate checks the configuration and fills the defaults in.
func (c *QueueConfig) validate(d *Domain) error {
	limits := &d.device.limits
	switch {
	case c.Completions == nil:
		return fail(d, ErrArgument, "new queue pair: QueueConfig.Completions is nil")
	case c.Completions.device != d.device:
		return fail(d, ErrForeign, "new queue pair: the completion queue")
	case c.Shared != nil && (c.Shared.domain != d || c.Shared.queue != c.Completions):
		return fail(d, ErrForeign, "new queue pair: the shared receives, or their completion queue")
	case c.Shared != nil && c.Shared.isClosed:
		return fail(d, ErrClosed, "new queue pair: the shared receives")
	case !c.Access.Valid():
		return fail(d, ErrArgument, "new queue pair: access %#x has unknown bits", uint8(c.Access))
	case c.ReceiverWait < 0:
		return fail(d, ErrArgument, "new queue pair: receiver wait %v is negative", c.ReceiverWait)
	}
	if c.ReceiverWait == 0 {
		c.ReceiverWait = time.Second
	}
	if c.Shared != nil {
		c.ReceiveDepth = 1 // satisfies the limits; room() and the driver leave it out
	}
	for _, n := range []struct {
		name            string
		value           *int
		preset, atLeast int
		limit           int
	}{
		{"SendDepth", &c.SendDepth, 64, 1, limits.MaxDepth},
		{"ReceiveDepth", &c.ReceiveDepth, 64, 1, limits.MaxDepth},
		{"MaxSpans", &c.MaxSpans, min(4, limits.MaxSpans), 1, limits.MaxSpans},
		{"MaxInline", &c.MaxInline, min(64, limits.MaxInline), 0, limits.MaxInline},
	} {
		if *n.value == 0 {
			*n.value = n.preset
		}
		if *n.value < n.atLeast || *n.value > n.limit {
			return fail(d, ErrLimit, "new queue pair: %s %d, allowed are %d to %d", n.name, *n.value, n.atLeast, n.limit)
		}
	}
	return nil
}

// room is how many completions can be under way at once.
func (c *QueueConfig) room() int {
	if c.Shared != nil {
		return c.SendDepth + ControlRoom // the pool has reserved for its receives
	}
	return c.SendDepth + c.ReceiveDepth + ControlRoom
}

func (c *QueueConfig) forDriver() driver.QueueConfig {
	out := driver.QueueConfig{Completions: c.Completions.driver, SendDepth: c.SendDepth, ReceiveDepth: c.ReceiveDepth,
		MaxSpans: c.MaxSpans, MaxInline: c.MaxInline, Access: c.Access, ReceiverWait: c.ReceiverWait}
	if c.Shared != nil {
		out.Shared, out.ReceiveDepth = c.Shared.driver, 0
	}
	return out
}

func (q *QueuePair) String() string { return fmt.Sprintf("queue pair %d", q.number) }

// Number names the queue pair within its device, and is what Completion.Queue says.
func (q *QueuePair) Number() uint32 { return q.number }

// Completions is the queue that the queue pair reports to.
func (q *QueuePair) Completions() *CompletionQueue { return q.queue }

// Address is what the peer needs for Connect. It changes with every Reset, so exchange it again then. A closed queue pair
// has none.
func (q *QueuePair) Address() Address {
	if q.phase == phaseClosed {
		return ""
	}
	return q.driver.Address()
}

// State is where the queue pair stands.
func (q *QueuePair) State() State {
	if q.phase == phaseClosed {
		return Closed
	}
	return q.driver.State()
}

// Room is how many more requests can be staged before completions must be polled. A closed queue pair has none.
func (q *QueuePair) Room() int {
	if q.phase == phaseClosed {
		return 0
	}
	return q.config.SendDepth - q.requests.outstanding()
}

// ReceiveRoom is how many more receives can be staged. With shared receives, and when it is closed, it is 0.
func (q *QueuePair) ReceiveRoom() int {
	if q.pool != nil || q.phase == phaseClosed {
		return 0
	}
	return q.config.ReceiveDepth - q.receives.outstanding()
}

// Arrival is the moment when count messages have been received on the queue pair since it was made or last reset, for
// the After of a chained request.
func (q *QueuePair) Arrival(count uint64) Arrival { return Arrival{Queue: q.number, Count: count} }

// Connect binds the queue pair to a peer's, which must do the same, and completes as OpConnect. Two queue pairs of one
// device may connect too. It fails with ErrState unless the queue pair is New, and with ErrArgument, and what the provider
// says, if peer is not an address that the device can reach.
func (q *QueuePair) Connect(tag Tag, peer Address) error {
	if len(peer) == 0 || len(peer) > driver.MaxAddress {
		return fail(q, ErrArgument, "Connect: an address of %d bytes, allowed are 1 to %d", len(peer), driver.MaxAddress)
	}
	if state := q.State(); q.phase == phaseConnected || state == Connecting || state == Ready || state == Error {
		return fail(q, ErrState, "Connect: it is %v, only a New one connects; Reset first", state)
	}
	return q.startControl(OpConnect, tag, func(token Tag) error { return q.driver.Connect(token, peer) })
}

// SetAccess changes what the peer may do through this queue pair, and completes as OpQueueAccess: from then on nothing
// that only the old access allowed can land. It fails with ErrArgument for unknown permissions.
func (q *QueuePair) SetAccess(tag Tag, access Access) error {
	if !access.Valid() {
		return fail(q, ErrArgument, "set access %#x", uint8(access))
	}
	return q.startControl(OpQueueAccess, tag, func(token Tag) error { return q.driver.SetAccess(token, access) })
}

// Reset takes the queue pair from any state back to New. What is outstanding completes as Flushed first, then Reset
// itself as OpReset; staged requests are handed to the NIC before. The access that
// SetAccess gave last stays: what was revoked stays revoked. Its windows are closed. To connect again both ends must be
// reset, and their new addresses exchanged.
func (q *QueuePair) Reset(tag Tag) error {
	if err := q.Flush(); err != nil {
		return err
	}
	err := q.startControl(OpReset, tag, func(token Tag) error {
		if err := q.closeWindows(); err != nil {
			return err
		}
		return q.driver.Reset(token)
	})
	if err == nil {
		q.phase = phaseResetting
	}
	return err
}

func (q *QueuePair) startControl(op Op, tag Tag, start func(Tag) error) error {
	switch q.phase {
	case phaseClosed:
		return fail(q, ErrClosed, "%v", op)
	case phaseResetting:
		return fail(q, ErrState, "%v: a Reset is under way", op)
	}
	for i := range q.controls {
		if q.controls[i].op != 0 {
			continue
		}
		if err := start(makeToken(kindControl, q.slot, q.generation, uint32(i))); err != nil {
			return fmt.Errorf("%v: %v: %w", q, op, err)
		}
		q.controls[i] = control{tag, op}
		return nil
	}
	return fail(q, ErrQueueFull, "%v: %d control operations are under way", op, ControlRoom)
}

func (q *QueuePair) settleControl(i uint32, w *Completion) bool {
	if i >= ControlRoom || q.controls[i].op == 0 {
		q.queue.breaks(fail(q, ErrProvider, "completed a control operation that was not started"))
		return false
	}
	done := q.controls[i]
	q.controls[i] = control{}
	w.Tag, w.Op = done.tag, done.op
	switch {
	case done.op == OpConnect && w.Status == OK && q.phase == phaseNew:
		q.phase = phaseConnected
	case done.op == OpReset:
		q.settleReset()
	}
	return true
}

// settleReset forgets what was Quiet and succeeded. Everything else must have completed before.
func (q *QueuePair) settleReset() {
	q.phase, q.quietRun = phaseNew, 0
	requests, receives := q.requests.drop(), q.receives.drop()
	if !requests || !receives {
		q.queue.breaks(fail(q, ErrProvider, "Reset completed before everything outstanding was flushed"))
	}
}

// Close frees the queue pair in whatever state it is, and its windows. What is staged or outstanding is dropped without
// completions; the peer's end goes to Error. A second Close does nothing.
func (q *QueuePair) Close() error {
	if q.phase == phaseClosed {
		return nil
	}
	failed := q.closeWindows()
	q.phase = phaseClosed
	q.stagedRequests, q.stagedReceives = nil, nil
	q.queue.dismiss(q.slot, q.config.room())
	if q.pool != nil {
		q.pool.users--
	}
	defer q.domain.released(&q.domain.pairs)
	return errors.Join(failed, q.driver.Close())
}
