package sim

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// queuePair is one end of a connection. What it does as the requester stands in request.go and flow.go, as the
// responder in respond.go and receive.go, and how it connects in connect.go.
//
// Events come to queue pairs in the order of time, which is no order in memory: in a large simulation each one waits for
// the cache lines that it touches. So the fields stand together in lines of 64 bytes by what they are used for.
type queuePair struct {
	// Whatever happens.
	fabric *Fabric
	recent *memory // the one that its messages came from, or went to, last
	queue  *completionQueue
	index  uint32 // its slot in Fabric.pairs
	pins   int32  // what names the slot: the program until Close, the peer while Ready, requests, and planned events
	number uint32 // in the device, from 1, and never the same again
	epoch  uint32 // of its address; a connection is one pair of epochs
	home   uint32 // its node's index

	state    driver.State
	access   driver.Access
	goneHeld bool       // the peer said that it left, but a partition holds the message
	stopped  bool       // a request failed locally: nothing behind it starts
	moving   bool       // the first of out is on the flow
	flowing  bool       // the flow is active
	draining bool       // an event will look at inbound
	parked   bool       // it stands in shared.waiting
	latency  clock.Time // one way to the peer, without jitter

	// Sending. Requests in posting order are linked through request.next: head is the oldest that has not completed, start
	// the first that has not started.
	head, tail, start uint32
	out               list       // messages that wait for the flow, the first one perhaps moving: requests, and answers to Reads
	flow              uint32     // in network.flows; 0: not connected
	pumpGen           uint32     // of the events that look at out
	to                uint32     // the peer's slot
	pumpAt            clock.Time // when the next one will; Never: none planned
	arrival           clock.Time // of the latest message to the peer: messages do not overtake
	node              *node
	peerEpoch         uint32
	abroad            int32 // requests that name the peer, while Ready: see leave

	// Receiving.
	receives  ring[receive]
	inbound   list       // messages that wait for a receive, and those behind them
	answering clock.Time // of the latest answer to the peer
	account   account    // its completions that wait to be polled
	arrived   uint64     // messages received since the last Reset

	// What only some have.
	shared       *sharedReceives // nil: receives of its own
	chained      []*queuePair    // whose next request waits for arrived: those whose waitsFor is this one
	peer         *queuePair      // from Ready until the next Reset
	domain       *Domain
	windows      *windows   // nil: it never had one
	reads        int32      // Reads and atomics that have started and not taken effect
	silence      uint32     // generation of the events that report a silent peer
	waitsFor     *queuePair // the one on which the request start waits for a message
	awaited      int32      // requests of the device that wait for arrived and have not started
	patience     uint32     // generation of the events that end the wait of inbound
	held         list       // messages of this end that a partition stopped
	device       *Device
	connecting   connecting
	receiverWait time.Duration
}

// NewQueuePair makes a queue pair. The configuration is as package verbs has checked it.
func (d *Domain) NewQueuePair(config driver.QueueConfig) (driver.QueuePair, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	device := d.device
	if len(device.pairs) == maxQueuePairs || device.numbers == math.MaxUint32 {
		return nil, fmt.Errorf("sim: %s has %d queue pairs of %d, and has had %d of %d: %w", device.node.name,
			len(device.pairs), maxQueuePairs, device.numbers, uint32(math.MaxUint32), driver.ErrLimit)
	}
	q := &queuePair{
		fabric: device.fabric, node: device.node, home: device.node.index, device: device, domain: d,
		queue: config.Completions.(*completionQueue), access: config.Access, receiverWait: config.ReceiverWait,
		account: account{record: config.Record},
	}
	q.shared, _ = config.Shared.(*sharedReceives) // nil stays nil
	device.fabric.enterPair(q)
	device.numbers++
	q.number = device.numbers
	device.pairs = append(device.pairs, q)
	q.becomeNew()
	d.children++
	q.queue.users++
	if q.shared != nil {
		q.shared.users++
	}
	return q, nil
}

// Number names the queue pair within its device.
func (q *queuePair) Number() uint32 { return q.number }

// State is where the queue pair stands.
func (q *queuePair) State() driver.State { return q.state }

// usable says why the queue pair cannot be used, if it cannot.
func (q *queuePair) usable() error {
	switch {
	case q.state != driver.Closed:
		return nil
	case q.device.dead:
		return q.device.crashed()
	}
	return fmt.Errorf("sim: %s is %w", q.name(), driver.ErrClosed)
}

// name names the queue pair in errors.
func (q *queuePair) name() string {
	return fmt.Sprintf("queue pair %d of %s", q.number, q.node.name)
}

// becomeNew makes the queue pair fit to connect, under a fresh address.
func (q *queuePair) becomeNew() {
	q.node.epochs++
	q.epoch = q.node.epochs
	q.state = driver.New
	q.peer = nil
	q.connecting = connecting{}
	q.arrived = 0
	q.stopped = false
	q.pumpAt = clock.Never
}

// becomeError ends the connection: the peer is told, and what is outstanding completes, the oldest request with the
// status oldest and everything else as Flushed.
func (q *queuePair) becomeError(oldest driver.Status) {
	f := q.fabric
	f.trace(q.node, Event{Kind: Failed, Queue: q.number, Status: oldest})
	was := q.state
	q.state = driver.Error
	if was == driver.Connecting {
		q.tell(driver.Completion{Tag: q.connecting.tag, Queue: q.number, Op: driver.OpConnect, Status: oldest})
		oldest = driver.Flushed
	}
	if was == driver.Ready {
		q.tellPeer()
		q.leave()
	}
	q.flushRequests(oldest)
	q.flushReceives()
	q.endChained()
}

// becomeClosed drops everything without a word to the program, nor to the peer.
func (q *queuePair) becomeClosed() {
	was := q.state
	q.state, q.recent = driver.Closed, nil
	if was == driver.Ready {
		q.leave()
	}
	q.dropRequests()
	for q.receives.count > 0 {
		q.fabric.dropSpans(q.receives.pop().spans)
	}
	q.receives = ring[receive]{}
	if q.parked {
		q.shared.waiting = without(q.shared.waiting, q)
	}
	q.endChained()
}

// SetAccess changes this end's gate. It takes Costs.Access, and effect at one instant.
func (q *queuePair) SetAccess(tag driver.Tag, access driver.Access) error {
	if err := q.usable(); err != nil {
		return err
	}
	q.fabric.control(q.fabric.delay.access, control{op: driver.OpQueueAccess, pair: q, queue: q.queue, tag: tag,
		access: access})
	return nil
}

// Reset flushes at once, and makes the queue pair New when it completes, after Costs.Reset. Until then it is in Error.
func (q *queuePair) Reset(tag driver.Tag) error {
	if err := q.usable(); err != nil {
		return err
	}
	if q.state != driver.Error {
		q.becomeError(driver.Flushed)
	}
	q.fabric.control(q.fabric.delay.reset, control{op: driver.OpReset, pair: q, queue: q.queue, tag: tag})
	return nil
}

// Close frees the queue pair; the peer is told.
func (q *queuePair) Close() error {
	if err := q.usable(); err != nil {
		return err
	}
	if q.state == driver.Ready {
		q.tellPeer()
	}
	q.becomeClosed()
	q.queue.forget(&q.account)
	i, _ := q.device.place(q.number)
	q.device.pairs = slices.Delete(q.device.pairs, i, i+1)
	q.domain.children--
	q.queue.users--
	if q.shared != nil {
		q.shared.users--
	}
	q.unpin()
	return nil
}
