package soft

import (
	"sync/atomic"

	"github.com/weft-fabric/weft/verbs/driver"
)

// farKeys finds the memory of a neighbour's domain, for one queue pair: what is mapped here already, or else it asks. It
// is guarded by the lock of that queue pair's completion queue.
type farKeys struct {
	neighbour *neighbour
	there     lifeName // the life at the neighbour's that is connected
	domain    uint64
	known     map[uint32]*region // by local key
	last      *region            // of these, the one that was used last; nil: none
	fragile   atomic.Bool        // some of it is
}

// fetch returns the memory with a remote key (domain 0) or a local one. If it is not known yet, it asks, and b is rung
// when the answer is there. Nil without pending: there is none, or it cannot be mapped.
func (k *farKeys) fetch(key viewKey, b *bell) (r *region, pending bool) {
	n := k.neighbour
	n.mu.Lock()
	r = n.views[key]
	if r != nil && r.stale() {
		delete(n.views, key)
		r = nil
	}
	if r != nil && r.fragile {
		k.fragile.Store(true)
	}
	refused := n.refused[key]
	delete(n.refused, key)
	pending = r == nil && !refused // if the neighbour is gone, the connection is about to break
	first := pending && !n.gone && n.asked[key] == nil
	if first {
		n.asked[key] = make(map[*bell]bool)
	}
	if pending && !n.gone {
		n.asked[key][b] = true
	}
	n.mu.Unlock()
	if first {
		_ = n.say(&note{Kind: noteAsk, There: k.there.note(), Key: key.key, Domain: key.domain}, nil, -1)
	}
	return r, pending
}

// find returns what is known of a remote key.
func (k *farKeys) find(remoteKey uint64) *region {
	n := k.neighbour
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.views[viewKey{0, remoteKey}]
	if r != nil && r.fragile {
		k.fragile.Store(true)
	}
	return r
}

// mapped reports whether all spans of a receive can be looked at, or will never be. If not, b is rung when it has changed.
func (k *farKeys) mapped(first driver.Span, more []driver.Span, b *bell) bool {
	all := k.mapSpan(first, b)
	for _, s := range more {
		all = k.mapSpan(s, b) && all
	}
	return all
}

func (k *farKeys) mapSpan(s driver.Span, b *bell) bool {
	if s.Length == 0 {
		return true
	}
	if r := k.local(s.Key); r != nil && !r.stale() {
		return true
	}
	r, pending := k.fetch(viewKey{k.domain, uint64(s.Key)}, b)
	k.known[s.Key], k.last = r, r
	return !pending
}

// local returns what is known of a local key: most messages land where the last one did.
func (k *farKeys) local(key uint32) *region {
	if r := k.last; r != nil && r.localKey == key {
		return r
	}
	return k.recall(key)
}

func (k *farKeys) recall(key uint32) *region {
	r := k.known[key]
	if r != nil {
		k.last = r
	}
	return r
}
