package ibv

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/verbs/driver"
)

// completionQueue is where ends are reported. What the device reports goes straight to who polls; what this package has to add (the end of
// a control operation, flushes that the device does not make) waits in ready.
type completionQueue struct {
	device *Device
	native *native.Queue
	pairs  slots[queuePair]
	pools  slots[sharedReceives]

	ready    []driver.Completion // from first on; not yet polled
	first    int
	troubled []*queuePair // whose last completion was a failure, or one of a flush
	holding  []*queuePair // that have got a completion, and have something to give to the device

	lost     bool       // the device is gone, and everything under way has ended
	armed    bool       // the device will ring, or has
	bell     int        // an eventfd: Wake, and notices
	watchful bool       // something could be late
	nextLook clock.Time // when to look for it
	polls    uint32     // while it was watchful

	called     atomic.Bool // Wake was called, and no Wait has ended since
	hasNotices atomic.Bool
	mu         sync.Mutex
	notices    []notice
	isClosed   bool // guarded by mu, as notices
}

// NewCompletionQueue makes a completion queue.
func (d *Device) NewCompletionQueue(depth int) (driver.CompletionQueue, error) {
	if d.lost.Load() {
		return nil, d.errLost()
	}
	n, err := d.context.NewQueue(depth)
	if err != nil {
		return nil, explainLimit(fmt.Errorf("completion queue of depth %d: %w", depth, err))
	}
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = n.Close() // it has no members yet
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	c := &completionQueue{device: d, native: n, bell: bell}
	d.mu.Lock()
	d.queues[c] = struct{}{}
	d.mu.Unlock()
	if d.lost.Load() {
		c.tell(notice{kind: deviceLost}) // perhaps it came too late to be told
	}
	return c, nil
}

// Close frees the queue.
func (c *completionQueue) Close() error {
	c.device.mu.Lock()
	delete(c.device.queues, c)
	c.device.mu.Unlock()
	c.mu.Lock()
	c.isClosed = true
	_ = unix.Close(c.bell)
	c.mu.Unlock()
	return c.device.forgive(c.native.Close())
}

// add reports an end that the device does not report. What was polled makes room before the list grows.
func (c *completionQueue) add(w driver.Completion) {
	if len(c.ready) == cap(c.ready) && c.first > len(c.ready)/2 {
		c.ready, c.first = c.ready[:copy(c.ready, c.ready[c.first:])], 0
	}
	c.ready = append(c.ready, w)
}

// Poll takes what is ready, then what the device has.
func (c *completionQueue) Poll(into []driver.Completion) (int, error) {
	if c.hasNotices.Load() {
		c.heed()
	}
	n := c.takeReady(into)
	if n < len(into) && !c.lost {
		n += c.pollDevice(into[n:])
	}
	if n < len(into) && c.first < len(c.ready) {
		n += c.takeReady(into[n:])
	}
	if c.watchful {
		c.lookNowAndThen()
	}
	return n, nil
}

func (c *completionQueue) takeReady(into []driver.Completion) int {
	if c.first == len(c.ready) {
		return 0
	}
	n := copy(into, c.ready[c.first:])
	if c.first += n; c.first == len(c.ready) {
		c.ready, c.first = c.ready[:0], 0
	}
	return n
}

// pollDevice takes completions of the device until there are no more, or into is full.
func (c *completionQueue) pollDevice(into []driver.Completion) (n int) {
	for n < len(into) {
		batch := c.nextBatch(len(into) - n)
		for i := range batch {
			if c.settle(&batch[i], &into[n]) {
				n++
			}
			c.afterFailures()
		}
		if len(batch) < native.BatchSize {
			break
		}
	}
	return n
}

// nextBatch asks the device. One that cannot answer any more is lost: a notice will say so.
func (c *completionQueue) nextBatch(most int) []native.WC {
	batch, err := c.native.Poll(most)
	if err != nil {
		c.device.lose("its completions cannot be read: " + err.Error())
	}
	return batch
}

// gather takes everything that the device has into ready.
func (c *completionQueue) gather() (found bool) {
	for {
		batch := c.nextBatch(native.BatchSize)
		if len(batch) == 0 {
			return found
		}
		found = true
		for i := range batch {
			var w driver.Completion
			if c.settle(&batch[i], &w) {
				c.add(w)
			}
			c.afterFailures()
		}
	}
}

// settle turns a completion of the device into one of ours. It returns false if nobody waits for it any more.
func (c *completionQueue) settle(from *native.WC, into *driver.Completion) bool {
	id := ident(from.ID)
	if id.kind() == identShared {
		pool := c.pools.find(id)
		if pool == nil {
			return false
		}
		r := pool.settle(id.sequence())
		*into = driver.Completion{Tag: r.tag, Queue: from.Pair}
		pool.domain.fillArrival(r, from, into)
		return true
	}
	pair := c.pairs.find(id)
	switch {
	case pair == nil:
		return false
	case id.kind() == identMark:
		pair.passMark(id.sequence())
		return false
	case id.kind() == identRequest:
		return pair.settleRequest(id.sequence(), from, into)
	}
	return pair.settleReceive(id.sequence(), from, into)
}

// afterFailures is called when a completion stands where it is polled from: what a failure, or another end, leads to comes behind it.
func (c *completionQueue) afterFailures() {
	for _, q := range c.troubled {
		q.afterFailure()
	}
	c.troubled = c.troubled[:0]
	for _, q := range c.holding {
		q.giveHeld()
	}
	c.holding = c.holding[:0]
}

// networkOrder turns an immediate into the device's byte order, or back.
func networkOrder(imm uint32) uint32 {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return bits.ReverseBytes32(imm)
	}
	return imm
}

// statusOf translates how a request ended. What the contract has no word for is a failure of this end.
func statusOf(s native.WCStatus) driver.Status {
	switch s {
	case native.Success:
		return driver.OK
	case native.FlushError:
		return driver.Flushed
	case native.LocalLength:
		return driver.LocalLength
	case native.RemoteAccess:
		return driver.RemoteAccess
	case native.RemoteInvalid, native.RemoteOperation:
		return driver.RemoteInvalid
	case native.RetryExceeded:
		return driver.RetryExceeded
	case native.RNRExceeded:
		return driver.ReceiverNotReady
	}
	return driver.LocalProtection
}
