package ibv

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/provider/ibv/devices"
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

// pathTo says how the peer is reached, and where its host is.
func (q *queuePair) pathTo(e Endpoint) (native.Path, netip.Addr, error) {
	d := q.queue.device
	if e.Ethernet != d.port.Ethernet {
		return native.Path{}, netip.Addr{}, fmt.Errorf("one end has Ethernet, the other InfiniBand: they cannot reach each other: %w", driver.ErrArgument)
	}
	p := native.Path{LID: e.LID, Pair: e.Pair, PSN: e.PSN, LocalPSN: q.psn, Port: q.port(), MTU: min(e.MTU, uint8(d.port.MTU)),
		Reads: min(e.Reads, uint8(d.reads)), Timeout: d.timeout, Retries: retries, RNRRetries: rnrForever, MinRNRTimer: rnrTimer, HopLimit: hopLimit}
	if !e.Ethernet {
		return p, netip.Addr{}, nil
	}
	local, remote, err := devices.Match(d.choice.GIDs[:min(len(d.choice.GIDs), maxGIDs)], matchable(e.GIDs))
	if err == nil && !d.has(local) {
		err = fmt.Errorf("the address %v was taken away since the device was opened: give it back, or open the device again", local)
	}
	if err == nil {
		err = devices.Reach(local, remote)
	}
	if err != nil {
		return native.Path{}, netip.Addr{}, fmt.Errorf("%v: %w: %w", d.choice, err, driver.ErrArgument)
	}
	q.from = local
	d.path.Store(&Path{gidAddress(local), gidAddress(remote)})
	p.Global, p.GID, p.GIDIndex = true, remote.Raw, uint8(local.Index)
	return p, dialable(local, remote), nil
}

// dialable is where the host of a GID can be called. A link-local address means nothing without the interface that leads to it.
func dialable(local, remote devices.GID) netip.Addr {
	if ip := remote.IP(); ip.Is6() && ip.IsLinkLocalUnicast() {
		return ip.WithZone(local.Link)
	}
	return remote.IP()
}

// How a queue pair treats a peer that is there and has no receive ready: the device asks for ever, every 0.64 ms, and look ends it after
// ReceiverWait. The architecture's own limit ends at seven times, which is far too short or, with longer pauses, far too slow.
const (
	rnrForever = 7
	rnrTimer   = 12
	hopLimit   = 64
)

// matchable makes a peer's GIDs comparable with our own.
func matchable(list []GID) []devices.GID {
	out := make([]devices.GID, len(list))
	for i, g := range list {
		out[i] = devices.GID{Raw: g.Address.As16(), Kind: devices.KindRoCEv2, Prefix: int(g.Bits)}
	}
	return out
}

func gidAddress(g devices.GID) netip.Addr { return netip.AddrFrom16(g.Raw).Unmap() }

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
		if !r.quiet || r.op.TakesReceive() {
			return i, bytes, true
		}
	}
	return i, 0, false
}

// Reset flushes everything and returns the queue pair to New.
func (q *queuePair) Reset(tag driver.Tag) error {
	if q.queue.device.lost.Load() {
		return q.queue.device.errLost()
	}
	q.awaitConnect()
	q.depart()
	if q.state != driver.Error {
		q.state = driver.Error
		q.failDevice()
	}
	q.endConnect(driver.Flushed)
	if q.pool != nil { // what has arrived comes before the reset, in which a device may drop it
		q.queue.gather()
	}
	q.resetting, q.resetTag = true, tag
	q.drain()
	return nil
}

// finishReset is called when everything is flushed.
func (q *queuePair) finishReset() {
	q.resetting = false
	q.generation = q.queue.pairs.renew(q.slot)
	w := driver.Completion{Tag: q.resetTag, Queue: q.native.Number, Op: driver.OpReset}
	err := q.native.SetState(native.Reset)
	if err == nil {
		err = q.becomeNew()
	}
	if err != nil {
		q.queue.device.log.Error("an RDMA queue pair could not be reset", "device", q.queue.device.Name(), "reason", err)
		w.Status = driver.Flushed
	}
	q.queue.add(w)
}
