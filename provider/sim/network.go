package sim

import (
	"math"
	"slices"
	"time"

	"github.com/weft-fabric/weft/clock"
)

// maxHops is how many resources a flow crosses at most: the sender's NIC, its rack's uplink, the other rack's
// downlink, the receiver's NIC, and a slow link.
const maxHops = 5

// flow is one direction of a busy queue pair: a stream of messages back to back. Its share does not change when one
// message ends and the next begins.
type flow struct {
	path   [maxHops]uint32 // the first hops are the resources it crosses
	place  [maxHops]uint32 // where it stands in each resource's list, while active
	hops   int
	owner  uint32 // the queue pair
	active bool

	rate  float64    // bytes a nanosecond; 0 until the instant in which it became active is over
	size  float64    // bytes of the message that is being sent
	done  float64    // of them, those sent by since
	since clock.Time // when done was true

	next   float64 // scratch of reshare: the new rate, or negative while it is open
	marked uint64  // scratch of reshare: the round in which it was opened
}

// resource is something that flows share: one direction of a NIC, of a rack's link to the spine, or of a slow link.
type resource struct {
	capacity  float64  // bytes a nanosecond
	flows     []uint32 // the active ones
	saturated bool     // by the last reshare
	dirty     bool     // its flows or its capacity changed since

	left    float64 // scratch of reshare: capacity not yet given away
	open    int     // scratch: flows without a new rate yet
	touched uint64  // scratch: the round in which it was met
	pulled  uint64  // scratch: the round in which all its flows were opened
}

// network is the part of the fabric that knows how bytes share links, and nothing else.
type network struct {
	flows     slab[flow]
	resources []resource
	finish    finishQueue
	places    []int32       // of flows in finish
	dirty     []uint32      // resources
	order     func() uint64 // numbers events, across this and the fabric's queue
	round     uint64
	opened    []uint32 // scratch: flows that get a new rate
	met       []uint32 // scratch: resources that they cross
	unfrozen  int      // scratch: opened flows without a new rate yet
	shares    heap     // scratch: resources by the share that each could give
}

// addResource adds something to share. Resources are never taken away: there are a few for each node.
func (n *network) addResource(capacity float64) uint32 {
	n.resources = append(n.resources, resource{capacity: capacity})
	return uint32(len(n.resources) - 1)
}

// setCapacity changes a resource's capacity from now on.
func (n *network) setCapacity(r uint32, capacity float64) {
	n.resources[r].capacity = capacity
	// Saturated or not, everybody on it must look again.
	n.resources[r].saturated = true
	n.soil(r)
}

// soil notes that a resource's flows or capacity changed, for the end of the instant.
func (n *network) soil(r uint32) {
	if !n.resources[r].dirty {
		n.resources[r].dirty = true
		n.dirty = append(n.dirty, r)
	}
}

// newFlow makes a flow that is not active. Its owner gives it back to flows when the connection ends.
func (n *network) newFlow(owner uint32, path []uint32) uint32 {
	id := n.flows.take()
	f := n.flows.at(id)
	*f = flow{owner: owner}
	f.hops = copy(f.path[:], path)
	return id
}

// narrowest is the rate that the flow would have alone.
func (n *network) narrowest(f *flow) float64 {
	rate := math.Inf(1)
	for _, r := range f.path[:f.hops] {
		rate = min(rate, n.resources[r].capacity)
	}
	return rate
}

// join makes a flow active. It begins to move when the instant is over.
func (n *network) join(id uint32, now clock.Time) {
	f := n.flows.at(id)
	f.active, f.rate, f.done, f.since = true, 0, 0, now
	n.attach(id, f)
}

// leave ends a flow's activity.
func (n *network) leave(id uint32) {
	f := n.flows.at(id)
	f.active = false
	n.finish.remove(n, id)
	n.detach(f)
}

// reroute gives a flow another path.
func (n *network) reroute(id uint32, path []uint32) {
	f := n.flows.at(id)
	if f.active {
		n.detach(f)
	}
	f.hops = copy(f.path[:], path)
	if f.active {
		n.attach(id, f)
	}
}

// attach enters a flow in the lists of its path.
func (n *network) attach(id uint32, f *flow) {
	for i, r := range f.path[:f.hops] {
		res := &n.resources[r]
		f.place[i] = uint32(len(res.flows))
		res.flows = append(res.flows, id)
		n.soil(r)
	}
}

// detach takes a flow out of the lists of its path.
func (n *network) detach(f *flow) {
	for i, r := range f.path[:f.hops] {
		n.forget(r, f.place[i])
		n.soil(r)
	}
}

// forget takes the flow at place out of a resource's list; the last one moves there.
func (n *network) forget(r, place uint32) {
	res := &n.resources[r]
	last := len(res.flows) - 1
	moved := res.flows[last]
	res.flows[place] = moved
	res.flows = res.flows[:last]
	if int(place) < last {
		m := n.flows.at(moved)
		m.place[slices.Index(m.path[:m.hops], r)] = place
	}
}

// settle brings what is done up to now. The conversion keeps compilers from fusing the multiplication with the sum,
// which some processors round differently: a trace must be the same on all.
func (f *flow) settle(now clock.Time) {
	f.done += float64(f.rate * float64(now-f.since))
	f.since = now
}

// plan says when the message that is being sent will be through, and keeps it in finish.
func (n *network) plan(id uint32) {
	f := n.flows.at(id)
	if f.rate > 0 {
		n.finish.set(n, id, f.since.Add(time.Duration(transfer(max(f.size-f.done, 0), f.rate))), n.order())
	}
}

// forever bounds how long one thing takes, at 73 years: sums of a few still fit in a clock.Time.
const forever clock.Time = 1 << 61

// transfer is how long bytes take at a rate.
func transfer(bytes, rate float64) clock.Time {
	ns := math.Ceil(bytes / rate)
	if ns >= float64(forever) {
		return forever
	}
	return clock.Time(ns)
}

// send begins the next message of an active flow. What the last one was early by, within its last nanosecond, counts
// for this one, so that rounding does not slow a stream down.
func (n *network) send(id uint32, bytes uint32) {
	n.flows.at(id).size = float64(bytes)
	n.plan(id)
}

// sent ends the message that is being sent.
func (f *flow) sent(now clock.Time) {
	f.settle(now)
	f.done = max(f.done-f.size, 0)
}
