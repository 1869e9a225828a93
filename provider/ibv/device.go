package ibv

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/provider/ibv/devices"
	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/provider/ibv/presence"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Device is one port of an opened RDMA device.
type Device struct {
	config  Config
	choice  devices.Choice
	context *native.Context
	port    native.PortAttr
	limits  driver.Limits
	lends   bool  // it has windows
	reads   int   // Reads and atomics that a queue pair has under way at a time
	timeout uint8 // how long a packet waits for its answer: 4.096 µs * 2^timeout
	log     *slog.Logger
	office  *presence.Office
	watcher *watcher

	lost atomic.Bool          // the device is gone
	path atomic.Pointer[Path] // that of the last Connect; nil: there was none, or it needed no GID

	mu     sync.Mutex
	queues map[*completionQueue]struct{}
}

// Open opens a device. Every reason why it cannot be used has its own error, which says what to do.
func Open(config Config) (*Device, error) {
	choice, err := choose(config)
	if err != nil {
		return nil, err
	}
	d := &Device{config: config, choice: choice, log: config.Log, queues: make(map[*completionQueue]struct{})}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.context, err = native.Open(choice.Device.Name); err != nil {
		return nil, explainOpen(choice, err)
	}
	if err := d.prepare(); err != nil {
		return nil, errors.Join(err, d.context.Close())
	}
	return d, nil
}

// Usable says why Open would fail, without opening anything.
func Usable(config Config) error {
	_, err := choose(config)
	return err
}

// choose finds the port to use, if there is a library to use it with.
func choose(config Config) (devices.Choice, error) {
	list, err := devices.Machine{}.List()
	if err != nil {
		return devices.Choice{}, err
	}
	choice, err := devices.Choose(list, config.Device, config.Near)
	static := errors.Is(native.Load(), native.ErrNoCgo)
	switch {
	case errors.Is(err, devices.ErrNoDevice) && static:
		return devices.Choice{}, fmt.Errorf("%w; and %w", err, native.ErrNoCgo)
	case err != nil:
		return devices.Choice{}, err
	case static:
		return devices.Choice{}, fmt.Errorf("RDMA device %v cannot be used: %w", choice, native.ErrNoCgo)
	}
	if err := native.Load(); err != nil {
		return devices.Choice{}, fmt.Errorf("RDMA device %v cannot be used: libibverbs: %w: %w", choice, err, errLibrary)
	}
	return choice, nil
}

var errLibrary = errors.New("install rdma-core and the device's driver for it (Debian: libibverbs1 ibverbs-providers)")

func explainOpen(choice devices.Choice, err error) error {
	switch {
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return fmt.Errorf("open %v: %w: %s must be readable and writable for this user or container", choice, err, choice.Device.File)
	case errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.ENOENT):
		return fmt.Errorf("open %v: libibverbs does not list it: %w: is its driver installed (Debian: ibverbs-providers), and %s there?", choice, err, choice.Device.File)
	}
	return fmt.Errorf("open %v: %w", choice, err)
}

// prepare asks the opened device what it can, and starts what watches over it.
func (d *Device) prepare() error {
	attr, err := d.context.Device()
	if err != nil {
		return fmt.Errorf("open %v: %w", d.choice, err)
	}
	if d.port, err = d.context.Port(uint8(d.choice.Port.Number)); err != nil {
		return fmt.Errorf("open %v: %w", d.choice, err)
	}
	d.lends = attr.HasWindows
	d.reads = max(1, min(attr.MaxReadsIn, attr.MaxReadsOut, maxReads))
	if d.config.PeerTimeout <= 0 {
		d.config.PeerTimeout = defaultPeerTimeout
	}
	d.timeout = timeoutFor(d.config.PeerTimeout, d.slack())
	inline, err := probeInline(d.context)
	if err != nil {
		return fmt.Errorf("open %v: it refuses a queue pair: %w", d.choice, err)
	}
	d.limits = d.limitsOf(attr, inline)
	if d.office, err = presence.Open(presence.Config{KeepAlive: d.limits.PeerTimeout / 2, Log: d.log}); err != nil {
		return fmt.Errorf("open %v: %w", d.choice, err)
	}
	if d.watcher, err = d.watch(); err != nil {
		return errors.Join(fmt.Errorf("open %v: %w", d.choice, err), d.office.Close())
	}
	return nil
}

// What is not the device's to say.
const (
	maxReads           = 16 // what cards have
	maxDepth           = 8192
	defaultPeerTimeout = 10 * time.Second
)

func (d *Device) limitsOf(attr native.DeviceAttr, inline int) driver.Limits {
	return driver.Limits{
		Provider:      "ibv",
		MaxMessage:    d.port.MaxMessage,
		MaxInline:     inline,
		MaxSpans:      min(attr.MaxSpans, attr.MaxReadSpans, attr.MaxSharedSpans),
		MaxDepth:      min(attr.MaxDepth, attr.MaxSharedDepth, maxDepth),
		MaxQueuePairs: attr.MaxPairs,
		MaxCompletion: attr.MaxQueueDepth,
		PeerTimeout:   d.peerTimeout(),
	}
}

// Limits says what the device can do.
func (d *Device) Limits() driver.Limits { return d.limits }

// Name is the port as --device takes it, such as mlx5_0:1.
func (d *Device) Name() string { return d.choice.String() }

// Why completes the sentence "it was chosen because".
func (d *Device) Why() string { return d.choice.Why }

// Path is how a connection leads to its peer.
type Path struct{ Local, Remote netip.Addr } // GIDs

// LastPath is the path of the connection that was begun last. It is zero if there was none, and on InfiniBand, which needs no
// GIDs. Any goroutine may ask.
func (d *Device) LastPath() Path {
	if p := d.path.Load(); p != nil {
		return *p
	}
	return Path{}
}

// NewDomain makes a protection domain.
func (d *Device) NewDomain() (driver.Domain, error) {
	if d.lost.Load() {
		return nil, d.errLost()
	}
	n, err := d.context.NewDomain()
	if err != nil {
		return nil, explainLimit(err)
	}
	return &domain{device: d, native: n, windows: make(map[*window]struct{})}, nil
}

func (d *Device) errLost() error {
	return fmt.Errorf("%v is gone (unplugged, or its driver was unloaded): %w", d.choice, driver.ErrClosed)
}

// explainLimit says that the device has no more to give, where that is what errno means, and names the most common reason.
func explainLimit(err error) error {
	var lock unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_MEMLOCK, &lock) // it is only for the message
	switch {
	case errors.Is(err, syscall.ENOMEM) && lock.Cur != unix.RLIM_INFINITY:
		return fmt.Errorf("%w: memory for the device must be locked, and the limit is %v: raise it by ulimit -l unlimited (LimitMEMLOCK=infinity in a systemd unit): %w",
			err, units.Size(lock.Cur), driver.ErrLimit)
	case errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w: %w", err, driver.ErrLimit)
	}
	return err
}

// Close frees the device.
func (d *Device) Close() error {
	d.watcher.stop()
	return errors.Join(d.office.Close(), d.forgive(d.context.Close()))
}
