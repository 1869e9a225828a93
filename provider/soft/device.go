package soft

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft/verbs/driver"
)

// What a device can do, apart from what Config says.
const (
	maxMessage    = 1 << 30
	maxInline     = 256
	maxSpans      = 16
	maxDepth      = 1 << 14
	maxQueuePairs = 1 << 20
	maxCompletion = 1 << 24
)

// Device is a software NIC. It implements driver.Device and driver.LockCounter. Any goroutine may use it.
type Device struct {
	config     Config
	identity   identity
	nic        nic
	epoch      atomic.Uint32 // of the last life of any queue pair: a number that is used again never has an old epoch
	pacer      *pacer        // nil: it sends as much as it can
	locks      atomic.Uint64 // taken on the data path, other than those of completion queues
	arena      *arena        // nil: no neighbours
	controls   controlWords  // of the regions of its domains
	neighbours neighbours
	resources  resources // of theirs
	meetings   meetings  // of queue pairs with peers of other processes
	network    network
	dialled    string // what peers dial to reach the TCP lane; empty: they cannot

	// mu is taken after the lock of a completion queue, never before.
	mu          sync.RWMutex
	closed      bool
	killed      bool
	lastNumber  uint32 // of a queue pair
	lastDomain  uint64
	domains     map[*Domain]struct{}
	queues      map[*CompletionQueue]struct{}
	pairs       map[uint32]*QueuePair
	closedLocks uint64 // taken on completion queues that are closed
}

// New opens a device and makes it known to the other devices of the process.
func New(config Config) (*Device, error) {
	d, err := open(config)
	if err != nil && config.Listener != nil {
		_ = config.Listener.Close() // or the device has, already
	}
	return d, err
}

func open(config Config) (*Device, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Device{
		config:   config,
		identity: newIdentity(),
		nic:      nic{call: make(chan struct{}, 1)},
		pacer:    newPacer(config.Rate),
		domains:  make(map[*Domain]struct{}),
		queues:   make(map[*CompletionQueue]struct{}),
		pairs:    make(map[uint32]*QueuePair),
	}
	d.meetings.open(config.callsAtOnce())
	if err := d.openLanes(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	enlist(d)
	return d, nil
}

// Limits says what the device can do.
func (d *Device) Limits() driver.Limits {
	return driver.Limits{
		Provider:      "soft",
		MaxMessage:    maxMessage,
		MaxInline:     maxInline,
		MaxSpans:      maxSpans,
		MaxDepth:      maxDepth,
		MaxQueuePairs: maxQueuePairs,
		MaxCompletion: maxCompletion,
		PeerTimeout:   d.config.PeerTimeout,
		Chains:        true,
		CPUAtomics:    true,
		LastWordLast:  true,
	}
}

// NewDomain makes an empty domain.
func (d *Device) NewDomain() (driver.Domain, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable(); err != nil {
		return nil, err
	}
	d.lastDomain++
	domain := &Domain{device: d, number: d.lastDomain, keys: newKeyTable(&d.locks)}
	d.domains[domain] = struct{}{}
	return domain, nil
}

// NewCompletionQueue makes a queue that can hold depth completions.
func (d *Device) NewCompletionQueue(depth int) (driver.CompletionQueue, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable(); err != nil {
		return nil, err
	}
	words, at, err := placeOne[queueWords](d.arena)
	if err != nil {
		return nil, err
	}
	c := &CompletionQueue{device: d, depth: depth, sleep: sleeper{armed: &words.armed, signal: make(chan struct{}, 1)},
		ready: readySet{queueWords: words, wordsRef: at, arena: d.arena}}
	d.queues[c] = struct{}{}
	return c, nil
}

// Close frees the device and waits for its goroutine. Everything that was made from it must be closed.
func (d *Device) Close() error {
	if err := d.close(); err != nil {
		return err
	}
	d.neighbours.sayBye()
	d.neighbours.hangUp()
	d.network.close()
	d.meetings.close()
	d.neighbours.close()
	d.network.attend.close()
	d.nic.close()
	d.resources.close() // nobody looks any more
	d.arena.close(d.config.Lanes.has(InProcess))
	return nil
}

// openLanes opens what the device's lanes need.
func (d *Device) openLanes() error {
	if d.config.Lanes.has(SharedMemory) {
		if err := d.openShared(); err != nil {
			return err
		}
	}
	return d.openNetwork()
}

func (d *Device) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return fmt.Errorf("soft: close device %s: already %w", d.config.Name, driver.ErrClosed)
	}
	if len(d.domains)+len(d.queues) > 0 {
		return fmt.Errorf("soft: close device %s: %d domains and %d completion queues are open", d.config.Name,
			len(d.domains), len(d.queues))
	}
	d.closed = true
	delist(d)
	return nil
}

// Kill makes the device stop as if its process had died now, for tests: nothing is completed or flushed any more, every
// call on what was made from it fails, and its peers find it gone. What was made from it must still be closed.
func (d *Device) Kill() {
	delist(d)
	d.nic.stop()
	d.network.attend.stop()
	d.network.hangUp()
	d.meetings.cancel()
	d.neighbours.hangUp()
	d.mu.Lock()
	d.killed = true
	queues, pairs := slices.Collect(maps.Keys(d.queues)), slices.Collect(maps.Values(d.pairs))
	d.mu.Unlock()
	for _, c := range queues {
		c.kill()
	}
	for _, q := range pairs {
		q.life.Load().finish()
	}
}

// Locks returns how many locks have been taken on the data path. It includes none of its own.
func (d *Device) Locks() uint64 {
	d.mu.RLock()
	sum := d.locks.Load() + d.closedLocks
	queues := slices.Collect(maps.Keys(d.queues))
	d.mu.RUnlock()
	for _, c := range queues {
		sum += c.countLocks()
	}
	return sum
}

func (d *Device) usable() error {
	switch {
	case d.killed:
		return errKilled
	case d.closed:
		return fmt.Errorf("soft: device %s is %w", d.config.Name, driver.ErrClosed)
	}
	return nil
}
