package sim

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

const addressPrefix = "sim:"

// connecting is what a queue pair knows of the peer it wants.
type connecting struct {
	tag    driver.Tag
	node   *node
	number uint32
	epoch  uint32
	hello  bool // the wish has made its round trip
}

// Address is readable: sim:node3/qp17#2 is queue pair 17 of node3, and 2 changes with every Reset and every life.
func (q *queuePair) Address() driver.Address {
	return driver.Address(fmt.Sprintf("%s%s/qp%d#%d", addressPrefix, q.node.name, q.number, q.epoch))
}

// parseAddress finds out whom an address names.
func (f *Fabric) parseAddress(a driver.Address) (c connecting, err error) {
	bad := func(why string) error {
		return fmt.Errorf("address %q %s: %w", truncate(string(a)), why, driver.ErrArgument)
	}
	rest, ok := strings.CutPrefix(string(a), addressPrefix)
	if !ok {
		return c, bad("does not begin with " + addressPrefix)
	}
	name, rest, ok := strings.Cut(rest, "/qp")
	if !ok {
		return c, bad("has no /qp after the node's name")
	}
	number, epoch, ok := strings.Cut(rest, "#")
	if !ok {
		return c, bad("has no # after the queue pair's number")
	}
	if c.number, ok = parseNumber(number); !ok {
		return c, bad("has a queue pair number that is none")
	}
	if c.epoch, ok = parseNumber(epoch); !ok {
		return c, bad("has an epoch that is no number")
	}
	if c.node = f.names[name]; c.node == nil {
		return c, bad("names a node that does not exist")
	}
	return c, nil
}

// truncate keeps errors about garbage short.
func truncate(s string) string { return s[:min(len(s), 2*maxName)] }

// parseNumber reads a number from 1 to the largest uint32.
func parseNumber(s string) (uint32, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil && n > 0
}

// Connect asks for a connection. It completes at both ends when both have asked, after a round trip.
func (q *queuePair) Connect(tag driver.Tag, peer driver.Address) error {
	if err := q.usable(); err != nil {
		return err
	}
	if q.state != driver.New {
		return fmt.Errorf("sim: connect %s: it is %v, not New", q.name(), q.state)
	}
	f := q.fabric
	c, err := f.parseAddress(peer)
	if err != nil {
		return fmt.Errorf("sim: connect %s: %w", q.name(), err)
	}
	if c.node == q.node && c.number == q.number {
		return fmt.Errorf("sim: connect %s: it cannot connect to itself: %w", q.name(), driver.ErrArgument)
	}
	c.tag = tag
	q.connecting = c
	q.state = driver.Connecting
	q.latency = f.delay.network[distance(q.node, c.node)]
	way := f.delay.doorbell + q.latency + f.jitter(q.latency)
	q.plan(f.after(f.delay.post+2*way), evHello, q.epoch)
	q.plan(f.now.Add(f.config.PeerTimeout), evGiveUp, q.epoch)
	return nil
}

// distance is how far apart two nodes are: an index of delays.network.
func distance(a, b *node) int {
	switch {
	case a == b:
		return sameNode
	case a.config.Rack == b.config.Rack:
		return sameRack
	}
	return otherRack
}

// stepHello is the moment at which the wish to connect has made its round trip. Whoever is second connects both.
func (q *queuePair) stepHello(epoch uint32) bool {
	if q.epoch != epoch || q.state != driver.Connecting {
		return false
	}
	q.connecting.hello = true
	q.tryConnect()
	return true
}

// stepGiveUp is the moment at which a peer that has not connected by now counts as silent.
func (q *queuePair) stepGiveUp(epoch uint32) bool {
	if q.epoch != epoch || q.state != driver.Connecting {
		return false
	}
	q.becomeError(driver.RetryExceeded)
	return true
}

// wants reports whether the queue pair asks for a connection with peer as it is now.
func (q *queuePair) wants(peer *queuePair) bool {
	c := &q.connecting
	return q.state == driver.Connecting && c.hello &&
		c.node == peer.node && c.number == peer.number && c.epoch == peer.epoch
}

// tryConnect makes both ends Ready if both want it and can hear each other.
func (q *queuePair) tryConnect() {
	device := q.connecting.node.device
	if device == nil {
		return
	}
	peer := device.pair(q.connecting.number)
	if peer == nil || !q.wants(peer) || !peer.wants(q) || q.fabric.severed(q, peer) {
		return
	}
	q.becomeReady(peer)
	peer.becomeReady(q)
}

// becomeReady begins this end of a connection. Both ends do it at one instant, so that no message can meet an end
// that is not yet Ready.
func (q *queuePair) becomeReady(peer *queuePair) {
	f := q.fabric
	q.state, q.peer, q.to, q.peerEpoch = driver.Ready, peer, peer.index, peer.epoch
	peer.pins++ // until leave
	q.flow = f.network.newFlow(q.index, f.path(q.node, peer.node))
	q.arrival, q.answering, q.goneHeld = f.now, f.now, false
	q.silence++ // whatever an earlier connection feared is void
	q.tell(driver.Completion{Tag: q.connecting.tag, Queue: q.number, Op: driver.OpConnect})
}

// path lists the resources between two nodes.
func (f *Fabric) path(from, to *node) []uint32 {
	path := []uint32{from.tx}
	if f.uplink != nil && from.config.Rack != to.config.Rack {
		path = append(path, f.uplink[from.config.Rack], f.downlink[to.config.Rack])
	}
	path = append(path, to.rx)
	if link, ok := f.links[[2]uint32{from.index, to.index}]; ok {
		path = append(path, link)
	}
	return path
}

// tellPeer sends word that this end leaves, behind everything that it has sent.
func (q *queuePair) tellPeer() {
	f := q.fabric
	at := max(f.after(q.latency+f.delay.land), q.arrival, q.answering)
	q.peer.plan(at, evGone, q.peerEpoch)
}

// stepGone is the moment at which the peer's word that it left arrives.
func (q *queuePair) stepGone(epoch uint32) bool {
	if q.epoch != epoch || q.state != driver.Ready {
		return false
	}
	if f := q.fabric; f.severed(q, q.peer) {
		q.goneHeld = true // mend repeats it; if the cut lasts, silence says the same
		return true
	}
	q.becomeError(driver.RetryExceeded)
	return true
}

// stepSilence is the moment at which too long nothing was heard from the peer.
func (q *queuePair) stepSilence(gen uint32) bool {
	if q.silence != gen || q.state != driver.Ready {
		return false
	}
	q.becomeError(driver.RetryExceeded)
	return true
}

// leave ends this end's part in a connection: nothing is sent any more, nothing waits here, and nothing is lent.
func (q *queuePair) leave() {
	f := q.fabric
	q.takeBackAll()
	q.pumpAt = clock.Never
	// While Ready one pin on the peer stands for all requests, so that sending does not touch the peer. Those that are still
	// on their way need their own from now on: see release.
	q.peer.pins += q.abroad
	q.abroad = 0
	for _, l := range []*list{&q.out, &q.held, &q.inbound} {
		for l.head != 0 {
			f.lose(l.pop(f))
		}
	}
	if q.flowing {
		f.network.leave(q.flow)
	}
	f.network.flows.give(q.flow)
	q.flow, q.moving, q.flowing = 0, false, false
	q.peer.unpin()
}
