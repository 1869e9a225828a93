package soft

import (
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft/verbs/driver"
)

// The bits of a region's control word above those of driver.Access. Above them are a generation, which changes when pages
// are moved, and a serial number.
const (
	alive          = 1 << 8 // Close clears it
	moving         = 1 << 9 // its pages are being moved: peers of other processes must wait
	generationBits = 16
	serialBits     = 32
	serialMask     = 1<<64 - 1<<serialBits
	generationMask = 1<<serialBits - 1<<generationBits
)

// regionControl is what requesters ask inside the gate. Like an end it has no Go pointers.
type regionControl struct {
	word atomic.Uint64
}

// change replaces access and alive, and leaves the rest alone. Nothing revives the dead.
func (c *regionControl) change(lower uint64) {
	for {
		seen := c.word.Load()
		kept := seen & (serialMask | generationMask | moving)
		if seen&alive == 0 || c.word.CompareAndSwap(seen, kept|lower) {
			return
		}
	}
}

// controls is where the control words of a device's regions lie. A word that is free is used only for another region,
// so that who still looks at it finds a foreign serial number, and nothing worse.
type controlWords struct {
	mu     sync.Mutex
	vacant []placedControl
	serial uint64 // the last one given
}

type placedControl struct {
	*regionControl
	at ref
}

// take gives a region its word, with a serial number that was never used before.
func (w *controlWords) take(a *arena, access driver.Access) (c placedControl, serial uint64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.vacant); n > 0 {
		c, w.vacant = w.vacant[n-1], w.vacant[:n-1]
	} else if c.regionControl, c.at, err = placeOne[regionControl](a); err != nil {
		return c, 0, err
	}
	w.serial += 1 << serialBits
	serial = w.serial
	c.word.Store(serial | alive | uint64(access))
	return c, serial, nil
}

func (w *controlWords) give(c placedControl) {
	w.mu.Lock()
	w.vacant = append(w.vacant, c)
	w.mu.Unlock()
}

// region is registered memory as the NIC knows it, of this process or, as a view, of another. It is never used again after
// Close, and its remote key is a random number that will not be drawn twice, so a queue pair may remember one for ever:
// the control word tells it the rest. Its local key does come back (keys.go), and is looked up every time.
type region struct {
	placedControl
	serial    uint64 // what the control word must show; in a view with the generation
	bytes     []byte
	base      uint64 // address of the first byte, as its owner counts
	localKey  uint32
	remoteKey uint64
	mask      uint64  // bits of the control word that must be as expected: the serial number and, in a view, moving
	fragile   bool    // a file that may be truncated while it is mapped
	memory    *Memory // nil in a view
	sight     *sight  // of a view: what the control word lies in
}

// stale reports whether a view shows pages that were moved, or memory that is long gone.
func (r *region) stale() bool { return (r.word.Load()^r.serial)>>generationBits != 0 }

// allows reports whether the region is alive and grants all of want.
func (r *region) allows(want driver.Access) bool {
	word := r.word.Load()
	need := r.serial | alive | uint64(want)
	return word&(need|r.mask) == need
}

// isAlive reports whether the region is alive, be it moving or not.
func (r *region) isAlive() bool {
	return r.word.Load()&(serialMask|alive) == r.serial&serialMask|alive
}

// covers reports whether a span lies inside, and the region is alive. In no region lies nothing.
func (r *region) covers(s driver.Span) bool {
	return r != nil && r.isAlive() && r.contains(s.Address, uint64(s.Length))
}

// version changes when the memory is closed, and when its pages are moved.
func (r *region) version() uint64 { return r.word.Load() & (serialMask | generationMask) }

// contains reports whether n bytes from an address lie inside. It is exact for all 64-bit values.
func (r *region) contains(at, n uint64) bool {
	offset, length := at-r.base, uint64(len(r.bytes))
	return offset <= length && n <= length-offset
}

// slice returns n bytes from an address, which must lie inside.
func (r *region) slice(at, n uint64) []byte { return r.bytes[at-r.base:][:n] }
