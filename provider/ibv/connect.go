package ibv

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/provider/ibv/presence"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Connect makes the queue pair Ready, when the device is and the peer's office has said that the peer's queue pair exists. Looking up the
// peer's link address may take a second, so a goroutine does it.
func (q *queuePair) Connect(tag driver.Tag, peer driver.Address) error {
	e, err := ParseAddress(peer)
	if err != nil {
		return err
	}
	if q.queue.device.lost.Load() {
		return q.queue.device.errLost()
	}
	if e.Pair == q.native.Number && e.Name == q.name {
		return fmt.Errorf("queue pair %d cannot connect to itself: %w", e.Pair, driver.ErrArgument)
	}
	path, remote, err := q.pathTo(e)
	if err != nil {
		return err
	}
	q.state, q.connectTag, q.hasConnect, q.connecting = driver.Connecting, tag, true, make(chan struct{})
	q.isLinked, q.isHeard = false, true // of a peer without an office nothing is ever heard
	if e.Watch != 0 && e.Name != 0 && remote.IsValid() {
		q.isHeard, q.heardBy = false, clock.Real.Now().Add(q.queue.device.limits.PeerTimeout)
		q.queue.watchful = true
		q.watchPeer(e, netip.AddrPortFrom(remote, e.Watch))
	}
	go q.runConnect(path, q.name, q.connecting)
	return nil
}

// runConnect is the goroutine of one Connect. The queue pair's owner waits for it before it does anything else to the device's queue pair.
func (q *queuePair) runConnect(path native.Path, name uint64, finished chan struct{}) {
	defer close(finished)
	q.queue.tell(notice{kind: connected, pair: q, name: name, err: q.native.Connect(&path)})
}

// awaitConnect waits for the goroutine, if there is one. Its notice finds a queue pair that connects no more, or that is closed.
func (q *queuePair) awaitConnect() {
	if q.connecting != nil {
		<-q.connecting
	}
}

// finishConnect is called when the goroutine has reported.
func (q *queuePair) finishConnect(err error) {
	if q.state != driver.Connecting {
		q.failLinked(err)
		return
	}
	if err != nil {
		q.queue.device.log.Warn("an RDMA connection could not be made", "device", q.queue.device.Name(), "reason", err)
		q.fail(0)
		return
	}
	q.isLinked = true
	q.changeWaiting()
	q.becomeReady()
}

// failLinked is called when the queue pair failed while the goroutine connected it. Not every device keeps the two apart (rxe): it may have
// become ready behind its failure.
func (q *queuePair) failLinked(err error) {
	if q.state == driver.Error && err == nil {
		_ = q.native.SetState(native.ErrorState) // if it fails, it is there
	}
}

// becomeReady completes a Connect if both the device and the peer's office have said their word.
func (q *queuePair) becomeReady() {
	if q.state != driver.Connecting || !q.isLinked || !q.isHeard {
		return
	}
	q.state = driver.Ready
	q.endConnect(driver.OK)
	q.State() // the peer may have been refused something already, and the event of that come too early
}

// endConnect completes a Connect, and changes of access that still wait for it.
func (q *queuePair) endConnect(status driver.Status) {
	if !q.hasConnect {
		return
	}
	q.hasConnect = false
	q.queue.add(driver.Completion{Tag: q.connectTag, Queue: q.native.Number, Op: driver.OpConnect, Status: status})
	q.changeWaiting()
}

// changeWaiting makes the changes of access that have waited until the device was ready, or never will be.
func (q *queuePair) changeWaiting() {
	tags := q.accessTags
	q.accessTags = nil
	for _, tag := range tags {
		q.changeAccess(tag)
	}
}

// watchPeer has the office tell whether the peer's incarnation exists, and when it is over.
func (q *queuePair) watchPeer(e Endpoint, at netip.AddrPort) {
	name := q.name // the owner may be at the next incarnation when a word comes
	q.watch = q.queue.device.office.Watch(presence.Name(e.Name), at, func(w presence.Word) {
		q.queue.tell(notice{kind: peerWord, pair: q, name: name, word: w})
	})
}

// hear is called with the word on the peer. If nothing can be known of it, the connection is taken for good: the device finds out when it is
// used.
func (q *queuePair) hear(w presence.Word) {
	if w == presence.Gone {
		q.hearGone()
		return
	}
	q.isHeard = true
	q.becomeReady()
}

// hearGone is called when the peer's incarnation is over. Requests under way get the time that their answers, which may be refusals, need to
// come in.
func (q *queuePair) hearGone() {
	if q.requests.first == q.requests.next {
		q.fail(0)
		return
	}
	q.goneBy = clock.Real.Now().Add(answersNeed)
	q.queue.watchful = true
}

const answersNeed = 250 * time.Millisecond
