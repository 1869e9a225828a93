package ibv

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/verbs/driver"
)

// domain is a protection domain.
type domain struct {
	device *Device
	native *native.Domain

	mu      sync.RWMutex                     // read-locked while the library reads bytes of Inline requests: they stay until then
	regions atomic.Pointer[map[uint32]piece] // by local key; replaced, never changed
	windows map[*window]struct{}             // guarded by mu, as what is in them

	nothing       []byte // for fillNothing; C memory
	nothingMemory *native.Memory
}

// piece is the bytes of a memory, and how the device knows them.
type piece struct {
	address, length uint64
	local           *native.Memory
}

func (p piece) has(s driver.Span) bool {
	return s.Address >= p.address && s.Address-p.address <= p.length && uint64(s.Length) <= p.length-(s.Address-p.address)
}

// owns reports whether a span lies in memory of the domain. The library reads the bytes of an Inline request itself, and would crash where
// a device says that it may not.
func (d *domain) owns(s driver.Span) bool {
	_, found := d.find(s)
	return found
}

// find returns the memory of the domain that a span lies in.
func (d *domain) find(s driver.Span) (piece, bool) {
	regions := d.regions.Load()
	if regions == nil {
		return piece{}, false
	}
	p, found := (*regions)[s.Key]
	return p, found && p.has(s)
}

// list adds a memory to those that owns knows, or takes it off them.
func (d *domain) list(key uint32, p piece, add bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := make(map[uint32]piece)
	if old := d.regions.Load(); old != nil {
		for k, v := range *old {
			next[k] = v
		}
	}
	if add {
		next[key] = p
	} else {
		delete(next, key)
	}
	d.regions.Store(&next)
}

// NewQueuePair makes a queue pair.
func (d *domain) NewQueuePair(config driver.QueueConfig) (driver.QueuePair, error) {
	if d.device.lost.Load() {
		return nil, d.device.errLost()
	}
	queue, ok := config.Completions.(*completionQueue)
	if !ok || queue.device != d.device {
		return nil, fmt.Errorf("the completion queue is of another device: %w", driver.ErrArgument)
	}
	return newQueuePair(d, queue, config)
}

// NewSharedReceives makes a pool of receives.
func (d *domain) NewSharedReceives(config driver.SharedConfig) (driver.SharedReceives, error) {
	if d.device.lost.Load() {
		return nil, d.device.errLost()
	}
	queue, ok := config.Completions.(*completionQueue)
	if !ok || queue.device != d.device {
		return nil, fmt.Errorf("the completion queue is of another device: %w", driver.ErrArgument)
	}
	return newSharedReceives(d, queue, config)
}

// Close frees the domain.
func (d *domain) Close() error {
	if err := d.closeNothing(); err != nil {
		return err
	}
	return d.device.forgive(d.native.Close())
}
