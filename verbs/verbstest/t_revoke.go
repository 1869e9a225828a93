package verbstest

import (
	"github.com/weft-fabric/weft/verbs"
)

// This file is about changes of access: what was allowed before cannot land afterwards.

var revokeTests = []Test{
	{"RevokedAtTheQueuePair",
		"When a queue pair's SetAccess completes, nothing that only the old access allowed can land any more.",
		0, testRevokeQueue},
	{"RevokedAtTheMemory", "When a memory's SetAccess completes, nothing that only the old access allowed can land any more.",
		MemoryAccess, testRevokeMemory},
	{"RevokedByMemoryClose", "When a memory's Close returns, no operation can land in it any more.", 0, testRevokeClose},
	{"GrantedAgain", "Access can be granted again; after Reset and reconnecting it works.", 0, testGrantAgain},
	{"GrantedAgainAtTheMemory", "A memory's access can be granted again; its remote key may be another one then.",
		MemoryAccess, testGrantMemoryAgain},
	{"RevokedStaysRevoked", "Access outlives a Reset: what was revoked stays revoked.", 0, testAccessOutlivesReset},
	{"RevokingWritesLeavesReads", "What the new access still allows is not disturbed by the change.", 0, testPartialRevoke},
	{"AccessCanChangeBeforeConnecting", "SetAccess completes in every state but Closed.", 0, testAccessEarly},
}

// revocation is a stream of writes of a rising counter over a whole memory, to be stopped by the target.
type revocation struct {
	t      *T
	a, b   *node
	qa, qb *pair
	ma     *mem
	target *mem
	slot   int   // bytes of one write
	side   *pair // another connection between the two, for traffic that lets time pass
	sideB  *pair
}

// How large a write is. Where ends run in parallel it takes much longer than a snapshot, so that one that was under way
// when the access changed, and lands all the same, is caught in the act. In a simulator time stands still for a snapshot.
const (
	revokeSlotParallel = 256 << 10
	revokeSlotInTurn   = 4 << 10
	revokePiece        = 4 << 10 // that a device may check by itself: what lands late may be one packet of a Write
	revokeSlots        = 8       // of the target
	revokeDepth        = 16      // writes that may be under way
	revokeRounds       = 100     // more than were under way can not succeed
)

// revokeSlot is less where little can be moved: there it takes long, too.
func (t *T) revokeSlot() int {
	if t.can.Has&Preemptive == 0 {
		return revokeSlotInTurn
	}
	return int(min(revokeSlotParallel, t.can.Traffic/64))
}

func (t *T) revocation() *revocation {
	t.Helper()
	r := &revocation{t: t, a: t.open("a"), b: t.open("b"), slot: t.revokeSlot()}
	r.ma = r.a.memory(20*r.slot, verbs.RemoteAll)
	config := OpenPair{SendDepth: revokeDepth, Access: verbs.RemoteAll}
	r.qa, r.qb, r.side, r.sideB = r.a.pair(config), r.b.pair(config), r.a.pair(config), r.b.pair(config)
	t.connect(r.qa, r.qb)
	t.connect(r.side, r.sideB)
	return r
}

// writes starts the stream, and waits until it has done n rounds.
func (r *revocation) writes(n uint64) *flow {
	r.t.Helper()
	flow := r.a.stream(Stream{Pair: r.qa.id, Memory: r.ma.id, Slots: 20, Stride: r.slot, Stamp: 1, StampEvery: revokePiece,
		RemoteStride: uint64(r.slot), RemoteSlots: revokeSlots,
		Round: []verbs.Request{request(verbs.OpWrite, 0, r.ma.span(0, r.slot), r.target.remote(0, r.slot))}})
	flow.reaches(n)
	return flow
}

// snapshot is of the last word of each piece.
func (r *revocation) snapshot() Snapshot { return Snapshot{r.target.id, revokePiece} }

// holds checks the postcondition: the writer was refused, and after a lot has happened the target's memory still is as
// it was at the completion.
func (r *revocation) holds(flow *flow) {
	r.t.Helper()
	if status := flow.failsWithin(revokeRounds); !status.Refused() {
		r.t.Fatalf("the writer's stream ended %v, want a refusal", status)
	}
	other, there := r.a.memory(512, 0), r.b.memory(512, 0)
	for i := range 5 {
		r.t.carries(r.side, other, r.sideB, there, uint64(i))
	}
	if changed := r.b.do(Changed{r.target.id}); changed.Count > 0 {
		r.t.Fatalf("access was revoked, and then %d words changed: %s", changed.Count, changed.Text[0])
	}
	r.qa.untilState(verbs.Error)
	r.qb.untilState(verbs.Error)
}

func (r *revocation) reconnect() {
	r.t.Helper()
	r.qa.reset()
	r.qb.reset()
	r.t.connect(r.qa, r.qb)
}

// When a queue pair's SetAccess completes, nothing that only the old access allowed can land any more. Writes under way
// are caught by the snapshot that the target takes in the step in which the change completes: see revocation.holds.
func testRevokeQueue(t *T) {
	r := t.revocation()
	r.target = r.b.memory(revokeSlots*r.slot, verbs.RemoteAll)
	for i := range t.can.Repeat {
		flow := r.writes(uint64(1 + 3*i%17))
		r.qb.setAccess(verbs.RemoteRead|verbs.RemoteAtomic, r.snapshot())
		r.holds(flow)
		r.reconnect()
		r.qb.setAccess(verbs.RemoteAll, Snapshot{})
	}
}

