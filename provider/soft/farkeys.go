package soft

import (
	"fmt"
	"maps"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

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
		b.shown = make(map[*neighbour]bool)
	}
	maps.DeleteFunc(b.shown, func(n *neighbour, _ bool) bool { return n.isGone() })
	b.shown[n] = true
	answer.Found = 1
	answer.Region = regionNote{Control: uint64(r.at), Serial: r.word.Load() & (serialMask | generationMask), Base: r.base, Length: uint64(len(r.bytes)),
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

// offerAll shows a new peer of the domain some of its memory. If it cannot be told, it is gone.
func (d *Domain) offerAll(n *neighbour) {
	for _, r := range d.keys.some(maxOffers) {
		if r.memory.backing != nil && r.memory.show(n, &note{Kind: noteRegion}) != nil {
			return
		}
	}
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

// takeRegion maps memory that was asked for, and tells those who wait.
func (n *neighbour) takeRegion(in noteWithFD) error {
	var r *region
	if in.Found != 0 && in.fd >= 0 && n.hasRoom() {
		var err error
		if r, err = n.mapRegion(&in); err != nil {
			n.device.config.Log.Warn("map a neighbour's memory", "device", n.device.config.Name, "peer", n.peer.String(),
				"error", err)
		}
	}
	closeDescriptor(in.fd)
	keys := []viewKey{{in.Domain, in.Key}}
	if in.Found != 0 {
		keys = []viewKey{{0, in.Key}, {in.Domain, uint64(in.Region.LocalKey)}}
	}
	waiting := make(map[*bell]bool)
	n.mu.Lock()
	for _, k := range keys {
		if r != nil {
			n.views[k] = r
		} else if n.asked[k] != nil {
			n.refused[k] = true
		}
		maps.Copy(waiting, n.asked[k])
		delete(n.asked, k)
	}
	n.mu.Unlock()
	for b := range waiting {
		b.ring()
	}
	return nil
}

// maxViews is how much of one neighbour's memory is mapped: the kernel allows a process some 65,000 mappings.
const maxViews = 1 << 15

func (n *neighbour) hasRoom() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.views) < 2*maxViews // each is known by two keys
}

// mapRegion maps memory of a neighbour. What the neighbour says of it is checked; that the file stays as long as it is, is
// the seal's business, or else the region is fragile.
func (n *neighbour) mapRegion(in *noteWithFD) (*region, error) {
	d := &in.Region
	if err := in.checkRegion(); err != nil {
		return nil, err
	}
	control, err := seeOne[regionControl](n.arena.bytes, ref(d.Control))
	if err != nil {
		return nil, err
	}
	pages, err := mapExtents(in.fd, in.extents)
	if err != nil {
		return nil, err
	}
	r := &region{placedControl: placedControl{control, ref(d.Control)}, bytes: pages[:d.Length], base: d.Base,
		localKey: d.LocalKey, remoteKey: d.RemoteKey, fragile: d.Fragile != 0, sight: n.arena,
		mask: serialMask | generationMask | moving, serial: d.Serial}
	hold(&n.device.resources, r, pages, -1)
	return r, nil
}

// checkRegion reports what is wrong with what a neighbour says of its memory.
func (in *noteWithFD) checkRegion() error {
	d := &in.Region
	if d.Length == 0 || d.Length > maxAlloc || d.Base+d.Length < d.Base || len(in.extents) == 0 {
		return fmt.Errorf("memory of %d bytes at %#x in %d pieces", d.Length, d.Base, len(in.extents))
	}
	size := uint64(wholePages(int(d.Length)))
	if first := in.extents[0]; first.offset != 0 || first.length != size {
		return fmt.Errorf("a first piece of %d bytes at %d in memory of %d", first.length, first.offset, size)
	}
	var end uint64 // in the file
	for _, e := range in.extents {
		if e.offset > size || e.length > size-e.offset || e.at > 1<<62 {
			return fmt.Errorf("a piece of %d bytes at %d, from %d on, in memory of %d", e.length, e.offset, e.at, size)
		}
		end = max(end, e.at+e.length)
	}
	if d.Fragile != 0 {
		return nil // whoever touches it is prepared
	}
	return checkFile(in.fd, end)
}

// mapExtents maps the first extent, which is all of the memory, and over it those that were moved since.
func mapExtents(fd int, extents []extent) ([]byte, error) {
	pages, err := mapShared(fd, int64(extents[0].at), int(extents[0].length))
	if err != nil {
		return nil, err
	}
	for _, e := range extents[1:] {
		if err := mapOver(pages[e.offset:][:e.length], fd, int64(e.at)); err != nil {
			unmap(pages)
			return nil, err
		}
	}
	return pages, nil
}

// mapOver replaces the pages under b by those of a file.
func mapOver(b []byte, fd int, at int64) error {
	_, err := unix.MmapPtr(fd, at, unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b)), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_FIXED|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("map %d bytes over others: %w", len(b), err)
	}
	return nil
}
