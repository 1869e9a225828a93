package schedule

import "unsafe"

// Footprint names the memory that each look at a Plan touches (driver.Footprint).
func (p *Part) Footprint(add func(start unsafe.Pointer, size uintptr)) {
	pattern := p.pattern
	if s, ok := pattern.(striped); ok {
		pattern = s.pattern
	}
	if c, ok := pattern.(*circulant); ok {
		add(unsafe.Pointer(c), unsafe.Sizeof(*c))
	}
}
