package sim

import (
	"fmt"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

const (
	maxMessage    = 1 << 30
	maxInline     = 256
	maxSpans      = 16
	maxDepth      = 1 << 14
	maxQueuePairs = 1 << 16
	maxCompletion = 1 << 20
)

// node is a place in the network. It outlives the crashes of what runs there.
type node struct {
	index  uint32
	name   string
	config NodeConfig
	tx, rx uint32     // resources: the two directions of its NIC
	engine clock.Time // when the NIC can send the next message; it handles one at a time
	slow   float64    // factor on the NIC's rate, minFactor <= slow <= 1
	group  int        // side of the partition; nodes of different groups cannot reach each other
	epochs uint32     // handed out to queue pairs; never one twice, so that no stale address fits
	device *Device    // nil: crashed or closed
}

// Device is one life of a node's NIC: from NewDevice or Restart to Crash or Close. It implements driver.Device and
// driver.Clocked.
type Device struct {
	fabric *Fabric
	node   *node
	dead   bool // crashed
	closed bool

	domains int                // open ones
	queues  []*completionQueue // the open ones, each at its place
	pairs   []*queuePair       // the open ones, sorted by number
	numbers uint32             // of queue pairs, handed out so far

	memories    []*memory // by the slot in their local key
	freeSlots   []uint16
	generation  uint16             // of the latest local key
	keys        map[uint64]*memory // by remote key; for look-up only
	nextAddress uint64
}

// NewDevice adds a node with its NIC to the network. It fails with driver.ErrArgument if a field of the configuration
// makes no sense or the name is taken, also by a node that is down, and with driver.ErrLimit beyond a million nodes.
func (f *Fabric) NewDevice(config NodeConfig) (*Device, error) {
	if err := config.validate(f.config.Racks); err != nil {
		return nil, fmt.Errorf("%w: %w", err, driver.ErrArgument)
	}
	if f.names[config.Name] != nil {
		return nil, fmt.Errorf("sim: there is a node %s already: %w", config.Name, driver.ErrArgument)
	}
	if len(f.nodes) == maxNodes {
		return nil, fmt.Errorf("sim: node %s is one more than %d: %w", config.Name, maxNodes, driver.ErrLimit)
	}
	if config.Rate == 0 {
		config.Rate = defaultRate
	}
	n := &node{index: uint32(len(f.nodes)), name: config.Name, config: config, slow: 1}
	n.tx = f.network.addResource(n.capacity())
	n.rx = f.network.addResource(n.capacity())
	f.nodes = append(f.nodes, n)
	f.ahead = f.ahead || len(f.nodes) >= manyNodes
	f.names[n.name] = n
	return f.start(n), nil
}

// start begins a life of a node that has none.
func (f *Fabric) start(n *node) *Device {
	n.device = &Device{fabric: f, node: n, keys: make(map[uint64]*memory), nextAddress: firstPage}
	return n.device
}

// capacity is the rate of the node's NIC, each way, in bytes a nanosecond.
func (n *node) capacity() float64 { return bytesPerNanosecond(n.config.Rate) * n.slow }

// find looks a node up for a fault.
func (f *Fabric) find(name string) (*node, error) {
	n := f.names[name]
	if n == nil {
		return nil, fmt.Errorf("sim: there is no node %q: %w", name, driver.ErrArgument)
	}
	return n, nil
}

// Name is the node's name.
func (d *Device) Name() string { return d.node.name }

// Clock is the fabric's virtual clock.
func (d *Device) Clock() clock.Clock { return d.fabric }

// Limits says what the simulated NIC can do.
func (d *Device) Limits() driver.Limits {
	return driver.Limits{
		Provider:      "sim",
		MaxMessage:    maxMessage,
		MaxInline:     maxInline,
		MaxSpans:      maxSpans,
		MaxDepth:      maxDepth,
		MaxQueuePairs: maxQueuePairs,
		MaxCompletion: maxCompletion,
		PeerTimeout:   d.fabric.config.PeerTimeout,
		Chains:        true,
		CPUAtomics:    true,
		LastWordLast:  true,
	}
}

// crashed is what everything made from a dead device answers.
func (d *Device) crashed() error { return fmt.Errorf("sim: %s: %w", d.node.name, ErrCrashed) }

// usable says why the device cannot be used, if it cannot.
func (d *Device) usable() error {
	if d.dead {
		return d.crashed()
	}
	if d.closed {
		return fmt.Errorf("sim: device of %s is %w", d.node.name, driver.ErrClosed)
	}
	return nil
}

// NewDomain makes a domain.
func (d *Device) NewDomain() (driver.Domain, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	d.domains++
	return &Domain{device: d}, nil
}

// Close takes the node off the network, until Restart. Everything made from the device must be closed before.
func (d *Device) Close() error {
	if err := d.usable(); err != nil {
		return err
	}
	if d.domains > 0 || len(d.queues) > 0 {
		return fmt.Errorf("sim: close %s: %d domains and %d completion queues are still open", d.node.name, d.domains,
			len(d.queues))
	}
	d.closed = true
	d.node.device = nil
	return nil
}

// Domain groups memory and queue pairs of a device. Beside driver.Domain it implements driver.Allocator,
// driver.Phantoms and driver.SharedReceiver.
type Domain struct {
	device   *Device
	children int // open memories, queue pairs and shared receives
	closed   bool
}

// usable says why the domain cannot be used, if it cannot.
func (d *Domain) usable() error {
	if err := d.device.usable(); err != nil {
		return err
	}
	if d.closed {
		return fmt.Errorf("sim: domain of %s is %w", d.device.node.name, driver.ErrClosed)
	}
	return nil
}

// Close frees the domain. Everything made from it must be closed before.
func (d *Domain) Close() error {
	if err := d.usable(); err != nil {
		return err
	}
	if d.children > 0 {
		return fmt.Errorf("sim: close domain of %s: %d memories, queue pairs or shared receives are still open",
			d.device.node.name, d.children)
	}
	d.closed = true
	d.device.domains--
	return nil
}
