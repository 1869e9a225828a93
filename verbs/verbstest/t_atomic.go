package verbstest

import (
	"github.com/weft-fabric/weft/verbs"
)

// This file is about atomics of several parties on one word.

var atomicTests = []Test{
	{"AtomicsOfManyPeersAddUp", "Atomics of several peers on one word are indivisible.", 0, testManyPeers},
	{"CPUAtomicsCompose", "CPU atomics and NIC atomics on one word are indivisible towards each other.", CPUAtomics,
		testCPUAtomics},
}

// additions starts n peers, each trying so many times to add one to the target's word at offset 64, by turns with
// FetchAdd and CompareSwap.
func (t *T) additions(target *node, word *mem, n int, attempts uint64) []*flow {
	t.Helper()
	var flows []*flow
	for i := range n {
		peer := t.open(name("peer", i))
		q, back := peer.pair(OpenPair{SendDepth: 32}), target.pair(OpenPair{Access: verbs.RemoteAtomic})
		t.connect(q, back)
		op := []verbs.Op{verbs.OpFetchAdd, verbs.OpCompareSwap}[i%2]
		flows = append(flows, peer.increment(Increment{Pair: q.id, Op: op, At: word.remote(64, 8), Window: 32,
			Memory: peer.memory(8*32, 0).id, Attempts: attempts}))
	}
	return flows
}

// added waits for the peers, and returns how many of their attempts succeeded: each of those added one.
func added(flows []*flow) (sum uint64) {
	for _, f := range flows {
		f.node.t.Helper()
		f.node.until(StreamEnded{f.id})
		if s := f.state(); s.Failure != verbs.OK {
			f.node.t.Fatalf("%s: an atomic ended %v", f.node.name, s.Failure)
		} else {
			sum += s.Rounds
		}
	}
	return sum
}

// Atomics of several peers on one word are indivisible: if two peers believed to have made the same step, more would
// have succeeded than the word shows.
func testManyPeers(t *T) {
	target := t.open("target")
	word := target.memory(128, verbs.RemoteAtomic)
	sum := added(t.additions(target, word, min(8, t.can.Peers), uint64(2000*t.can.Repeat)))
	if got := word.word(64); got != sum {
		t.Fatalf("%d additions succeeded, the word is %d", sum, got)
	}
}

// CPU atomics and NIC atomics on one word are indivisible towards each other: an addition that was lost is missing in the sum.
// The CPU adds many times in a row while peers add, so that they meet.
func testCPUAtomics(t *T) {
	const batch = 50_000
	target := t.open("target")
	word := target.memory(128, verbs.RemoteAtomic)
	flows := t.additions(target, word, 2, 1<<40) // until they are stopped
	own := uint64(0)
	for range 5 {
		flows[0].reaches(flows[0].state().Rounds + 10)
		target.do(CPUAdd{word.id, 64, batch})
		own += batch
	}
	for _, f := range flows {
		f.stop()
	}
	sum := added(flows)
	if got := word.word(64); got != sum+own {
		t.Fatalf("peers added %d and the CPU %d, the word is %d", sum, own, got)
	}
}
