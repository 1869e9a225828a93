package sim

import (
	"fmt"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// stage is where a request is.
//
//	queued ──▶ outbound ──▶ travelling ──▶ (waiting ──▶) (answering ──▶) returning ──▶ done
//	               │             │             │              │             │
//	               └─────────────┴─────────────┴── lost ◀─────┴─────────────┘   the connection broke
//
// A Bind or a Revoke goes from outbound to done.
//
// In done and lost, and in queued, only the requester's queue knows it; in the other stages it stands in one list or
// one event, and whoever takes it from there must carry it on, lose it or, if it is dropped, release it.
type stage uint8

const (
	queued     stage = iota // posted, not started
	outbound                // in the requester's out
	travelling              // on the wire to the responder, or held by a partition
	waiting                 // in the responder's inbound
	answering               // a Read's bytes, in the responder's out
	returning               // an answer on the wire to the requester, or held by a partition
	done                    // its status is known; it completes in its turn
	lost                    // nobody will answer; it waits for the connection's end to be noticed
)

// request is a posted operation and everything that travels for it. It holds no pointers.
type request struct {
	tag           driver.Tag
	remote        driver.RemoteSpan
	compare, swap uint64
	local         spans
	after         driver.Arrival
	ready         clock.Time // when the NIC could send what comes next for it
	pair          uint32     // the requester
	node          uint32     // the requester's, for the trace
	number        uint32     // the requester's, for the trace
	epoch         uint32     // of the requester, since it has started
	to            uint32     // the responder, since then
	toEpoch       uint32     // of the responder: a later connection is another one
	next          uint32     // in posting order
	link          uint32     // in the list in which it stands
	payload       uint32     // in Fabric.payloads; 0: none
	bytes         uint32
	imm           uint32
	op            driver.Op
	flags         driver.Flags
	status        driver.Status
	stage         stage
	slotted       bool // the NIC's engine has reserved ready for it
	chained       bool // it had to wait for an arrival
	dropped       bool // its requester has completed or dropped it; it only travels on
}

// Post hands over requests with one doorbell. What can be wrong with a request by itself package verbs has found: see
// ADR 0002. What only the NIC can judge becomes a status.
func (q *queuePair) Post(list []driver.Request) (int, error) {
	if err := q.usable(); err != nil {
		return 0, err
	}
	if q.state != driver.Ready && q.state != driver.Error {
		return 0, fmt.Errorf("sim: post to %s: it is %v, not Ready", q.name(), q.state)
	}
	if len(list) == 0 {
		return 0, nil
	}
	ready := q.queue.charge(len(list)).Add(time.Duration(q.fabric.delay.doorbell))
	// One doorbell for all: none of the list reaches the NIC before the last is written.
	for i := range list {
		q.post(&list[i], ready)
	}
	q.startRequests()
	return len(list), nil
}

// post queues one request.
func (q *queuePair) post(from *driver.Request, ready clock.Time) {
	f := q.fabric
	i := f.requests.take()
	r := f.requests.at(i)
	*r = request{
		tag: from.Tag, remote: from.Remote, compare: from.Compare, swap: from.Swap, after: from.After,
		local: f.keepSpans(from.Span, from.More), ready: ready, pair: q.index, node: q.home, number: q.number,
		bytes: uint32(from.Bytes()), imm: from.Imm, op: from.Op, flags: from.Flags,
	}
	q.pins++
	f.traceRequest(Posted, r)
	if q.state == driver.Error {
		q.complete(i, driver.Flushed) // it is in no queue yet: nothing stands before it
		return
	}
	if r.flags.Has(driver.Inline) && r.bytes > 0 {
		r.payload = f.payloads.take()
		if !q.gather(f.payloads.at(r.payload), &r.local) {
			r.status = driver.LocalProtection // found when it starts, so that those before it complete first
		}
	}
	if r.after.Count > 0 {
		q.await(r)
	}
	if r.fetches() {
		r.ready = r.ready.Add(time.Duration(f.delay.fetch))
	}
	if q.tail == 0 {
		q.head = i
	} else {
		f.requests.at(q.tail).next = i
	}
	q.tail = i
	if q.start == 0 {
		q.start = i
	}
}

// fetches reports whether the NIC must read the message's bytes from the host's memory.
func (r *request) fetches() bool {
	return r.bytes > 0 && !r.flags.Has(driver.Inline) && (r.op.TakesReceive() || r.op == driver.OpWrite)
}

// isWord reports whether the request tells the peer something, and leaves nothing in memory: what did take effect and is
// reported as failed all the same, programs must see happen.
func (r *request) isWord() bool { return r.bytes == 0 && r.flags.Has(driver.Quiet) && !r.asks() }

// asks reports whether the request brings something back from the responder's memory.
func (r *request) asks() bool { return r.op == driver.OpRead || r.op.IsAtomic() }

// startRequests starts what may start, in posting order.
func (q *queuePair) startRequests() {
	f := q.fabric
	for q.start != 0 && q.state == driver.Ready && !q.stopped {
		i := q.start
		r := f.requests.at(i)
		if r.flags.Has(driver.Fence) && q.reads > 0 {
			break
		}
		if r.after.Count > 0 && !q.arrivalCame(r) {
			break
		}
		q.start = r.next
		if r.status == driver.OK && !r.flags.Has(driver.Inline) && !q.covers(&r.local) {
			r.status = driver.LocalProtection
		}
		if r.status != driver.OK {
			q.failLocally(r, r.status)
			break
		}
		if r.asks() {
			q.reads++
		}
		r.stage, r.epoch, r.to, r.toEpoch = outbound, q.epoch, q.to, q.peerEpoch
		q.abroad++
		q.out.push(f, i)
	}
	q.pump()
}

// failLocally ends a request that the NIC cannot carry out. It completes when those before it have; nothing behind it
// starts.
func (q *queuePair) failLocally(r *request, status driver.Status) {
	r.stage, r.status = done, status
	q.stopped = true
	q.sweep()
}
