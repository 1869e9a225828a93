package soft

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"strconv"
	"sync"
)

// process stands for this process: its identity, and the devices that its other devices can reach directly. It is the
// package's only global state.
var process = struct {
	identity identity
	host     identity
	user     string
	mu       sync.RWMutex
	devices  map[identity]*Device // open and alive
}{identity: newIdentity(), host: thisHost(), user: strconv.Itoa(os.Geteuid()), devices: make(map[identity]*Device)}

// thisHost names what processes that can share memory have in common besides their user: the kernel, and the namespace of
// abstract sockets and loopback. It hashes, because the names are of different kinds, and nobody else's business.
func thisHost() identity {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/net")
	sum := sha256.Sum256(append(boot, space...))
	return identity(binary.LittleEndian.Uint64(sum[:]))
}

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
