package agent

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
	"github.com/weft-fabric/weft/push/target"
	"github.com/weft-fabric/weft/push/way"
	"github.com/weft-fabric/weft/verbs"
)

// disk is where files arrive: a target.Root.
type disk interface {
	Free() (uint64, error)
	Pushes() []target.InUse
	Preflight(o target.Order) error
	Begin(o target.Order) (delivery, error)
	Sweep(now time.Time, age time.Duration) error
}

// delivery is what arrives of one push: a target.Delivery.
type delivery interface {
	Manifest() manifest.Layout
	Content() manifest.Layout
	Partial() bool
	WriteManifest(block int, payload []byte) error
	ManifestDone(ctx context.Context, progress func(looked uint64)) error
	Examine(ctx context.Context, progress func(done, total uint64)) (candidates int, err error)
	Match(block int, want manifest.Hash) bool
	Conflicts() error
	Differing() (missing, different []string, n int)
	Write(block int, payload []byte) error
	Read(block int, into []byte) error
	ReadManifest(block int, into []byte) error
	Commit(ctx context.Context) (target.Result, error)
	Named() uint64
	Moved() uint64
	Keep() error
}

// crew is this host's end of the groups of a push: a member.Member.
type crew interface {
	Form(g member.Group) (control.Formed, error)
	Connect(ctx context.Context, addresses control.Addresses) error
	Begin(ctx context.Context) error
	End(ctx context.Context) error
	Stats() member.Stats
	Close() error
}

// onDisk is a target.Root as a disk.
type onDisk struct{ *target.Root }

// Begin begins a delivery.
func (d onDisk) Begin(o target.Order) (delivery, error) {
	begun, err := d.Root.Begin(o)
	if err != nil {
		return nil, err // and no delivery, not one that is a nil pointer
	}
	return begun, nil
}

// wish is what a crew is made for.
type wish struct {
	way    string
	plain  bool
	rate   uint64
	memory int
}

// fits reports whether a crew that was made for one wish does for another.
func (w wish) fits(other wish) bool {
	return w.way == other.way && w.plain == other.plain && w.rate == other.rate && w.memory >= other.memory
}

// withDevice is a member with a device of its own.
type withDevice struct {
	*member.Member
	device *verbs.Device
}

// Close closes both.
func (m withDevice) Close() error { return errors.Join(m.Member.Close(), m.device.Close()) }

// enlistAt makes crews of members on devices of a place.
func enlistAt(place *way.Place, log *slog.Logger) func(manifest.ID, wish) (crew, error) {
	return func(id manifest.ID, w wish) (crew, error) {
		device, err := place.Device(id, w.way, w.plain, w.rate)
		if err != nil {
			return nil, err
		}
		m, err := member.Open(member.Config{Device: device, Memory: w.memory, Log: log})
		if err != nil {
			return nil, errors.Join(err, device.Close())
		}
		return withDevice{m, device}, nil
	}
}
