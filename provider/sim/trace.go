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
	Changed               // a change of access, a Bind, a Revoke or a Reset took effect
	Failed                // a queue pair went to Error
	Crashed               // a node stopped
	Restarted             // a node came back
	Cut                   // a partition began or changed
	Healed                // a partition ended
	Slowed                // a node or a link changed its rate
	Paused                // a node's host stopped for a while
	kindCount
)

var kindNames = [kindCount]string{"Posted", "Started", "Sent", "Landed", "Completed", "Changed", "Failed", "Crashed",
	"Restarted", "Cut", "Healed", "Slowed", "Paused"}

func (k Kind) String() string {
	if k < kindCount {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", k)
}

// Event is something that a protocol could notice. Together they decide the trace hash. Node, Queue and Tag name a
// request from Posted to Completed, whichever end a stage happens at.
type Event struct {
	Time   clock.Time
	Tag    driver.Tag
	Node   uint32 // the node that it is about, or whose request it is: see NodeName; of Cut and Healed, meaningless
	Peer   uint32 // the node that responds to a request, from Started on; of all else, meaningless. The hash leaves it out: Queue tells it
	Queue  uint32 // number of that node's queue pair; 0: none
	Bytes  uint32
	Kind   Kind
	Op     driver.Op
	Status driver.Status
}

// trace takes an event into the hash and tells the observer. Time and Node are filled in here.
func (f *Fabric) trace(n *node, e Event) {
	if n != nil {
		e.Node = n.index
	}
	f.traceOf(e)
}

// traceOf is trace of an event whose Node is filled in.
func (f *Fabric) traceOf(e Event) {
	e.Time = f.now
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

// NodeName is the name of the node that events call number: from 0, in the order of NewDevice. Of no node it is "".
func (f *Fabric) NodeName(number uint32) string {
	if int(number) >= len(f.nodes) {
		return ""
	}
	return f.nodes[number].name
}

// stir mixes one word into a hash: multiply by an odd constant with well spread bits, and bring the high half down.
func stir(h, word uint64) uint64 {
	return bits.RotateLeft64((h^word)*0x9e3779b97f4a7c15, 29)
}

// traceRequest reports a stage of a request.
func (f *Fabric) traceRequest(k Kind, r *request) {
	e := Event{Kind: k, Node: r.node, Tag: r.tag, Queue: r.number, Bytes: r.bytes, Op: r.op, Status: r.status}
	if r.to != 0 && f.config.Observe != nil {
		e.Peer = f.pairs[r.to].node.index
	}
	f.traceOf(e)
}

// TraceHash is a hash of everything that a protocol could have noticed so far. The same seed and the same program give
// the same hash; a difference between two runs is a difference between their traces.
func (f *Fabric) TraceHash() uint64 { return f.hash }
