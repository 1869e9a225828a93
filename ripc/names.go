package ripc

import (
	"fmt"
	"strings"
	"sync"

	"github.com/weft-fabric/weft/ripc/wire"
)

// Name is the ID of the service with a name.
func Name(name string) ID { return names.id(origin{wire.Named, name}) }

// Group is the ID of all services that have joined a group: a short message to it goes to each of them.
func Group(name string) ID { return names.id(origin{wire.Group, name}) }

// origin is what an ID was made of.
type origin struct {
	kind wire.Kind
	name string
}

// names are those that this process has made IDs of. An ID is a hash: without them, errors could not say whom they are about.
var names = memory{ids: make(map[origin]ID), origins: make(map[ID]origin)}

type memory struct {
	mu      sync.RWMutex
	ids     map[origin]ID
	origins map[ID]origin // the same, the other way round
}

// maxNames is how many are remembered: the first ones. Those of a program are few, unless it makes them up as it goes; and it may say a
// name once, when it starts, and need it in an error much later.
const maxNames = 4096

func (m *memory) id(of origin) ID {
	m.mu.RLock()
	id, known := m.ids[of]
	mayRemember := m.hasRoom(of)
	m.mu.RUnlock()
	if known {
		return id
	}
	if id = wire.NameID(of.name); of.kind == wire.Group {
		id = wire.GroupID(of.name)
	}
	if mayRemember {
		m.remember(id, of)
	}
	return id
}

// hasRoom reports whether a name can be remembered. The lock is held.
func (m *memory) hasRoom(of origin) bool {
	return len(m.ids) < maxNames && len(of.name) <= wire.MaxName
}

func (m *memory) remember(id ID, of origin) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hasRoom(of) { // others may have taken it
		of.name = strings.Clone(of.name) // it may be a piece of something large
		m.ids[of], m.origins[id] = id, of
	}
}

// title is whom an ID stands for, as errors say it: by name, if that is known.
func title(id ID) string {
	names.mu.RLock()
	of, known := names.origins[id]
	names.mu.RUnlock()
	switch {
	case known && of.kind == wire.Group:
		return fmt.Sprintf("group %q", of.name)
	case known:
		return fmt.Sprintf("service %q", of.name)
	case id.Kind() == wire.Group || id.Kind() == wire.Nobody:
		return id.String()
	}
	return fmt.Sprintf("service %x", id[1:7])
}

// process is how errors name a process.
func process(node ID) string { return fmt.Sprintf("process %x", node[1:5]) }
