package soft

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/clock"
)

// meetings is where the queue pairs of a device wait for peers of other processes, or of devices that keep to other
// lanes. Of two ends that connect, one calls and the other waits to be called (see address.calls). Neither knows who
// is first, so a call may come before it is expected, and is kept for a while.
type meetings struct {
	mu       sync.Mutex
	expected map[appointment]*life
	early    map[appointment]*earlyCall
	calls    sync.WaitGroup // goroutines that call
	ctx      context.Context
	cancel   context.CancelFunc
	lines    chan struct{} // holds one for each call that is being made: their number is limited
	progress atomic.Int64  // the clock.Time when two ends last met
}

// appointment is two lives that are to be connected, seen from one of them.
type appointment struct{ here, there lifeName }

// caller is a connection that is ready to be used, on any lane.
type caller interface {
	// meet gives the connection to q, which expects it. The lock of q's completion queue is held.
	meet(q *QueuePair, l *life)
	// refuse ends the connection, and lets the other side know why if it can.
	refuse(why error)
}

// earlyCall is a caller that was not expected yet.
type earlyCall struct {
	caller caller
	expiry *time.Timer
}

// What a device does at once. Handshakes of TLS take time of processors: where many devices share these, and all call all of their peers at
// once, none would have met anybody when the time is up.
const (
	maxCalls       = 64
	maxSecureCalls = 4
	maxEarly       = 1 << 14
)

var (
	errNobodyHere = errors.New("there is no such queue pair, or it is connected already")
	errTooEarly   = errors.New("the queue pair has not called Connect in time")
	errTooMany    = errors.New("too many calls wait for a Connect")
	errHungUp     = errors.New("the device was closed")
	errGivenUp    = errors.New("the queue pair has given up")
)

// callsAtOnce is how many calls a device makes at a time.
func (c *Config) callsAtOnce() int {
	if c.TLS != nil {
		return maxSecureCalls
	}
	return maxCalls
}

func (m *meetings) open(calls int) {
	m.expected = make(map[appointment]*life)
	m.early = make(map[appointment]*earlyCall)
	m.lines = make(chan struct{}, calls)
	m.ctx, m.cancel = context.WithCancel(context.Background())
}

// close ends all calls, and waits for those that are being made.
func (m *meetings) close() {
	m.cancel()
	m.calls.Wait()
	m.mu.Lock()
	early := m.early
	m.early = nil
	m.mu.Unlock()
	for _, e := range early {
		e.expiry.Stop()
		e.caller.refuse(errHungUp)
	}
}

// arrange sees to it that q meets its peer, by one of the lanes, or that its life is broken. The lock of q's completion
// queue is held.
func (d *Device) arrange(q *QueuePair, l *life, a address, lanes Lanes) {
	own := d.address(l)
	at := appointment{own.lifeName, a.lifeName}
	q.controls.meeting = at
	l.heard = a.secret
	m := &d.meetings
	if own.calls(a) {
		m.calls.Go(func() { d.call(q, l, a, lanes) })
		return
	}
	m.mu.Lock()
	e := m.early[at]
	delete(m.early, at)
	if e == nil {
		m.expected[at] = l
	}
	m.mu.Unlock()
	if e != nil { // it is ours, even if it is just expiring
		e.expiry.Stop()
		m.calls.Go(func() { q.meet(l, e.caller) })
	}
}

// forget says that a call was expected. Connect has ended.
func (m *meetings) forget(at appointment) {
	m.mu.Lock()
	delete(m.expected, at)
	m.mu.Unlock()
}

// call reaches the peer by the first lane that leads there. If none does, the life is broken.
func (d *Device) call(q *QueuePair, l *life, a address, lanes Lanes) {
	m := &d.meetings
	ctx, cancel := m.callContext(d.config.ConnectTimeout)
	defer cancel()
	var c caller
	line, err := m.line(ctx)
	if err == nil {
		c, err = d.dial(ctx, line, l, a, lanes)
		line.free()
	}
	if err != nil {
		d.config.Log.Warn("connect", "device", d.config.Name, "queue", l.number, "peer", a.String(), "error", err)
		if l.breakTo(phaseOrphaned) {
			l.bell.ring()
		}
		return
	}
	q.meet(l, c)
}

// line is one of those that calls are made on. It is taken until the peer is reached and knows who calls: who waits for an
// answer, perhaps in vain, must not keep others from calling.
type line struct {
	lines chan struct{}
	freed bool
}

// line waits for a free one.
func (m *meetings) line(ctx context.Context) (*line, error) {
	select {
	case m.lines <- struct{}{}:
		return &line{lines: m.lines}, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%d calls are being made already: %w", cap(m.lines), ctx.Err())
	}
}

// free lets another call be made. It may be called twice.
func (l *line) free() {
	if !l.freed {
		l.freed = true
		<-l.lines
	}
}

// dial tries the lanes in their order.
func (d *Device) dial(ctx context.Context, line *line, l *life, a address, lanes Lanes) (c caller, err error) {
	if lanes.has(SharedMemory) {
		if c, err = d.dialShared(ctx, line, l, a); err == nil || !lanes.has(TCP) {
			return c, err
		}
		d.config.Log.Info("shared memory refused, going on by TCP", "device", d.config.Name, "peer", a.String(), "error", err)
	}
	return d.dialTCP(ctx, line, l, a)
}

// answer hands an incoming call to the queue pair that expects it, keeps it if it may be expected soon, or refuses it.
func (d *Device) answer(at appointment, c caller) {
	q := d.queuePair(at.here.number)
	if q == nil {
		c.refuse(errNobodyHere)
		return
	}
	if l := q.life.Load(); l.epoch != at.here.epoch || l.phase() > phaseConnecting {
		c.refuse(errNobodyHere)
		return
	}
	if l, err := d.meetings.expects(at, c, d.config.ConnectTimeout); err != nil {
		c.refuse(err)
	} else if l != nil {
		q.meet(l, c)
	}
}

// expects returns the life that expects a call, or keeps the call for later.
func (m *meetings) expects(at appointment, c caller, patience time.Duration) (*life, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.expected[at]; l != nil {
		delete(m.expected, at)
		return l, nil
	}
	switch {
	case m.early == nil:
		return nil, errHungUp
	case len(m.early) >= maxEarly:
		return nil, errTooMany
	case m.early[at] != nil:
		return nil, fmt.Errorf("somebody calls already in the name of %v", at.there)
	}
	by := m.deadline(patience)
	m.early[at] = &earlyCall{c, time.AfterFunc(patience, func() { m.expire(at, c, by) })}
	return nil, nil
}

// expire refuses a call that was kept for too long.
func (m *meetings) expire(at appointment, c caller, by deadline) {
	m.mu.Lock()
	e := m.early[at]
	mine := e != nil && e.caller == c
	left := by.left(m)
	if mine && left > 0 {
		e.expiry.Reset(left)
		mine = false
	} else if mine {
		delete(m.early, at)
	}
	m.mu.Unlock()
	if mine {
		c.refuse(errTooEarly)
	}
}

// meet gives the queue pair a connection, unless it has given up meanwhile.
func (q *QueuePair) meet(l *life, c caller) {
	q.cq.mu.Lock()
	defer q.cq.mu.Unlock()
	if q.closed.Load() || q.cq.gone != nil || q.life.Load() != l || l.phase() != phaseConnecting {
		c.refuse(errNobodyHere)
		return
	}
	c.meet(q, l)
	q.device.meetings.progress.Store(int64(clock.Real.Now()))
	l.bell.ring()
}
