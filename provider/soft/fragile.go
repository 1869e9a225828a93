package soft

import (
	"runtime/debug"

	"github.com/weft-fabric/weft/verbs/driver"
)

// Memory that is a file can be truncated by anybody while it is registered; whoever touches a page that is no more gets a
// SIGBUS. What touches such memory does so inside unharmed, and a request ends with an error instead of the process.

// isFragile reports whether a visit might touch such memory.
func (v *visit) isFragile() bool { return v.q.domain.fragile.Load() || v.peer.fragile.Load() }

// carryFragile is carry for a visit that might.
func (v *visit) carryFragile() (ends verdict) {
	fault, at := unharmed(func() { ends = v.carry() })
	switch {
	case !fault:
	case v.q.domain.keys.owns(at):
		ends = verdict(driver.LocalProtection)
	default:
		ends = verdict(driver.RemoteAccess)
	}
	return ends
}

// unharmed calls f, and says where it touched memory that is not there, if it did. Other panics go on.
func unharmed(f func()) (fault bool, at uint64) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err, ok := r.(interface{ Addr() uintptr })
			if !ok {
				panic(r)
			}
			fault, at = true, uint64(err.Addr())
		}
	}()
	f()
	return false, 0
}
