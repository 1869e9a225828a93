package ibv

import (
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/provider/ibv/presence"
	"github.com/weft-fabric/weft/verbs/driver"
)

// look finds what is late. It says whether it wants to look again.
func (q *queuePair) look(now clock.Time) bool {
	switch {
	case q.state == driver.Connecting:
		return q.lookForPeer(now)
	case q.drainedBy != 0:
		if now >= q.drainedBy {
			q.giveUp()
		}
		return q.drainedBy != 0
	case q.goneBy != 0 && now >= q.goneBy:
		q.fail(driver.RetryExceeded)
		return q.drainedBy != 0
	case q.state != driver.Ready || !q.lookForReceiver(now):
		q.stuckFrom = 0
		return q.goneBy != 0
	}
	return true
}

// lookForPeer ends the wait for word of a peer that is stopped, or whose host is silent: as if nothing could be known of it. The watch goes on.
func (q *queuePair) lookForPeer(now clock.Time) bool {
	if q.isHeard || now < q.heardBy {
		return !q.isHeard
	}
	q.queue.device.log.Warn("an RDMA peer's process does not answer: it is taken for alive", "device", q.queue.device.Name(),
		"waited", q.queue.device.limits.PeerTimeout)
	q.hear(presence.Unknown)
	return false
}

// lookForReceiver ends a Send or WriteImm that has waited for a receive at the peer for too long. A long message is given the time that it
// takes on a slow network. It returns false if the device has nothing to report.
func (q *queuePair) lookForReceiver(now clock.Time) bool {
	i, bytes, found := q.awaited()
	if !found || q.stuckFrom == 0 || q.stuckAt != i {
		q.stuckAt, q.stuckFrom = i, now
		return found
	}
	const slow = 250 * time.Nanosecond // for a byte
	transfer := time.Duration(bytes) * slow
	if q.requests.at(i).op.TakesReceive() && now.Sub(q.stuckFrom) > q.config.ReceiverWait+transfer {
		q.fail(driver.ReceiverNotReady)
	}
	return true
}

// awaited finds the oldest request that the device will report, and how many bytes travel up to its end. It may stand behind Quiet ones that
// have ended long ago, or not.
func (q *queuePair) awaited() (i uint32, bytes uint64, found bool) {
	for i = q.requests.first; i != q.requests.next; i++ {
		r := q.requests.at(i)
		bytes += uint64(r.bytes)
		if !r.silent {
			return i, bytes, true
		}
	}
	return i, 0, false
}
