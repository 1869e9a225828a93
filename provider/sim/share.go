package sim

import (
	"fmt"
	"math"

	"github.com/weft-fabric/weft/clock"
)

// slack is how much of a capacity may be left, relatively, for a resource to count as saturated. Too many only costs
// time, so it is generous against rounding.
const slack = 1e-9

// same is how much two rates may differ, relatively, and count as one: computing a share in another order must not
// move the flow's plans.
const same = 1e-12

// reshare gives max-min fair rates to the flows whose share may have changed, and plans their messages anew. A share is
// max-min fair if none can grow but at the cost of one that is not larger: if each flow crosses a saturated resource on
// which nobody has more.
//
// It looks no further than saturation reaches. A flow outside keeps its rate, and rightly: the saturated resource that
// holds it was and is without flows from inside, or it would have been pulled in; and the resources that it does share
// with the inside are saturated neither before nor after.
func (n *network) reshare(now clock.Time) {
	n.round++
	n.opened, n.met = n.opened[:0], n.met[:0]
	for _, r := range n.dirty {
		n.openDirty(r)
	}
	n.closeOver(0)
	for {
		n.fill()
		before := len(n.opened)
		n.pullSaturated()
		if len(n.opened) == before {
			break
		}
		n.closeOver(before)
	}
	n.adopt(now)
	for _, r := range n.dirty {
		res := &n.resources[r]
		res.dirty = false
		if len(res.flows) == 0 {
			res.saturated = false
		}
	}
	n.dirty = n.dirty[:0]
}

// openDirty opens the flows that a changed resource concerns: all, if it was saturated; else those that just joined.
func (n *network) openDirty(r uint32) {
	res := &n.resources[r]
	if res.saturated {
		n.pull(r)
		return
	}
	// The newest stand last, unless others left at the same instant and they moved; so look at all.
	for _, id := range res.flows {
		if n.flows.at(id).rate == 0 {
			n.openFlow(id)
		}
	}
}

// pull opens all flows of a resource.
func (n *network) pull(r uint32) {
	res := &n.resources[r]
	if res.pulled == n.round {
		return
	}
	res.pulled = n.round
	for _, id := range res.flows {
		n.openFlow(id)
	}
}

// openFlow lets a flow get a new rate in this round.
func (n *network) openFlow(id uint32) {
	f := n.flows.at(id)
	if f.marked != n.round {
		f.marked = n.round
		n.opened = append(n.opened, id)
	}
}

// closeOver pulls every resource that was saturated and is crossed by an open flow, from the opened flow first on.
func (n *network) closeOver(first int) {
	for i := first; i < len(n.opened); i++ {
		f := n.flows.at(n.opened[i])
		for _, r := range f.path[:f.hops] {
			res := &n.resources[r]
			if res.touched != n.round {
				res.touched = n.round
				n.met = append(n.met, r)
			}
			if res.saturated {
				n.pull(r)
			}
		}
	}
}

// fill is progressive filling: the resource that can give the least to each of its open flows decides their rate, and
// so on with what is left.
func (n *network) fill() {
	n.prepare()
	for n.unfrozen > 0 {
		e := n.shares.pop()
		res := &n.resources[e.index]
		if res.open == 0 {
			continue
		}
		// Giving rates away elsewhere can only have raised the share, so that a stale entry comes too early, not too late.
		share := max(res.left, 0) / float64(res.open)
		if k := shareKey(share); k > e.at {
			n.offer(e.index, k)
			continue
		}
		n.freeze(res, share)
	}
}

// prepare computes what each resource has left for the open flows.
func (n *network) prepare() {
	n.shares = n.shares[:0]
	n.unfrozen = len(n.opened)
	for _, id := range n.opened {
		n.flows.at(id).next = -1
	}
	for _, r := range n.met {
		res := &n.resources[r]
		res.left, res.open = res.capacity, len(res.flows)
		if res.pulled != n.round {
			n.setAside(res)
		}
		n.offer(r, shareKey(max(res.left, 0)/float64(res.open)))
	}
}

// setAside takes what flows that are not open keep from a resource.
func (n *network) setAside(res *resource) {
	for _, id := range res.flows {
		if f := n.flows.at(id); f.marked != n.round {
			res.left -= f.rate
			res.open--
		}
	}
}

// freeze decides the rate of the open flows of a resource.
func (n *network) freeze(res *resource, share float64) {
	for _, id := range res.flows {
		f := n.flows.at(id)
		if f.marked != n.round || f.next >= 0 {
			continue
		}
		f.next = share
		n.unfrozen--
		for _, r := range f.path[:f.hops] {
			n.resources[r].left -= share
			n.resources[r].open--
		}
	}
}

// offer puts a resource among those that decide.
func (n *network) offer(r uint32, share clock.Time) {
	n.shares.push(event{at: share, order: uint64(r), index: r})
}

// shareKey orders shares as the event queue orders times: floats that are not negative compare like their bits.
func shareKey(share float64) clock.Time { return clock.Time(math.Float64bits(share)) }

// pullSaturated pulls the resources that the new rates saturate, and remembers which those are.
func (n *network) pullSaturated() {
	for _, r := range n.met {
		res := &n.resources[r]
		if res.left <= slack*res.capacity {
			res.saturated = true
			n.pull(r)
		}
	}
}

// adopt makes the new rates those that flows move by. Flows whose rate stays keep the planned end of their message.
func (n *network) adopt(now clock.Time) {
	for _, r := range n.met {
		res := &n.resources[r]
		res.saturated = res.left <= slack*res.capacity
	}
	for _, id := range n.opened {
		f := n.flows.at(id)
		if math.Abs(f.next-f.rate) <= same*f.rate {
			continue
		}
		if !(f.next > 0) {
			panic(fmt.Sprintf("sim: flow %d over %v got a share of %v", id, f.path[:f.hops], f.next))
		}
		f.settle(now)
		f.rate = f.next
		n.plan(id)
	}
}
