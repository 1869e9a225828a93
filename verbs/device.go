package verbs

import (
	"fmt"
	"sync"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/leak"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Device is an opened NIC (InfiniBand: context). Its methods may be called from several goroutines.
type Device struct {
	driver driver.Device
	limits Limits
	clock  clock.Clock
	handle leak.Handle

	mu       sync.Mutex
	domains  int // open
	queues   int // open completion queues
	isClosed bool
}

// Open makes a Device of a provider's, which is opened once. The Device owns it: Close closes it. It fails with
// ErrArgument if provider is nil.
func Open(provider driver.Device) (*Device, error) {
	if provider == nil {
		return nil, fail("open device", ErrArgument, "there is no provider device: it is nil")
	}
	d := &Device{driver: provider, limits: provider.Limits(), clock: clock.Real}
	if own, ok := provider.(driver.Clocked); ok {
		d.clock = own.Clock()
	}
	d.handle = leak.Opened("verbs device " + d.limits.Provider)
	return d, nil
}

func (d *Device) String() string { return d.limits.Provider + " device" }

// Limits says what the device can do.
func (d *Device) Limits() Limits { return d.limits }

// Clock is the time that the device lives in: a simulated device's is the simulator's.
func (d *Device) Clock() clock.Clock { return d.clock }

// Locks says how many locks the provider took on its data path, if it counts them.
func (d *Device) Locks() (uint64, bool) {
	counter, ok := d.driver.(driver.LockCounter)
	if !ok {
		return 0, false
	}
	return counter.Locks(), true
}

// NewDomain makes a domain: what may meet what. It fails with ErrClosed after Close.
func (d *Device) NewDomain() (*Domain, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isClosed {
		return nil, fail(d, ErrClosed, "new domain")
	}
	inner, err := d.driver.NewDomain()
	if err != nil {
		return nil, fmt.Errorf("%v: new domain: %w", d, err)
	}
	d.domains++
	return &Domain{device: d, driver: inner}, nil
}

// NewCompletionQueue makes a queue with room for depth completions. A queue pair reserves its room in it: SendDepth +
// ReceiveDepth + ControlRoom. It fails with ErrLimit if depth is not between 1 and Limits().MaxCompletion.
func (d *Device) NewCompletionQueue(depth int) (*CompletionQueue, error) {
	if depth < 1 || depth > d.limits.MaxCompletion {
		return nil, fail(d, ErrLimit, "new completion queue of depth %d, allowed are 1 to %d", depth, d.limits.MaxCompletion)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isClosed {
		return nil, fail(d, ErrClosed, "new completion queue")
	}
	inner, err := d.driver.NewCompletionQueue(depth)
	if err != nil {
		return nil, fmt.Errorf("%v: new completion queue of depth %d: %w", d, depth, err)
	}
	d.queues++
	return newCompletionQueue(d, inner, depth), nil
}

// Close frees the device. It fails with ErrInUse while a domain or a completion queue is open: children go first. A
// second Close does nothing.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isClosed {
		return nil
	}
	if d.domains+d.queues > 0 {
		return fail(d, ErrInUse, "close: %d domains and %d completion queues are open", d.domains, d.queues)
	}
	d.isClosed = true
	d.handle.Closed()
	return d.driver.Close()
}

// released counts a closed child down. Each child calls it once.
func (d *Device) released(count *int) {
	d.mu.Lock()
	*count--
	d.mu.Unlock()
}
