package soft

import (
	"maps"
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
	if r := k.known[s.Key]; r != nil && !r.stale() {
		return true
	}
	r, pending := k.fetch(viewKey{k.domain, uint64(s.Key)}, b)
	k.known[s.Key] = r
	return !pending
}

func (k *farKeys) cover(first driver.Span, more []driver.Span) (r *region, ok bool) {
	if r, ok = k.covers(first); !ok {
		return nil, false
	}
	for _, s := range more {
		if _, ok = k.covers(s); !ok {
			return nil, false
		}
	}
	return r, true
}

func (k *farKeys) covers(s driver.Span) (*region, bool) {
	if s.Length == 0 {
		return nil, true
	}
	r := k.known[s.Key]
	return r, r != nil && r.isAlive() && r.contains(s.Address, uint64(s.Length))
}

func (k *farKeys) bytes(s driver.Span) []byte {
	if s.Length == 0 {
		return nil
	}
	return k.known[s.Key].slice(s.Address, uint64(s.Length))
}

// takeQuestion answers what memory a key names, if it may be shared.
func (n *neighbour) takeQuestion(in *note) error {
	l := n.device.presentLife(in.There.Number)
	m := &note{Kind: noteRegion, Key: in.Key, Domain: in.Domain}
	if l == nil || l.tied() == nil || l.tied().neighbour != n { // it was closed, or was never a peer
		return n.say(m, nil, -1)
	}
	r := l.domain.keys.find(in.Key)
	if in.Domain != 0 {
		r = l.domain.keys.local(uint32(in.Key))
	}
	if r == nil || r.memory.backing == nil {
		return n.say(m, nil, -1)
	}
	return r.memory.show(n, m)
}

// show tells a neighbour how to map the memory. It keeps the file open meanwhile.
func (m *Memory) show(n *neighbour, answer *note) error {
	b, r := m.backing, m.region
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fd < 0 || len(b.extents) > maxExtents {
		return n.say(answer, nil, -1)
	}
	if b.shown == nil {
		b.shown = make(map[*neighbour]uint64)
	}
	maps.DeleteFunc(b.shown, func(n *neighbour, _ uint64) bool { return n.isGone() })
	b.shown[n] = r.version()
	answer.Found = 1
	answer.Region = regionNote{Control: uint64(r.at), Serial: r.version(), Base: r.base, Length: uint64(len(r.bytes)),
		RemoteKey: r.remoteKey, LocalKey: r.localKey}
	if b.fragile {
		answer.Region.Fragile = 1
	}
	answer.Domain = m.domain.number
	answer.Key = r.remoteKey
	return n.say(answer, b.extents, b.fd)
}

// maxOffers is how much is shown without being asked: the memory of a domain to a new neighbour, or new memory to the
// neighbours of its domain. What was shown can be used even if its owner is stopped by then; the rest is shown at its first
// use.
const maxOffers = 16

// offerAll shows a new peer of the domain some of its memory. If it cannot be told, it is gone. There may be thousands of
// peers in one neighbour: what that was shown it is not shown again.
func (d *Domain) offerAll(n *neighbour) {
	for _, r := range d.keys.some(maxOffers) {
		if m := r.memory; m.backing != nil && !m.wasShown(n) && m.show(n, &note{Kind: noteRegion}) != nil {
			return
		}
	}
}

// wasShown reports whether a neighbour was shown the memory as it is now.
func (m *Memory) wasShown(n *neighbour) bool {
	b := m.backing
	b.mu.Lock()
	defer b.mu.Unlock()
	version, ok := b.shown[n]
	return ok && version == m.region.version()
}

// offer shows new memory to some neighbours that its domain is tied to.
func (d *Domain) offer(m *Memory) {
	if m.backing == nil {
		return
	}
	seen := make(map[*neighbour]bool)
	d.mu.Lock()
	for _, l := range d.lives {
		if t := l.tied(); t != nil && len(seen) < maxOffers {
			seen[t.neighbour] = true
		}
	}
	d.mu.Unlock()
	for n := range seen {
		if err := m.show(n, &note{Kind: noteRegion}); err != nil {
			d.device.config.Log.Debug("offer memory", "error", err)
		}
	}
}
