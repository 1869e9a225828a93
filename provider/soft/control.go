package soft

import (
	"fmt"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// controls is what a queue pair has under way besides data.
type controls struct {
	connecting bool
	awaited    bool // the peer is in another process, and has not been met yet
	meeting    appointment
	connectTag driver.Tag
	connectBy  deadline // when to give the peer up

	grants []grant // changes of access that wait for the peer to leave the gate, oldest first

	resetting bool
	resetTag  driver.Tag
}

// grant is a change of the queue pair's access that is reported when the visitor that was seen has left.
type grant struct {
	tag  driver.Tag
	seen uint64
}

// Connect names the peer. It completes when the peer has named this queue pair too, or has not within PeerTimeout.
func (q *QueuePair) Connect(tag driver.Tag, peer driver.Address) error {
	a, err := q.checkPeer(peer)
	if err != nil {
		return err
	}
	lanes, err := q.device.lanesTo(a)
	if err != nil {
		return err
	}
	if err := q.enter(); err != nil {
		return err
	}
	defer q.cq.exit()
	l := q.life.Load()
	if err := q.exhibit(l, lanes); err != nil {
		return err
	}
	if !l.moveTo(phaseNew, phaseConnecting) {
		return fmt.Errorf("soft: queue pair %d is %v: Connect needs New", q.number, l.phase().state())
	}
	c := &q.controls
	c.connecting, c.connectTag, c.awaited = true, tag, lanes != InProcess
	c.connectBy = q.device.meetings.deadline(q.device.config.ConnectTimeout)
	if c.awaited {
		q.device.arrange(q, l, a, lanes)
	} else if p := findLife(a); p != nil {
		l.peer.Store(p)
		p.bell.ring()
	}
	q.enlist()
	return nil
}

// exhibit allocates what a peer is going to look at.
func (q *QueuePair) exhibit(l *life, lanes Lanes) error {
	if q.pool.shared || lanes.has(SharedMemory) {
		if err := l.reach(); err != nil {
			return err
		}
	}
	if !lanes.has(SharedMemory) {
		return nil
	}
	if _, err := q.cq.wakeFD(); err != nil {
		return err
	}
	return q.pool.allocate()
}

// checkPeer parses the address of a peer, and refuses one that no Connect can reach. A queue pair is no peer of its own,
// in whatever life: two of one device may connect.
func (q *QueuePair) checkPeer(peer driver.Address) (address, error) {
	a, err := parseAddress(peer)
	switch {
	case err != nil:
		return a, err
	case a.device == q.device.identity && a.number == q.number:
		return a, fmt.Errorf("soft: connect to %s: a queue pair cannot connect to itself: %w", peer, driver.ErrArgument)
	}
	return a, nil
}

// turnConnect completes a Connect whose outcome is known. A peer that was never there, is gone or has named somebody else
// will not answer any more; one that has named nobody may still do so until the time is up.
func (q *QueuePair) turnConnect(l *life) (next clock.Time, idle bool) {
	by := q.controls.connectBy.at(&q.device.meetings)
	p := l.peer.Load()
	var named *life // by the peer. Looked at once: it may change between two looks
	if p != nil {
		named = p.peer.Load()
	}
	switch {
	case l.phase() == phaseFailed, l.phase() == phaseOver:
		q.connected(driver.Flushed)
	case q.wire != nil && !l.phase().broken():
		l.moveTo(phaseConnecting, phaseReady)
		q.connected(driver.OK)
	case p == nil && !l.phase().broken() && q.controls.awaited && clock.Real.Now() < by:
		return by, false
	case l.phase().broken(), p == nil, p.phase().broken():
		q.connected(driver.RetryExceeded)
	case named == l:
		q.requester.peer, q.requester.left = p, p.gate.look()
		l.moveTo(phaseConnecting, phaseReady)
		q.connected(driver.OK)
	case named != nil, clock.Real.Now() >= by:
		q.connected(driver.RetryExceeded)
	default:
		return by, false
	}
	return clock.Never, true
}

// connected reports how Connect ended. A connection that one side gave up is no connection for the other: to a peer that
// has become Ready meanwhile this end is gone, and says so in its phase before the peer is told.
func (q *QueuePair) connected(status driver.Status) {
	q.controls.connecting = false
	if status == driver.OK {
		q.device.meetings.progress.Store(int64(clock.Real.Now()))
	}
	if q.controls.awaited {
		q.device.meetings.forget(q.controls.meeting)
	}
	q.reportControl(q.controls.connectTag, driver.OpConnect, status)
	if status != driver.OK {
		l := q.life.Load()
		l.breakTo(phaseOrphaned)
		l.announceChained()
		l.breakPeer(phaseOrphaned)
	}
}

// SetAccess changes what the peer may do through this queue pair. It completes when no operation can land any more that
// only the old access allowed.
func (q *QueuePair) SetAccess(tag driver.Tag, access driver.Access) error {
	if err := q.enter(); err != nil {
		return err
	}
	defer q.cq.exit()
	l := q.life.Load()
	l.access.Store(uint32(access))
	q.controls.grants = append(q.controls.grants, grant{tag, l.gate.look()})
	if !q.turnGrants(l) {
		q.enlist()
	}
	return nil
}

// turnGrants reports, in order, the changes of access that have come into force, and says whether all have.
func (q *QueuePair) turnGrants(l *life) bool {
	c := &q.controls
	for len(c.grants) > 0 && l.left(c.grants[0].seen) {
		q.reportControl(c.grants[0].tag, driver.OpQueueAccess, driver.OK)
		c.grants = c.grants[1:]
	}
	return len(c.grants) == 0
}

// Reset ends the present life: it flushes everything, then begins a new life and completes. If the peer is inside the
// gate, a later turn does the rest, and until then the queue pair is in Error.
func (q *QueuePair) Reset(tag driver.Tag) error {
	if err := q.enter(); err != nil {
		return err
	}
	defer q.cq.exit()
	if q.controls.resetting {
		return fmt.Errorf("soft: queue pair %d: a Reset is under way", q.number)
	}
	q.controls.resetting, q.controls.resetTag = true, tag
	q.life.Load().finish()
	q.enlist()
	q.cq.turn()
	return nil
}

// settleReset begins the new life. The old one is settled.
func (q *QueuePair) settleReset(l *life) {
	if !q.controls.resetting {
		return
	}
	q.controls.resetting = false
	status := driver.OK
	if err := q.succeed(l); err != nil {
		status = driver.Flushed // not carried out: there is no memory for another life
	} else {
		q.retire(l)
	}
	q.reportControl(q.controls.resetTag, driver.OpReset, status)
}

// succeed begins a life after l. A peer of another process that is late may still write to the receives of l, so the new
// life has others.
func (q *QueuePair) succeed(l *life) error {
	old := q.pool
	if l.lastTie() != nil && !old.shared {
		p, err := newPool(q.device, old.depth, old.maxSpans, false)
		if err != nil {
			return err
		}
		p.source, p.users = old.source, old.users
		q.pool = p
	}
	err := q.beginLife(q.device.nextEpoch())
	if err != nil {
		q.pool, old = old, q.pool
	}
	if old != q.pool {
		old.drop()
	}
	return err
}

func (q *QueuePair) reportControl(tag driver.Tag, op driver.Op, status driver.Status) {
	q.cq.reportControl(q.source, tag, q.number, op, status)
}
