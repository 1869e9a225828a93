package schedule

import "unsafe"

// Footprint names the memory that each look at a Plan touches (driver.Footprint).
func (p *Part) Footprint(add func(start unsafe.Pointer, size uintptr)) {
	if c, ok := p.pattern.(*circulant); ok {
		add(unsafe.Pointer(c), unsafe.Sizeof(*c))
	}
}