// When a memory's SetAccess completes, nothing that only the old access allowed can land any more; seen as above.
func testRevokeMemory(t *T) {
	r := t.revocation()
	r.target = r.b.memory(revokeSlots*r.slot, verbs.RemoteAll)
	for i := range t.can.Repeat {
		flow := r.writes(uint64(1 + 3*i%17))
		r.target.setAccess(verbs.RemoteRead, r.snapshot())
		r.holds(flow)
		r.reconnect()
		r.target.setAccess(verbs.RemoteAll, Snapshot{})
	}
}

// When a memory's Close returns, no operation can land in it any more. Its pages are the end's own, so that they can
// still be looked at.
func testRevokeClose(t *T) {
	r := t.revocation()
	for i := range t.can.Repeat {
		opened := r.b.do(OpenMemory{Size: revokeSlots * r.slot, Access: verbs.RemoteAll, OwnPages: true})
		r.target = &mem{node: r.b, id: opened.ID, region: opened.Region}
		flow := r.writes(uint64(1 + 3*i%17))
		r.b.do(Close{Kind: aMemory, ID: r.target.id, Snapshot: r.snapshot()})
		r.holds(flow)
		r.reconnect()
	}
}

// Access can be granted again; after Reset and reconnecting it works.
func testGrantAgain(t *T) {
	w := t.wireWith(OpenPair{})
	write := request(verbs.OpWrite, 0, w.ma.span(0, 8), w.mb.remote(0, 8))
	w.qb.setAccess(verbs.RemoteWrite, Snapshot{})
	w.qa.post(write)
	t.statuses("write that was granted", w.qa.requests(1), verbs.OK)
	w.qb.setAccess(0, Snapshot{})
	w.qa.post(write)
	if c := w.qa.requests(1)[0]; !c.Status.Refused() {
		t.Fatalf("write that was revoked ended %v", c.Status)
	}
	w.reconnect()
	w.qb.setAccess(verbs.RemoteWrite, Snapshot{})
	w.qa.post(write)
	t.statuses("write that was granted again", w.qa.requests(1), verbs.OK)
}

// A memory's access can be granted again; its remote key may be another one then, and only the newest key counts.
func testGrantMemoryAgain(t *T) {
	w := t.wire()
	write := func() verbs.Status {
		w.qa.post(request(verbs.OpWrite, 0, w.ma.span(0, 8), w.mb.remote(0, 8)))
		return w.qa.requests(1)[0].Status
	}
	for i := range t.can.Repeat {
		w.mb.setAccess(verbs.RemoteRead, Snapshot{})
		if status := write(); !status.Refused() {
			t.Fatalf("round %d: a Write that was revoked ended %v", i, status)
		}
		w.reconnect()
		old := w.mb.region.RemoteKey
		w.mb.setAccess(verbs.RemoteWrite, Snapshot{})
		t.must(write(), verbs.OK, "round %d: Write that was granted again", i)
		if w.mb.region.RemoteKey == old {
			continue
		}
		w.mb.region.RemoteKey = old
		if status := write(); !status.Refused() {
			t.Fatalf("round %d: a Write by the key from before the change ended %v", i, status)
		}
		w.reconnect()
		w.mb.renew()
	}
}

// Access outlives a Reset: what was revoked stays revoked, what was granted stays granted.
func testAccessOutlivesReset(t *T) {
	w := t.wire()
	w.qb.setAccess(verbs.RemoteRead, Snapshot{})
	w.reconnect()
	w.qa.post(request(verbs.OpRead, 0, w.ma.span(0, 8), w.mb.remote(0, 8)),
		request(verbs.OpWrite, 1, w.ma.span(0, 8), w.mb.remote(0, 8)))
	ended := w.qa.requests(2)
	if ended[0].Status != verbs.OK || !ended[1].Status.Refused() {
		t.Fatalf("Writes were revoked before a Reset; afterwards a Read ended %v and a Write %v", ended[0].Status, ended[1].Status)
	}
}

// What the new access still allows is not disturbed by the change.
func testPartialRevoke(t *T) {
	w := t.wire()
	flow := w.a.stream(Stream{Pair: w.qa.id, Memory: w.ma.id,
		Round: []verbs.Request{request(verbs.OpRead, 0, w.ma.span(0, 512), w.mb.remote(0, 512))}})
	for i := range 10 {
		flow.reaches(uint64(50 * i))
		w.qb.setAccess([]verbs.Access{verbs.RemoteRead, verbs.RemoteAll}[i%2], Snapshot{})
	}
	flow.reaches(flow.state().Rounds + 50)
	flow.stop()
	if s := flow.state(); s.Failure != verbs.OK {
		t.Fatalf("Reads were always allowed, and one ended %v", s.Failure)
	}
}

// SetAccess completes in every state but Closed.
func testAccessEarly(t *T) {
	a, b := t.open("a"), t.open("b")
	ma, mb := a.memory(64, 0), b.memory(64, verbs.RemoteAll)
	qa, qb := a.pair(OpenPair{}), b.pair(OpenPair{})
	qb.setAccess(verbs.RemoteWrite, Snapshot{})
	t.connect(qa, qb)
	qa.post(request(verbs.OpWrite, 0, ma.span(0, 8), mb.remote(0, 8)))
	t.statuses("write", qa.requests(1), verbs.OK)
	qa.post(request(verbs.OpRead, 0, ma.span(0, 8), mb.remote(0, 8)))
	if c := qa.requests(1)[0]; !c.Status.Refused() {
		t.Fatalf("read that was never granted ended %v", c.Status)
	}
	qb.untilState(verbs.Error)
	qb.setAccess(0, Snapshot{})
	qb.close()
	b.refuses(SetQueueAccess{Pair: qb.id, Tag: 1}, verbs.ErrClosed)
}
