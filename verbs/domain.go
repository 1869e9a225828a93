package verbs

import (
	"fmt"
	"sync"

	"github.com/weft-fabric/weft/verbs/driver"
)

// Domain groups what may meet: a queue pair reaches only memory of its own domain (InfiniBand: protection domain). Its
// methods may be called from several goroutines.
type Domain struct {
	device *Device
	driver driver.Domain

	mu       sync.Mutex
	memories int // open
	pairs    int // open queue pairs
	pools    int // open shared receives
	isClosed bool
}

func (d *Domain) String() string { return d.device.limits.Provider + " domain" }

// Device is the device that the domain belongs to.
func (d *Domain) Device() *Device { return d.device }

// Close frees the domain. It fails with ErrInUse while memory, queue pairs or shared receives of it are open. A second
// Close does nothing.
func (d *Domain) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isClosed {
		return nil
	}
	if d.memories+d.pairs+d.pools > 0 {
		return fail(d, ErrInUse, "close: %d memories, %d queue pairs and %d shared receives are open", d.memories, d.pairs,
			d.pools)
	}
	d.isClosed = true
	defer d.device.released(&d.device.domains)
	return d.driver.Close()
}

// adopt makes a child under the domain's lock, unless the domain is closed, and counts it.
func (d *Domain) adopt(count *int, what string, make func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isClosed {
		return fail(d, ErrClosed, "%s", what)
	}
	if err := make(); err != nil {
		return fmt.Errorf("%v: %s: %w", d, what, err)
	}
	*count++
	return nil
}

func (d *Domain) released(count *int) {
	d.mu.Lock()
	*count--
	d.mu.Unlock()
}
