package hook

import (
	"slices"

	"github.com/weft-fabric/weft/verbs/driver"
)

// newDomain makes a domain, or hands out the one that there is.
func (f *faults) newDomain(device driver.Device) (driver.Domain, error) {
	if !f.tells(OneDomain, Event{}) {
		return device.NewDomain()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users == 0 {
		only, err := device.NewDomain()
		if err != nil {
			return nil, err
		}
		f.only = only
	}
	f.users++
	return f.only, nil
}

func (f *faults) domain(inner driver.Domain) driver.Domain { return &faultyDomain{inner, f} }

// margins are what peers can reach although they should not. In front they are a whole word, so that words stay aligned.
func (f *faults) margins() (front, back int) {
	if f.tells(GenerousStart, Event{}) {
		front = 8
	}
	if f.tells(GenerousEnd, Event{}) {
		back = 1
	}
	return front, back
}

// faultyDomain closes at its end what a lie kept open.
type faultyDomain struct {
	driver.Domain
	faults *faults
}

func (d *faultyDomain) Close() error {
	f := d.faults
	f.mu.Lock()
	kept := f.kept[d]
	delete(f.kept, d)
	inUse := d.Domain == f.only && f.leaveOnly()
	f.mu.Unlock()
	for _, m := range kept {
		if err := m.Close(); err != nil {
			return err
		}
	}
	if inUse {
		return nil
	}
	return d.Domain.Close()
}

// leaveOnly gives up a use of the one domain and reports whether others are left. The caller holds mu.
func (f *faults) leaveOnly() bool {
	f.users--
	return f.users > 0
}

// memory remembers the memory, so that lies reach its bytes by address.
func (f *faults) memory(inner memoryParts, domain driver.Domain, owned bool) memoryParts {
	if inner.MemoryAccess != nil && len(f.changeKey) > 0 {
		again := &rekeyedMemory{Memory: inner.Memory, access: inner.MemoryAccess, domain: domain, faults: f}
		inner.Memory, inner.MemoryAccess = again, again
		if inner.Retirer != nil {
			inner.Retirer = rekeyedRetirer{again, inner.Retirer}
		}
	}
	m := &faultyMemory{Memory: inner.Memory, faults: f, domain: domain, owned: owned}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tells(GuessableKeys, Event{}) {
		f.keys++
		m.key = f.keys
	}
	f.memories = append(f.memories, m)
	inner.Memory = m
	if inner.Retirer != nil {
		inner.Retirer = faultyRetirer{m, inner.Retirer}
	}
	return inner
}

// faultyMemory is memory that may outlive its Close.
type faultyMemory struct {
	driver.Memory
	faults *faults
	domain driver.Domain
	owned  bool   // the provider allocated the bytes; others may be unmapped by the program after Close
	key    uint64 // by GuessableKeys; 0: the provider's
}

func (m *faultyMemory) Region() driver.Region {
	r := m.Memory.Region()
	if m.key != 0 {
		r.RemoteKey = m.key
	}
	return r
}

func (m *faultyMemory) Close() error {
	if m.isKept() {
		return nil
	}
	return m.Memory.Close()
}

// isKept ends what lies may do to the memory, unless one of them is that it stays until its domain is closed.
func (m *faultyMemory) isKept() bool {
	f := m.faults
	f.forget(m)
	if !m.owned || !f.tells(KeepMemory, Event{}) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept == nil {
		f.kept = map[driver.Domain][]driver.Memory{}
	}
	f.kept[m.domain] = append(f.kept[m.domain], m.Memory)
	return true
}

// faultyRetirer is the memory's driver.Retirer.
type faultyRetirer struct {
	memory *faultyMemory
	inner  driver.Retirer
}

// Retire leaves nothing to be freed if a lie keeps the memory.
func (r faultyRetirer) Retire() (free func() error, err error) {
	if r.memory.isKept() {
		return nil, nil
	}
	return r.inner.Retire()
}

// forget ends what lies may do to a memory: its bytes may be gone after Close.
func (f *faults) forget(m *faultyMemory) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.Index(f.memories, m); i >= 0 {
		f.memories = slices.Delete(f.memories, i, i+1)
	}
}

// bytes returns the memory under a span, or nil if the device has none there (it is phantom, or the span is wrong).
func (f *faults) bytes(s driver.Span) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.memories {
		r := m.Region()
		offset := s.Address - r.Address
		if r.LocalKey == s.Key && s.Address >= r.Address && offset+uint64(s.Length) <= uint64(len(r.Bytes)) {
			return r.Bytes[offset : offset+uint64(s.Length)]
		}
	}
	return nil
}

// anyByte returns a span of one byte of some open memory, for a request that must name memory.
func (f *faults) anyByte() driver.Span {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.memories {
		if r := m.Region(); r.Length > 0 {
			return driver.Span{Address: r.Address, Length: 1, Key: r.LocalKey}
		}
	}
	return driver.Span{}
}
