package ibv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/provider/ibv/devices"
	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/provider/ibv/presence"
	"github.com/weft-fabric/weft/verbs/driver"
)

// queuePair is one end of a reliable connection.
//
// The device flushes what it was given when it goes to the error state. What is posted afterwards never reaches it: rxe would not flush a
// receive. It waits behind the device's, and is flushed here when the device has flushed the last of its own.
type queuePair struct {
	domain           *domain
	queue            *completionQueue
	native           *native.Pair
	pool             *sharedReceives // nil: receives of its own
	config           driver.QueueConfig
	slot, generation uint32

	state   driver.State
	access  driver.Access
	checked driver.Access // what the device checks by: access, as soon as a change has completed
	psn     uint32
	name    uint64 // of this incarnation: it changes with every Reset
	watch   *presence.Watch
	from    devices.GID // by which the peer is reached; zero on InfiniBand

	requests ring[request]
	receives ring[receive]
	scratch  []byte           // bytes of Inline requests that lie in several pieces, or are held; C memory
	calls    uint32           // by which requests were given to the device
	held     []driver.Request // not given yet; see hold

	windows    map[uint32]*window // by their numbers
	lastWindow uint32
	nobodys    *window // for fillNothing

	verdict    driver.Status // of the next request that the device flushes, if it is not Flushed
	hasFlushed bool          // a request has failed, or was flushed, since it is connected
	resetTag   driver.Tag
	resetting  bool
	accessTags []driver.Tag // changes of access that wait until the device is ready
	connectTag driver.Tag
	hasConnect bool          // a Connect has not completed
	connecting chan struct{} // closed when the goroutine that connects has finished; nil: there never was one
	isLinked   bool          // while Connecting: the device is ready
	isHeard    bool          // while Connecting: the peer's office has said that the peer is here, or cannot be asked
	heardBy    clock.Time    // while Connecting: when to go on without a word from there

	drainedBy clock.Time // when the device must have flushed everything; 0: it need not
	goneBy    clock.Time // when the peer's absence is taken for granted; 0: it was not heard of
	stuckAt   uint32     // the oldest request at the last look, and since when it has been the oldest
	stuckFrom clock.Time
}

// request is what must be known of a posted request when it ends: a device that fails does not say what it was asked for.
type request struct {
	tag    driver.Tag
	bytes  uint32 // of the message
	window uint32 // of Bind and Revoke
	op     driver.Op
	quiet  bool
	silent bool // the device says nothing if it succeeds

	refused bool // the device did not take it
}

func newQueuePair(d *domain, queue *completionQueue, config driver.QueueConfig) (*queuePair, error) {
	q := &queuePair{domain: d, queue: queue, config: config, access: config.Access}
	wanted := native.PairConfig{Queue: queue.native, SendDepth: config.SendDepth, RecvDepth: config.ReceiveDepth,
		Spans: config.MaxSpans, InlineBytes: config.MaxInline}
	if config.Shared != nil {
		pool, ok := config.Shared.(*sharedReceives)
		if !ok || pool.queue != queue {
			return nil, fmt.Errorf("the shared receives are of another device or completion queue: %w", driver.ErrArgument)
		}
		q.pool, wanted.Shared = pool, pool.native
	}
	var err error
	if q.native, err = d.native.NewPair(wanted); err != nil {
		return nil, explainLimit(fmt.Errorf("queue pair of depth %d and %d, %d spans, %d bytes inline: %w", config.SendDepth, config.ReceiveDepth,
			config.MaxSpans, config.MaxInline, err))
	}
	q.requests, q.receives = newRing[request](config.SendDepth), newRing[receive](config.ReceiveDepth)
	if err := q.enter(); err != nil {
		return nil, errors.Join(err, q.native.Close())
	}
	return q, nil
}

// enter makes a new queue pair a member of its completion queue, in the state New.
func (q *queuePair) enter() error {
	var ok bool
	if q.slot, q.generation, ok = q.queue.pairs.take(q); !ok {
		return fmt.Errorf("a completion queue serves at most %d queue pairs: %w", maxSlots, driver.ErrLimit)
	}
	if err := q.becomeNew(); err != nil {
		q.queue.pairs.leave(q.slot)
		return err
	}
	return nil
}

// becomeNew begins an incarnation: with a name and packet numbers of its own.
func (q *queuePair) becomeNew() error {
	if err := q.native.SetAccess(native.Init, q.port(), accessFlags(q.access)); err != nil {
		return err
	}
	q.checked = q.access
	q.psn = rand.Uint32N(bits24 + 1)
	q.name = uint64(presence.NewName())
	q.state, q.verdict, q.hasFlushed, q.drainedBy, q.goneBy = driver.New, 0, false, 0, 0
	q.queue.device.office.Register(presence.Name(q.name))
	return nil
}

func (q *queuePair) port() uint8 { return uint8(q.queue.device.choice.Port.Number) }

// Number names the queue pair within its device.
func (q *queuePair) Number() uint32 { return q.native.Number }

