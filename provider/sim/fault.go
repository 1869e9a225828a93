package sim

import (
	"fmt"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Crash stops a node: its memory is gone, its loops get no more turns, and its objects answer ErrCrashed. What it had
// put on the wire still lands. Its peers notice within PeerTimeout, each at a time of its own. It fails with
// driver.ErrArgument if there is no such node, and with driver.ErrClosed if it is down already.
func (f *Fabric) Crash(name string) error {
	n, err := f.find(name)
	if err != nil {
		return err
	}
	d := n.device
	if d == nil {
		return fmt.Errorf("sim: crash %s: it is down already: %w", name, driver.ErrClosed)
	}
	f.trace(n, Event{Kind: Crashed})
	d.dead = true
	n.device = nil
	// All lose their ties before any is closed: else those that waited for each other would be flushed, and say goodbye.
	for _, q := range d.pairs {
		q.chained, q.waitsFor = nil, nil
		if q.state == driver.Ready {
			f.fallSilent(q.peer, q.peerEpoch)
		}
	}
	for _, q := range d.pairs {
		q.becomeClosed()
		q.unpin()
	}
	for _, c := range d.queues {
		c.drop()
	}
	d.pairs, d.queues, d.memories, d.keys = nil, nil, nil, nil
	return nil
}

// fallSilent makes a queue pair notice that nothing is heard from its peer. NICs find out by retries that begin when
// they have something to send, so it is after half of PeerTimeout at least; and without jitter after all of it.
func (f *Fabric) fallSilent(q *queuePair, epoch uint32) {
	if q.state != driver.Ready || q.epoch != epoch {
		return
	}
	timeout := clock.Time(f.config.PeerTimeout)
	if f.config.Jitter > 0 {
		timeout -= clock.Time(float64(timeout) / 2 * f.random.Float64())
	}
	q.plan(f.after(timeout), evSilence, q.silence)
}

// Restart gives a node that crashed, or was closed, a new life: a fresh and empty device. It fails with
// driver.ErrArgument if there is no such node, or if it is up.
func (f *Fabric) Restart(name string) (*Device, error) {
	n, err := f.find(name)
	if err != nil {
		return nil, err
	}
	if n.device != nil {
		return nil, fmt.Errorf("sim: restart %s: it is up: %w", name, driver.ErrArgument)
	}
	f.trace(n, Event{Kind: Restarted})
	return f.start(n), nil
}

// Partition cuts the network: nodes reach each other only within a group. Nodes that no group names are a group of
// their own. Messages across the cut are held; if it ends within PeerTimeout they arrive, else the connections break. A
// partition replaces the one before; one without groups is Heal. It fails with driver.ErrArgument, and changes nothing, if
// a name is unknown or stands twice.
func (f *Fabric) Partition(groups ...[]string) error {
	sides := make([]int, len(f.nodes))
	for i, group := range groups {
		for _, name := range group {
			n, err := f.find(name)
			if err != nil {
				return err
			}
			if sides[n.index] != 0 {
				return fmt.Errorf("sim: partition: node %s is named twice: %w", name, driver.ErrArgument)
			}
			sides[n.index] = i + 1
		}
	}
	f.trace(nil, Event{Kind: Cut})
	f.regroup(sides)
	return nil
}

// Heal ends a partition. If there is none, it changes nothing.
func (f *Fabric) Heal() {
	f.trace(nil, Event{Kind: Healed})
	f.regroup(make([]int, len(f.nodes)))
}

// severed reports whether a partition stands between two ends.
func (f *Fabric) severed(a, b *queuePair) bool { return f.cut && a.node.group != b.node.group }

// regroup puts each node on its side, and lets every connection that is cut or mended by that know.
func (f *Fabric) regroup(sides []int) {
	was := make([]bool, len(f.pairs))
	for i, q := range f.pairs {
		was[i] = q != nil && q.state == driver.Ready && f.severed(q, q.peer)
	}
	f.cut = false
	for i, n := range f.nodes {
		n.group = sides[i]
		f.cut = f.cut || sides[i] != 0
	}
	for i, q := range f.pairs {
		switch {
		case q == nil:
		case q.state == driver.Connecting && q.connecting.hello:
			q.tryConnect()
		case q.state != driver.Ready || was[i] == f.severed(q, q.peer):
		case was[i]:
			q.mend()
		default:
			f.fallSilent(q, q.epoch)
		}
	}
}

// hold keeps a message that a partition stops, as long as its sender would repeat it.
func (f *Fabric) hold(i uint32, r *request, from *queuePair) {
	if r.dropped || from.state != driver.Ready || r.stage == returning && from.epoch != r.toEpoch {
		f.lose(i)
		return
	}
	from.held.push(f, i)
}

// mend lets travel on what a partition held. The bytes need not cross the links again: only the latency is paid.
func (q *queuePair) mend() {
	f := q.fabric
	// What was silent because of the cut is heard again; what crashed meanwhile is not.
	if !q.peer.device.dead {
		q.silence++
	}
	for q.held.head != 0 {
		q.arrive(q.held.pop(f), q.latency+f.jitter(q.latency))
	}
	if q.goneHeld {
		q.goneHeld = false
		q.plan(f.after(q.latency), evGone, q.epoch)
	}
}

// SlowNode sets the rate of a node's NIC to a fraction of what it was made with, also of a node that is down. It fails with
// driver.ErrArgument if there is no such node, or if factor is not from a millionth up to 1.
func (f *Fabric) SlowNode(name string, factor float64) error {
	n, err := f.find(name)
	if err != nil {
		return err
	}
	if err := checkFactor(factor); err != nil {
		return fmt.Errorf("sim: slow node %s: %w", name, err)
	}
	f.trace(n, Event{Kind: Slowed})
	n.slow = factor
	f.network.setCapacity(n.tx, n.capacity())
	f.network.setCapacity(n.rx, n.capacity())
	return nil
}

// SlowLink sets the rate between two nodes, each way, to a fraction of what the slower NIC was made with. It fails with
// driver.ErrArgument if one of the nodes does not exist, if both are one, or if factor is not from a millionth up to 1.
func (f *Fabric) SlowLink(a, b string, factor float64) error {
	from, err := f.find(a)
	if err != nil {
		return err
	}
	to, err := f.find(b)
	if err != nil {
		return err
	}
	if err := checkFactor(factor); err != nil {
		return fmt.Errorf("sim: slow link %s–%s: %w", a, b, err)
	}
	if from == to {
		return fmt.Errorf("sim: slow link %s–%s: that is one node: %w", a, b, driver.ErrArgument)
	}
	f.trace(from, Event{Kind: Slowed})
	f.trace(to, Event{Kind: Slowed})
	rate := bytesPerNanosecond(min(from.config.Rate, to.config.Rate)) * factor
	f.setLink(from, to, rate)
	f.setLink(to, from, rate)
	return nil
}

// Pause has the host of a node do something else for a while, as when an operating system runs another process: its driven
// loops get no turns, and its NIC goes on with what it was given. It fails with driver.ErrArgument if there is no such
// node or d is not from 0 up to an hour, and with driver.ErrClosed if the node is down.
func (f *Fabric) Pause(name string, d time.Duration) error {
	n, err := f.find(name)
	switch {
	case err != nil:
		return err
	case d < 0 || d > time.Hour:
		return fmt.Errorf("sim: pause %s: %v is not in 0 … %v: %w", name, d, time.Hour, driver.ErrArgument)
	case n.device == nil:
		return fmt.Errorf("sim: pause %s: it is down: %w", name, driver.ErrClosed)
	}
	f.trace(n, Event{Kind: Paused})
	for _, c := range n.device.queues {
		c.paused = max(c.paused, f.now.Add(d))
	}
	return nil
}

// minFactor is how slow a fault makes a rate at most.
const minFactor = 1e-6

// checkFactor refuses a rate of nothing: a flow without a share would never end. A cut is what Partition is for.
func checkFactor(factor float64) error {
	if !(factor >= minFactor && factor <= 1) {
		return fmt.Errorf("factor %g is not in %g … 1: %w", factor, minFactor, driver.ErrArgument)
	}
	return nil
}

// setLink limits one direction between two nodes, also for the connections that there are.
func (f *Fabric) setLink(from, to *node, rate float64) {
	key := [2]uint32{from.index, to.index}
	if link, ok := f.links[key]; ok {
		f.network.setCapacity(link, rate)
		return
	}
	link := f.network.addResource(rate)
	f.links[key] = link
	f.network.setCapacity(link, rate)
	for _, q := range f.pairs {
		if q != nil && q.state == driver.Ready && q.node == from && q.peer.node == to {
			f.network.reroute(q.flow, f.path(from, to))
		}
	}
}
