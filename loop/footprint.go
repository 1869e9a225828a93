package loop

import (
	"unsafe"

	"github.com/weft-fabric/weft/verbs"
)

// footprint is a Machine that says what memory its Steps touch. See driver.Footprint.
type footprint interface {
	Footprint(add func(start unsafe.Pointer, size uintptr))
}

// FootprintOf names what leads from a completion to its queue pair.
func (l *Loop) FootprintOf(tag verbs.Tag) unsafe.Pointer { return l.queue.FootprintOf(tag) }

// Footprint names the loop, its queue, and what machines say. A simulator of thousands of loops asks for it.
func (l *Loop) Footprint(add func(start unsafe.Pointer, size uintptr)) {
	add(unsafe.Pointer(l), unsafe.Offsetof(l.batchRoom)+unsafe.Sizeof(l.batchRoom[0])) // most turns have one completion
	l.queue.Footprint(add)
	for _, p := range l.machines.byOwner {
		if m, ok := p.machine.(footprint); ok {
			m.Footprint(add)
		}
	}
}
