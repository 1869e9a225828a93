package soft

import (
	"maps"

	"github.com/weft-fabric/weft/verbs/driver"
)

// This file is what neighbours are shown of a domain's memory: how they can map it. What was shown before it is needed can
// be used even if its owner is stopped by then; the rest is shown at its first use, to whoever asks.
//
// Memory that peers may reach by its key is offered to all neighbours, for anybody may be given the key. Other memory
// concerns a neighbour only when a message of its is to land there: it is shown to those who send to a queue pair when a
// receive names it. A thousand groups, each with buffers of its own, do not map everything everywhere.

// maxOffers is how much is shown without being asked: the memory of a domain to a new neighbour, or new memory to the
// neighbours of its domain.
const maxOffers = 16

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

// wasShown reports whether a neighbour was shown the memory as it is now.
func (m *Memory) wasShown(n *neighbour) bool {
	b := m.backing
	b.mu.Lock()
	defer b.mu.Unlock()
	version, ok := b.shown[n]
	return ok && version == m.region.version()
}

// offer shows memory to the neighbours that its domain is tied to, and to those that come.
func (d *Domain) offer(m *Memory) {
	if m.backing == nil || m.offered.Swap(true) {
		return
	}
	for n := range d.tiedTo(maxOffers) {
		if !m.wasShown(n) {
			m.showTo(n)
		}
	}
}

// tiedTo returns at most so many neighbours that the domain is tied to.
func (d *Domain) tiedTo(most int) map[*neighbour]bool {
	list := make(map[*neighbour]bool)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.lives {
		if t := l.tied(); t != nil {
			list[t.neighbour] = true
		}
		if len(list) == most {
			break
		}
	}
	return list
}

// showTo shows memory without being asked. If the neighbour cannot be told, it is gone.
func (m *Memory) showTo(n *neighbour) {
	if err := m.show(n, &note{Kind: noteRegion}); err != nil {
		m.domain.device.config.Log.Debug("show memory", "error", err)
	}
}

// offerAll shows a new neighbour of the domain some of what is offered. There may be thousands of connections with it: those
// after the first show nothing new.
func (d *Domain) offerAll(n *neighbour) {
	n.mu.Lock()
	known := n.domains[d.number]
	n.domains[d.number] = true
	n.mu.Unlock()
	if known {
		return
	}
	for _, r := range d.keys.some(maxOffers, func(r *region) bool { return r.memory.offered.Load() }) {
		if !r.memory.wasShown(n) {
			r.memory.showTo(n)
		}
	}
}

// recentKeys are local keys of memory that was shown to whom it concerns. They may be of memory that is closed since, and
// even come back as another's: that is shown to who asks.
type recentKeys struct {
	keys   [4]uint32
	oldest int
}

func (k *recentKeys) add(key uint32) {
	k.keys[k.oldest] = key
	k.oldest = (k.oldest + 1) % len(k.keys)
}

// has is asked for every receive. No key is 0.
func (k *recentKeys) has(key uint32) bool {
	return key == k.keys[0] || key == k.keys[1] || key == k.keys[2] || key == k.keys[3]
}

// showAll shows the memory of receives that are to be posted to those whose messages may land there.
func (p *pool) showAll(list []driver.Receive) {
	if p.arena == nil {
		return
	}
	for i := range list {
		r := &list[i]
		if !p.shown.has(r.Span.Key) {
			p.showSpan(r.Span)
		}
		for _, s := range r.More {
			p.showSpan(s)
		}
	}
}

func (p *pool) showSpan(s driver.Span) {
	if s.Length == 0 || p.shown.has(s.Key) || len(p.users) == 0 {
		return
	}
	q := p.users[0]
	t := q.life.Load().tied()
	if t == nil && !p.shared {
		return
	}
	if r := q.domain.keys.local(s.Key); r != nil && r.memory.backing != nil {
		if p.shared { // messages of many may land there
			q.domain.offer(r.memory)
		} else if !r.memory.wasShown(t.neighbour) {
			r.memory.showTo(t.neighbour)
		}
	}
	p.shown.add(s.Key)
}

// showPosted shows the memory of receives that were posted before there was somebody to show it to.
func (p *pool) showPosted() {
	p.shown = recentKeys{}
	for at := p.reported; at < min(p.count, p.reported+maxOffers); at++ {
		n := p.line[at&uint64(len(p.line)-1)]
		p.showSpan(p.slots[n].first)
		for _, s := range p.more(n, &p.slots[n].landing) {
			p.showSpan(s)
		}
	}
}
