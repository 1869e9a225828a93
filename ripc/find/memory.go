package find

import (
	"container/list"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/wire"
)

// memory is what a cache remembers: at most size IDs, of which the one that was not asked for longest goes first.
type memory struct {
	size    int
	entries map[wire.ID]*entry
	recent  *list.List // of *entry, the one that was asked for last in front. Invariant: the same as in entries
}

// entry is what is remembered of an ID: its records, or that there are none.
type entry struct {
	id      wire.ID
	records []Record // shared with those who asked: never changed
	err     error
	until   clock.Time // up to, not including
	place   *list.Element
}

func newMemory(size int) memory {
	return memory{size: size, entries: map[wire.ID]*entry{}, recent: list.New()}
}

// at returns the entry of an ID, if there is one and it has not expired.
func (m *memory) at(id wire.ID, now clock.Time) *entry {
	e := m.entries[id]
	if e == nil {
		return nil
	}
	if now >= e.until {
		m.remove(id)
		return nil
	}
	m.recent.MoveToFront(e.place)
	return e
}

func (m *memory) put(id wire.ID, records []Record, err error, until clock.Time) {
	m.remove(id)
	e := &entry{id: id, records: records, err: err, until: until}
	e.place = m.recent.PushFront(e)
	m.entries[id] = e
	for len(m.entries) > m.size {
		m.remove(m.recent.Back().Value.(*entry).id)
	}
}

func (m *memory) remove(id wire.ID) {
	if e := m.entries[id]; e != nil {
		m.recent.Remove(e.place)
		delete(m.entries, id)
	}
}
