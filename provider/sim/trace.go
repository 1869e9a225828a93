package sim

import (
	"fmt"
	"math/bits"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Kind says what an Event reports.
type Kind uint8

// The stages of a request, in their order, and what else a protocol could notice.
const (
	Posted    Kind = iota // a request or a receive was handed over
	Started               // the NIC began to send it
	Sent                  // the last byte left; of a Read, the answer's last byte left the responder
	Landed                // it took effect at the responder
	Completed             // its completion was queued; also for receives and for what is not data
	Accessed              // a change of access took effect
	Failed                // a queue pair went to Error
	Crashed               // a node stopped
	Restarted             // a node came back
	Cut                   // a partition began or changed
	Healed                // a partition ended
	Slowed                // a node or a link changed its rate
	kindCount
)

var kindNames = [kindCount]string{"Posted", "Started", "Sent", "Landed", "Completed", "Accessed", "Failed", "Crashed",
	"Restarted", "Cut", "Healed", "Slowed"}

func (k Kind) String() string {
	if k < kindCount {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", k)
}

// Event is something that a protocol could notice. Together they decide the trace hash.
type Event struct {
	Time   clock.Time
	Tag    driver.Tag
	Node   uint32 // number of the node at which it happened, from 0 in the order of NewDevice
	Queue  uint32 // number of the queue pair that posted the request; 0: none
	Bytes  uint32
	Kind   Kind
	Op     driver.Op
	Status driver.Status
}

// trace takes an event into the hash and tells the observer.
func (f *Fabric) trace(e Event) {
	h := f.hash
	h = stir(h, uint64(e.Time))
	h = stir(h, uint64(e.Tag))
	h = stir(h, uint64(e.Node)<<32|uint64(e.Queue))
	h = stir(h, uint64(e.Bytes)<<32|uint64(e.Kind)<<16|uint64(e.Op)<<8|uint64(e.Status))
	f.hash = h
	if f.config.Observe != nil {
		f.config.Observe(e)
	}
}

// stir mixes one word into a hash: multiply by an odd constant with well spread bits, and bring the high half down.
func stir(h, word uint64) uint64 {
	return bits.RotateLeft64((h^word)*0x9e3779b97f4a7c15, 29)
}

// traceRequest reports a stage of a request, at the node where it happens.
func (f *Fabric) traceRequest(k Kind, n *node, r *request) {
	f.trace(Event{Time: f.now, Tag: r.tag, Node: n.index, Queue: f.pairs[r.pair].number, Bytes: r.bytes, Kind: k, Op: r.op,
		Status: r.status})
}

// traceNode reports what happens to a whole node.
func (f *Fabric) traceNode(k Kind, n *node) {
	f.trace(Event{Time: f.now, Node: n.index, Kind: k})
}

// TraceHash is a hash of everything that a protocol could have noticed so far. The same seed and the same program give
// the same hash; a difference between two runs is a difference between their traces.
func (f *Fabric) TraceHash() uint64 { return f.hash }
