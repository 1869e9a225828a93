package rdmc

import "unsafe"

// Footprint names the memory that nearly every Step touches (driver.Footprint).
func (g *Group) Footprint(add func(start unsafe.Pointer, size uintptr)) {
	add(unsafe.Pointer(g), unsafe.Sizeof(*g))
	add(unsafe.Pointer(&g.incoming[0]), unsafe.Sizeof(g.incoming[0]))
	add(unsafe.Pointer(&g.outgoing[0]), unsafe.Sizeof(g.outgoing[0]))
	add(unsafe.Pointer(unsafe.SliceData(g.ranks)), uintptr(len(g.ranks))*unsafe.Sizeof(g.ranks[0]))
	if len(g.active) > 0 {
		g.part.Footprint(add)
	}
	for _, t := range g.active {
		add(unsafe.Pointer(t), unsafe.Sizeof(*t))
	}
}
