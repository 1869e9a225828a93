package soft

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
)

// process stands for this process: its identity, and the devices that its other devices can reach directly. It is the
// package's only global state.
var process = struct {
	identity identity
	mu       sync.RWMutex
	devices  map[identity]*Device // open and alive
}{identity: newIdentity(), devices: make(map[identity]*Device)}

// newIdentity draws a random name. crypto/rand.Read never fails.
func newIdentity() identity {
	var b [8]byte
	rand.Read(b[:])
	return identity(binary.LittleEndian.Uint64(b[:]))
}

func enlist(d *Device) {
	process.mu.Lock()
	process.devices[d.identity] = d
	process.mu.Unlock()
}

func delist(d *Device) {
	process.mu.Lock()
	delete(process.devices, d.identity)
	process.mu.Unlock()
}

// findLife returns the life that a names, or nil if it is over or never was.
func findLife(a address) *life {
	process.mu.RLock()
	d := process.devices[a.device]
	process.mu.RUnlock()
	if d == nil {
		return nil
	}
	if l := d.presentLife(a.number); l != nil && l.epoch == a.epoch {
		return l
	}
	return nil
}
