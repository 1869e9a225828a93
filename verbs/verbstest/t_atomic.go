package verbstest

import (
	"github.com/weft-fabric/weft/verbs"
)

var atomicTests = []Test{
	{"AtomicsOfManyPeersAddUp", "Atomics of several peers on one word are indivisible.", 0, testManyPeers},
	{"CPUAtomicsCompose", "CPU atomics and NIC atomics on one word are indivisible towards each other.", CPUAtomics,
		testCPUAtomics},
}

// increments starts n peers, each adding times to the word at the target's offset 64, by turns with FetchAdd and
// CompareSwap.
func (t *T) increments(target *node, word *mem, n int, times uint64) []*flow {
	t.Helper()
	var flows []*flow
	for i := range n {
		peer := t.open(name("peer", i))
		q, back := peer.pair(OpenPair{}), target.pair(OpenPair{Access: verbs.RemoteAtomic})
		t.connect(q, back)
		op := []verbs.Op{verbs.OpFetchAdd, verbs.OpCompareSwap}[i%2]
		flows = append(flows, peer.increment(Increment{Pair: q.id, Op: op, At: word.remote(64, 8),
			Memory: peer.memory(8, 0).id, Times: times}))
	}
	return flows
}

// Atomics of several peers on one word are indivisible.
func testManyPeers(t *T) {
	const peers = 8
	times := uint64(10 * t.can.Repeat)
	target := t.open("target")
	word := target.memory(128, verbs.RemoteAtomic)
	for _, f := range t.increments(target, word, peers, times) {
		f.succeeds(times)
	}
	if got := word.word(64); got != peers*times {
		t.Fatalf("%d peers added %d each, the word is %d", peers, times, got)
	}
}

// CPU atomics and NIC atomics on one word are indivisible towards each other.
func testCPUAtomics(t *T) {
	const peers, batch = 2, 50
	times := uint64(20 * t.can.Repeat)
	target := t.open("target")
	word := target.memory(128, verbs.RemoteAtomic)
	flows := t.increments(target, word, peers, times)
	own := uint64(0)
	for range t.can.Repeat {
		target.do(CPUAdd{word.id, 64, batch})
		own += batch
	}
	for _, f := range flows {
		f.succeeds(times)
	}
	if got := word.word(64); got != peers*times+own {
		t.Fatalf("peers added %d and the CPU %d, the word is %d", peers*times, own, got)
	}
}
