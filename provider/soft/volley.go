package soft

import (
	"runtime"
	"sync/atomic"

	"github.com/weft-fabric/weft/verbs/driver"
)

// A volley is the front of a posted list if that is several short Writes to one memory: they are carried out in one visit
// to the peer's gate, which costs as much as the rest of a short Write. Nobody can tell: between two visits of one
// requester nothing is promised.
const (
	volleyWrite = 512      // bytes of one Write, at most
	volleyReach = 64 << 10 // bytes from the first to the last that is written
)

// volley carries out what it can of the front of list, which has two requests at least, and returns how many they were.
func (q *QueuePair) volley(list []driver.Request) int {
	me := &q.requester
	if !isShort(&list[0]) || !isShort(&list[1]) || isLent(list[0].Remote.Key) {
		return 0
	}
	var v visit
	v.q, v.peer, v.request, v.total = q, me.peer, &list[0], uint64(list[0].Span.Length)
	v.target.region = me.find(list[0].Remote.Key)
	n, bytes, named := v.reach(list)
	if n < 2 || v.peer.neighbour != nil && v.target.stale() || v.isFragile() {
		return 0
	}
	if v.peer.neighbour != nil {
		v.peer.gate.mark = named
	}
	v.mark = me.peer.gate.enter(me.left)
	v.pause(pauseEntered)
	if v.admitted() == arrived && v.target.allows(driver.RemoteWrite) {
		me.budget -= bytes
		n = v.fire(list[:n])
	} else {
		n = 0 // the first one finds out why
	}
	me.left = v.mark + 1
	inside := me.peer.gate.leave(v.mark)
	runtime.KeepAlive(v.target.region)
	if !inside {
		q.fail(&list[0], driver.RemoteAccess)
		return 1
	}
	for i := range list[:n] {
		if r := &list[i]; !r.Flags.Has(driver.Quiet) {
			q.report(r.Tag, r.Op, driver.OK).Bytes = r.Span.Length
		}
	}
	return n
}

// isShort reports whether a request may be part of a volley.
func isShort(r *driver.Request) bool {
	return r.Op == driver.OpWrite && r.Span.Length-1 < volleyWrite && len(r.More) == 0 && r.After.Count == 0
}

// reach returns how many requests of list a volley to the target can have within the budget, how many bytes they have, and
// what they write to.
func (v *visit) reach(list []driver.Request) (n int, bytes uint64, named stretch) {
	if v.target.region == nil {
		return 0, 0, named
	}
	budget := v.q.requester.budget
	key, low, high := list[0].Remote.Key, ^uint64(0), uint64(0)
	for n < len(list) {
		r := &list[n]
		at, length := r.Remote.Address, uint64(r.Span.Length)
		if r.Remote.Key != key || !isShort(r) || bytes+length > budget || !v.target.contains(at, length) {
			break
		}
		from, to := min(low, at), max(high, at+length)
		if to-from > volleyReach {
			break
		}
		low, high = from, to
		bytes += length
		n++
	}
	return n, bytes, stretch{v.target.localKey, low - v.target.base, high - low}
}

// fire writes, and returns how many requests it has carried out: all, or those before one whose own span is bad.
func (v *visit) fire(list []driver.Request) int {
	keys := v.q.domain.keys
	var local *region
	var key uint32
	for i := range list {
		r := &list[i]
		if local == nil || r.Span.Key != key {
			key = r.Span.Key
			local = keys.local(key)
		}
		if local == nil || !local.allows(0) || !local.contains(r.Span.Address, uint64(r.Span.Length)) {
			return i
		}
		n := uint64(r.Span.Length)
		dst, src := v.target.slice(r.Remote.Address, n), local.slice(r.Span.Address, n)
		if n == wordSize && aligned(dst) {
			atomic.StoreUint64(word(dst), loadWord(src))
		} else {
			place(dst, src)
		}
	}
	return len(list)
}
