package sim

import (
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// load is how many bytes travel for the request in its next step.
func (r *request) load() uint32 {
	if r.stage == outbound && r.asks() {
		return 0 // the request alone; its bytes come back
	}
	return r.bytes
}

// pump sends what can be sent, in order. Small messages leave at once, large ones by the flow, one after the other.
func (q *queuePair) pump() {
	f := q.fabric
	for q.out.head != 0 && !q.moving {
		i := q.out.head
		r := f.requests.at(i)
		if r.dropped { // an answer whose requester has left
			f.release(q.out.pop(f))
			continue
		}
		if !q.slot(r) {
			break
		}
		f.traceRequest(Started, r)
		if r.op.IsLocal() {
			q.out.pop(f)
			q.serveLocal(r)
			continue
		}
		if n := r.load(); int(n) > f.config.Small {
			q.move(n)
			break
		}
		q.sent(q.out.pop(f), q.crossing(r))
	}
	// Whatever was sent may have failed and ended the connection: then there is no flow any more.
	if q.flowing && !q.moving {
		f.network.leave(q.flow)
		q.flowing = false
	}
}

// slot reports whether the NIC's engine can take the message now. It handles one message at a time, in the order in
// which they were ready.
func (q *queuePair) slot(r *request) bool {
	f, n := q.fabric, q.node
	if f.now >= r.ready && !r.slotted {
		// The place is taken when the message is ready, not before: what the host has posted and the NIC has not yet seen must
		// not keep others back.
		r.slotted = true
		r.ready = max(f.now, n.engine)
		n.engine = r.ready.Add(time.Duration(max(f.delay.gap, q.crossing(r))))
	}
	if f.now < r.ready {
		q.pumpLater(r.ready)
		return false
	}
	return true
}

// crossing is how long a small message takes to pass, at the speed of the slowest link of its path.
func (q *queuePair) crossing(r *request) clock.Time {
	f := q.fabric
	n := r.load()
	if n == 0 || int(n) > f.config.Small {
		return 0
	}
	return transfer(float64(n), f.network.narrowest(f.network.flows.at(q.flow)))
}

// pumpLater plans a pump.
func (q *queuePair) pumpLater(at clock.Time) {
	if q.pumpAt <= at {
		return
	}
	q.pumpAt = at
	q.pumpGen++
	q.plan(at, evPump, q.pumpGen)
}

// stepPump is the moment at which the first message of out can go. An earlier plan makes a later one void.
func (q *queuePair) stepPump(gen uint32) bool {
	if gen != q.pumpGen || q.state != driver.Ready {
		return false
	}
	q.pumpAt = clock.Never
	q.pump()
	return true
}

// move puts the first message of out on the flow.
func (q *queuePair) move(n uint32) {
	f := q.fabric
	q.moving = true
	if !q.flowing {
		q.flowing = true
		f.network.join(q.flow, f.now)
	}
	f.network.send(q.flow, n)
}

// finished is the moment at which a flow's message has left.
func (f *Fabric) finished(id uint32) {
	fl := f.network.flows.at(id)
	fl.sent(f.now)
	q := f.pairs[fl.owner]
	q.moving = false
	q.sent(q.out.pop(f), 0)
	q.pump()
	f.lookAtFinish()
}

// sent is the moment at which the last byte of a message leaves this end. It is when the bytes are read, unless they
// came inline.
func (q *queuePair) sent(i uint32, crossing clock.Time) {
	f := q.fabric
	r := f.requests.at(i)
	f.traceRequest(Sent, r)
	if r.stage == answering {
		q.sentAnswer(i, r, crossing)
		return
	}
	if r.fetches() {
		r.payload = f.payloads.take()
		if !q.gather(f.payloads.at(r.payload), &r.local) {
			q.loseOutbound()
			q.failLocally(r, driver.LocalProtection)
			return
		}
	}
	r.stage = travelling
	travel := crossing + q.latency + f.jitter(q.latency)
	if r.op != driver.OpRead {
		travel += f.delay.land
	}
	q.arrive(i, travel)
}

// loseOutbound takes the requests out that wait to be sent: they are behind one that has failed, will be flushed, and
// must not take effect. Answers to the peer still go.
func (q *queuePair) loseOutbound() {
	f := q.fabric
	var answers list
	for q.out.head != 0 {
		i := q.out.pop(f)
		if f.requests.at(i).stage == answering {
			answers.push(f, i)
		} else {
			f.lose(i)
		}
	}
	q.out = answers
}

// sentAnswer sends the bytes that a Read asked for. The gates are asked again: since the Read has passed them, they may
// have been shut.
func (q *queuePair) sentAnswer(i uint32, r *request, crossing clock.Time) {
	f := q.fabric
	if status := q.admit(r); status != driver.OK {
		q.refuse(i, status)
		return
	}
	r.payload = f.payloads.take()
	p := f.payloads.at(r.payload)
	p.reset()
	m, offset, _ := q.remote(r.remote, uint64(r.bytes), driver.RemoteRead)
	m.read(p, offset, uint64(r.bytes))
	r.stage = returning
	q.arrive(i, crossing+q.latency+f.jitter(q.latency)+f.delay.land)
}

// arrive plans the arrival of a message at the other end, behind those that were sent before it.
func (q *queuePair) arrive(i uint32, travel clock.Time) {
	f := q.fabric
	q.arrival = max(q.arrival, f.after(travel))
	f.plan(q.arrival, evArrive, i, 0)
}

// answer tells the requester how its request ended.
func (q *queuePair) answer(i uint32, status driver.Status) {
	f := q.fabric
	r := f.requests.at(i)
	if r.dropped {
		f.release(i)
		return
	}
	if status == driver.OK && r.isWord() && !f.cut && !f.pairs[r.pair].stopped {
		// Nobody will see when this answer comes, or that it does not: to leave it out saves an event for each word.
		r.stage = done
		f.pairs[r.pair].sweep()
		return
	}
	r.status, r.stage = status, returning
	travel := q.latency + f.jitter(q.latency)
	if r.op.IsAtomic() {
		// A plain acknowledgement leaves when the message reaches the NIC, so that its way into the requester's memory is
		// over when the message's way into the responder's is (Breaking Band section 4.2, gen_completion); a value leaves
		// after.
		travel += f.delay.land
	}
	q.answering = max(q.answering, f.after(travel))
	f.plan(q.answering, evArrive, i, 0)
}

// stepArrive is the moment at which a message reaches the other end.
func (f *Fabric) stepArrive(i uint32) bool {
	r := f.requests.at(i)
	from, to := f.pairs[r.pair], f.pairs[r.to]
	back := r.stage == returning
	if back {
		from, to = to, from
	}
	if f.severed(from, to) {
		f.hold(i, r, from)
		return true
	}
	if back {
		to.stepAnswer(i, r)
	} else {
		to.stepMessage(i, r)
	}
	return true
}

// stepAnswer is the moment at which a request's answer reaches the requester.
func (q *queuePair) stepAnswer(i uint32, r *request) {
	f := q.fabric
	if r.dropped {
		f.release(i)
		return
	}
	r.stage = done
	asked := r.asks()
	if asked {
		q.reads--
		if r.status == driver.OK && r.bytes > 0 && !q.scatter(f.payloads.at(r.payload), &r.local, uint64(r.bytes)) {
			r.status = driver.LocalProtection
		}
	}
	q.sweep()
	if asked {
		q.startRequests()
	}
}
