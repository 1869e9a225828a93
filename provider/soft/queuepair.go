package soft

import (
	"fmt"
	"sync/atomic"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// QueuePair is one end of a connection. It implements driver.QueuePair. Except for life and closed, everything that changes is
// guarded by the lock of its completion queue.
type QueuePair struct {
	device *Device
	domain *Domain
	cq     *CompletionQueue
	bell   *bell
	number uint32
	config driver.QueueConfig
	pool   *pool   // its own, or shared
	source *source // of its completions

	life   atomic.Pointer[life] // the present one; peers look it up
	closed atomic.Bool
	busy   int // 1 + its place in cq.busy; 0: it is not there
	user   int // its place in pool.users

	requester requester
	wire      *wire  // to a peer on the TCP lane; nil: there is none, or not any more
	reaped    uint64 // arrivals of this life that were reported: up to, not including
	controls  controls
	windows   windows
}

// NewQueuePair makes a queue pair in state New. Package verbs has checked that the numbers in config are within Limits
// and that the objects are of this device and domain.
func (d *Domain) NewQueuePair(config driver.QueueConfig) (driver.QueuePair, error) {
	if err := d.bear(); err != nil {
		return nil, err
	}
	c := config.Completions.(*CompletionQueue)
	p, err := d.poolFor(&config)
	if err != nil {
		d.drop()
		return nil, err
	}
	q := &QueuePair{device: d.device, domain: d, cq: c, config: config, pool: p}
	q.source = q.pool.source
	if q.pool.shared {
		q.source = new(source)
	}
	if err := q.join(c); err != nil {
		if !p.shared {
			p.drop()
		}
		d.drop()
		return nil, err
	}
	return q, nil
}

// join makes the queue pair report to c, and gives it its number.
func (q *QueuePair) join(c *CompletionQueue) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone != nil {
		return c.gone
	}
	b, err := c.ready.add(c, q)
	if err != nil {
		return err
	}
	q.bell = b
	if err := q.device.name(q); err != nil {
		c.ready.remove(q.bell)
		return err
	}
	q.pool.addUser(q)
	c.users++
	return nil
}

// poolFor returns the pool of receives that config asks for: a shared one, or a new one.
func (d *Domain) poolFor(config *driver.QueueConfig) (*pool, error) {
	if config.Shared != nil {
		return config.Shared.(*SharedReceives).pool, nil
	}
	return newPool(d.device, config.ReceiveDepth, config.MaxSpans, false)
}

// beginLife puts the queue pair in state New. The access that was set last stays: a Reset gives nothing back that was
// revoked.
func (q *QueuePair) beginLife(epoch uint32) error {
	words, at, err := placeOne[end](q.device.arena)
	if err != nil {
		return err
	}
	access := uint32(q.config.Access)
	if old := q.life.Load(); old != nil {
		access = old.access.Load()
	}
	l := &life{end: words, endRef: at, epoch: epoch, number: q.number, secret: newSecret(), domain: q.domain, bell: q.bell, pool: q.pool,
		keys: q.domain.keys, loans: &q.windows.table, fragile: &q.domain.fragile}
	l.access.Store(access)
	q.windows.endAll()
	q.windows.table.show(l)
	l.gate.open(epoch)
	q.requester.reset()
	q.reaped = 0
	q.domain.admit(l)
	q.life.Store(l)
	return nil
}

// Number names the queue pair within its device. It is never 0.
func (q *QueuePair) Number() uint32 { return q.number }

// Address is what the peer needs to connect to the present life of the queue pair.
func (q *QueuePair) Address() driver.Address {
	return driver.Address(q.device.address(q.life.Load()).text())
}

// State returns where the queue pair stands. Peers may change it at any time.
func (q *QueuePair) State() driver.State {
	if q.closed.Load() {
		return driver.Closed
	}
	return q.life.Load().phase().state()
}

// enter takes the lock for a call of the owner, if the queue pair can still be used.
func (q *QueuePair) enter() error {
	q.cq.mu.Lock()
	if err := q.cq.begin(); err != nil {
		return err
	}
	if q.closed.Load() {
		q.cq.exit()
		return fmt.Errorf("soft: queue pair %d is %w", q.number, driver.ErrClosed)
	}
	return nil
}

// enlist is called by whoever leaves something unfinished. It gives the queue pair a part in every turn until it has nothing left to do.
func (q *QueuePair) enlist() {
	if q.busy == 0 {
		q.cq.busy = append(q.cq.busy, q)
		q.busy = len(q.cq.busy)
		q.cq.next = soon
	}
}

// delist takes the queue pair out of all turns. The last one takes its place.
func (q *QueuePair) delist() {
	if q.busy == 0 {
		return
	}
	list := q.cq.busy
	last := len(list) - 1
	list[last].busy, list[q.busy-1] = q.busy, list[last]
	list[last] = nil
	q.cq.busy, q.busy = list[:last], 0
}

// turn carries on with whatever is unfinished. It says when it wants the next turn, or that nothing is left. The order
// matters: a connection is reported before the messages that came over it, and messages that have arrived before the
// receives that are flushed.
func (q *QueuePair) turn() (next clock.Time, idle bool) {
	l := q.life.Load()
	next, idle = clock.Never, true
	if q.controls.connecting {
		next, idle = q.turnConnect(l)
	}
	if q.wire != nil && l.phase() == phaseReady {
		at, done := q.wire.turn()
		next, idle = min(next, at), idle && done
	}
	q.reap(l)
	if q.wire == nil && q.requester.backlog.count > 0 && l.phase() == phaseReady {
		next = min(next, q.advance())
		idle = idle && q.requester.backlog.count == 0
	}
	if l.phase().broken() {
		return soon, q.settle(l)
	}
	if len(q.controls.grants) > 0 && !q.turnGrants(l) {
		return soon, false
	}
	return next, idle
}

// Close frees the queue pair in whatever state it is. It waits for the peer to leave the gate, which takes no longer
// than copying a quantum.
func (q *QueuePair) Close() error {
	q.cq.mu.Lock()
	defer q.cq.mu.Unlock()
	if q.closed.Swap(true) {
		return fmt.Errorf("soft: close queue pair %d: already %w", q.number, driver.ErrClosed)
	}
	l := q.life.Load()
	l.finish()
	l.awaitLeft()
	q.abandon(l)
	q.retire(l)
	q.windows.close(q.device.arena)
	if !q.pool.shared {
		q.pool.drop()
	}
	q.device.forgetPair(q)
	q.cq.ready.remove(q.bell)
	q.delist()
	q.cq.users--
	q.domain.drop()
	return nil
}
