package way

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/verbs"
)

// Ways are the ways of blocks that this process has, the best first.
func (p *Place) Ways() (list []string) {
	if p.hasRDMA() {
		list = append(list, IBV)
	}
	if !p.config.NoShared {
		list = append(list, SHM)
	}
	return append(list, TCP)
}

func (p *Place) hasRDMA() bool { return p.config.Hardware != nil && p.noRDMA == nil }

// tryHardware finds out whether hardware can be used: somebody who has one may not be allowed to open it, or to lock the memory that
// pushes need.
func (p *Place) tryHardware() {
	if p.config.Hardware == nil {
		return
	}
	if p.noRDMA = try(p.config.Hardware); p.noRDMA != nil && p.config.Log != nil {
		p.config.Log.Warn("RDMA is not used", "error", p.noRDMA)
	}
}

func try(hardware func(string) (*verbs.Device, error)) error {
	device, err := hardware("")
	if err != nil {
		return err
	}
	domain, err := device.NewDomain()
	if err != nil {
		return errors.Join(err, device.Close())
	}
	memory, err := domain.Alloc(control.MemoryBudget, 0)
	if err != nil {
		return errors.Join(fmt.Errorf("%d MiB of memory: %w", control.MemoryBudget>>20, err), domain.Close(), device.Close())
	}
	return errors.Join(memory.Close(), domain.Close(), device.Close())
}

// Device opens the device of a push, which the caller closes; a push has one at a time. All who take part have theirs with the
// same way and the same plain, which says that TCP is not encrypted. Rate is how many bytes a second it sends at most; 0: as many as
// it can.
func (p *Place) Device(id manifest.ID, way string, plain bool, rate uint64) (*verbs.Device, error) {
	d, err := p.openDevice(id, way, plain, rate)
	if err != nil {
		return nil, fmt.Errorf("open a device for push %x, by %s: %w", id[:8], way, err)
	}
	return d, nil
}

func (p *Place) openDevice(id manifest.ID, way string, plain bool, rate uint64) (*verbs.Device, error) {
	config := soft.Config{Plain: plain, Rate: rate}
	if !plain {
		config.TLS = p.config.Keys.TLS()
	}
	switch {
	case way == IBV && p.noRDMA != nil:
		return nil, fmt.Errorf("%w: %w", ErrNoWay, p.noRDMA)
	case way == IBV && p.config.Hardware != nil && rate > 0:
		return nil, fmt.Errorf("hardware cannot be slowed down to a rate: leave the limit out, or take %s or %s: %w", SHM, TCP, ErrArgument)
	case way == IBV && p.config.Hardware != nil:
		return p.config.Hardware("")
	case way == SHM && !p.config.NoShared:
		config.Lanes = soft.SharedMemory | soft.TCP // agents of one process meet like those of several
	case way == TCP:
		config.Lanes = soft.TCP
	default:
		return nil, fmt.Errorf("there are %v: %w", p.Ways(), ErrNoWay)
	}
	return p.newNIC("data/"+hex.EncodeToString(id[:8]), config)
}