// Address is what a peer needs.
func (q *queuePair) Address() driver.Address {
	d := q.queue.device
	e := Endpoint{Ethernet: d.port.Ethernet, MTU: uint8(d.port.MTU), Reads: uint8(d.reads), LID: d.port.LID, Pair: q.native.Number, PSN: q.psn,
		Name: q.name, Watch: d.office.Port()}
	for _, g := range d.gids() {
		e.GIDs = append(e.GIDs, gidOf(g))
	}
	return e.Address()
}

// State asks the device where it could know better: a peer's request that was refused puts a queue pair in Error without a word, if it has
// nothing to flush.
func (q *queuePair) State() driver.State {
	if q.state == driver.Ready && !q.queue.lost {
		if state, err := q.native.State(); err == nil && state == native.ErrorState {
			q.fail(0)
		}
	}
	return q.state
}

// fail moves the queue pair to Error. The verdict is the status of the oldest request, if it is not the device that ends it; 0: the device
// does.
func (q *queuePair) fail(verdict driver.Status) {
	if q.state != driver.Ready && q.state != driver.Connecting {
		return
	}
	q.failDevice()
	q.becomeFailed(verdict) // behind that: a change of access that has waited completes with it
	q.drain()
}

func (q *queuePair) becomeFailed(verdict driver.Status) {
	q.state, q.verdict, q.goneBy = driver.Error, verdict, 0
	q.held = nil // they are flushed as what the device never had
	q.depart()
	q.endConnect(driver.RetryExceeded)
}

// depart tells the peer, if it watches, that this incarnation is over, and stops watching it.
func (q *queuePair) depart() {
	q.queue.device.office.End(presence.Name(q.name))
	if q.watch != nil {
		q.watch.Stop()
		q.watch = nil
	}
}

// drain finishes what can be finished only when the device has flushed everything, or begins to wait for that.
func (q *queuePair) drain() {
	if q.requests.given != q.requests.first || q.receives.given != q.receives.first {
		if q.drainedBy == 0 {
			q.drainedBy = clock.Real.Now().Add(drainLimit)
		}
		q.queue.watchful = true
		return
	}
	q.drainedBy = 0
	q.flushOwn()
	if q.resetting {
		q.finishReset()
	}
}

// drainLimit is how long the device may take to flush.
const drainLimit = time.Second

// flushOwn ends what the device was never given, or will not end any more.
func (q *queuePair) flushOwn() {
	for q.receives.first != q.receives.next {
		r := q.receives.at(q.receives.first)
		q.receives.first++
		q.queue.add(driver.Completion{Tag: r.tag, Queue: q.native.Number, Op: driver.OpReceive, Status: driver.Flushed})
	}
	for q.requests.first != q.requests.next {
		r := q.requests.at(q.requests.first)
		q.requests.first++
		status := q.takeVerdict(r.op)
		if r.refused {
			status = driver.LocalProtection
		}
		q.queue.add(driver.Completion{Tag: r.tag, Queue: q.native.Number, Op: r.op, Status: status})
	}
	q.requests.given, q.receives.given = q.requests.first, q.receives.first
	q.verdict = driver.OK // what is posted from now on was not under way when the queue pair failed
}

// flushedStatus returns how a request ended that the device has flushed. A Revoke in front of all others has often broken the connection
// itself, because the peer went on and was refused before the device came to report the Revoke. Whether it was done nobody can say; it is now.
func (q *queuePair) flushedStatus(r *request) driver.Status {
	status := q.takeVerdict(r.op)
	if r.op != driver.OpRevoke || q.hasFlushed || status != driver.Flushed {
		return status
	}
	q.takeBack(r.window)
	return driver.OK
}

// takeVerdict returns how a flushed request ended. What needs no receive did not wait for one: it stood before or behind what did.
func (q *queuePair) takeVerdict(op driver.Op) driver.Status {
	if q.verdict == driver.OK || q.verdict == driver.ReceiverNotReady && !op.TakesReceive() {
		return driver.Flushed
	}
	v := q.verdict
	q.verdict = driver.OK
	return v
}

// giveUp ends everything without the device. If that still works for us, that ends too.
func (q *queuePair) giveUp() {
	_ = q.native.SetState(native.ErrorState)
	q.generation = q.queue.pairs.renew(q.slot)
	q.requests.given, q.receives.given = q.requests.first, q.receives.first
	q.drain()
}

// lose is called when the device is gone.
func (q *queuePair) lose() {
	verdict := q.verdict
	if q.state == driver.Ready {
		verdict = driver.RetryExceeded
	}
	q.becomeFailed(verdict)
	q.giveUp()
}

// Close frees the queue pair in whatever state it is. What shared receives have got is kept: it belongs to the pool.
func (q *queuePair) Close() error {
	q.awaitConnect()
	q.depart()
	if q.pool != nil && !q.queue.lost {
		_ = q.native.SetState(native.ErrorState)
		q.queue.gather()
	}
	q.state = driver.Closed
	q.queue.pairs.leave(q.slot)
	if err := errors.Join(q.closeNothing(), q.native.Close()); err != nil {
		return q.queue.device.forgive(err)
	}
	native.FreeBytes(q.scratch)
	if !q.queue.lost {
		q.queue.gather() // what it has left there takes room, and is dropped
	}
	return nil
}

func gidOf(g devices.GID) GID {
	return GID{Address: gidAddress(g), Bits: uint8(g.Prefix)}
}
