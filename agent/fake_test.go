package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
	"github.com/weft-fabric/weft/push/target"
)

// fakeDisk is a disk in memory.
type fakeDisk struct {
	mu         sync.Mutex
	deliveries map[manifest.ID]*fakeDelivery
	had        map[int]manifest.Hash // blocks that are there before a push
	conflict   error
	broken     error // of writing
	starting   func()
	committing chan struct{} // closed by a commit, which then takes until it is given up; nil: it is done at once
	sweeps     []sweep
}

// sweep is one that was asked for.
type sweep struct {
	now time.Time
	age time.Duration
}

func newFakeDisk() *fakeDisk { return &fakeDisk{deliveries: map[manifest.ID]*fakeDelivery{}} }

func (d *fakeDisk) Free() (uint64, error)          { return 1 << 40, nil }
func (d *fakeDisk) Pushes() []target.InUse         { return nil }
func (d *fakeDisk) Preflight(o target.Order) error { return d.check(o) }

func (d *fakeDisk) Sweep(now time.Time, age time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweeps = append(d.sweeps, sweep{now, age})
	return nil
}

func (d *fakeDisk) swept() []sweep {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.sweeps)
}

func (d *fakeDisk) of(id manifest.ID) *fakeDelivery {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.deliveries[id]
}

func (d *fakeDisk) check(o target.Order) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, other := range d.deliveries {
		if other.order.Dest == o.Dest && !other.isKept() {
			return fmt.Errorf("%s is used by push %v: %w", o.Dest, other.order.ID, target.ErrInUse)
		}
	}
	return nil
}

func (d *fakeDisk) Begin(o target.Order) (delivery, error) {
	if err := d.check(o); err != nil {
		return nil, err
	}
	if d.starting != nil {
		d.starting()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f := &fakeDelivery{disk: d, order: o, manifest: map[int][]byte{}, content: map[int][]byte{}, kept: make(chan struct{})}
	d.deliveries[o.ID] = f
	return f, nil
}

// fakeDelivery keeps blocks in memory.
type fakeDelivery struct {
	disk  *fakeDisk
	order target.Order

	mu                sync.Mutex
	manifest, content map[int][]byte
	kept              chan struct{}
	isOver            bool
	isCommitted       bool
}

func (f *fakeDelivery) Manifest() manifest.Layout {
	return manifest.NewLayout(manifest.ManifestStream, f.order.Manifest.Size, f.order.Block)
}

func (f *fakeDelivery) Content() manifest.Layout {
	return manifest.NewLayout(manifest.ContentStream, f.order.Manifest.Content, f.order.Block)
}

func (f *fakeDelivery) Partial() bool { return len(f.disk.had) > 0 }

func (f *fakeDelivery) put(into map[int][]byte, block int, payload []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.disk.broken != nil {
		return f.disk.broken
	}
	into[block] = append([]byte{}, payload...)
	return nil
}

func (f *fakeDelivery) get(from map[int][]byte, block int, into []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	copy(into, from[block])
	return nil
}

func (f *fakeDelivery) WriteManifest(block int, p []byte) error { return f.put(f.manifest, block, p) }
func (f *fakeDelivery) Write(block int, p []byte) error         { return f.put(f.content, block, p) }
func (f *fakeDelivery) Read(block int, into []byte) error       { return f.get(f.content, block, into) }
func (f *fakeDelivery) ReadManifest(block int, into []byte) error {
	return f.get(f.manifest, block, into)
}
func (f *fakeDelivery) ManifestDone(context.Context, func(uint64)) error { return nil }
func (f *fakeDelivery) Match(block int, want manifest.Hash) bool         { return f.disk.had[block] == want }
func (f *fakeDelivery) Conflicts() error                                 { return f.disk.conflict }
func (f *fakeDelivery) Differing() (missing, different []string, n int) {
	if f.disk.conflict != nil {
		return []string{"a"}, []string{"b"}, 3
	}
	return nil, nil, 0
}

func (f *fakeDelivery) Examine(_ context.Context, progress func(done, total uint64)) (int, error) {
	progress(1, 2)
	return len(f.disk.had), nil
}

func (f *fakeDelivery) Commit(ctx context.Context) (target.Result, error) {
	if f.disk.committing != nil {
		close(f.disk.committing)
		<-ctx.Done()
		return target.Result{}, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.isCommitted = true
	return target.Result{Written: f.order.Manifest.Files}, nil
}

func (f *fakeDelivery) Named() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isCommitted {
		return f.order.Manifest.Entries
	}
	return 0
}

func (f *fakeDelivery) Moved() uint64 { return 0 }

func (f *fakeDelivery) Keep() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isOver {
		return errors.New("kept twice")
	}
	f.isOver = true
	close(f.kept)
	return nil
}

func (f *fakeDelivery) isKept() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.isOver
}

// fakeCrew is a member whose group a test plays.
type fakeCrew struct {
	mu       sync.Mutex
	group    *member.Group
	isClosed bool
	isBusy   bool // it cannot say what it has sent lately
	waits    bool // Connect does, until its context ends
	forming  func()
	entered  chan struct{}
	calls    []string
}

func (c *fakeCrew) note(call string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call)
}

func (c *fakeCrew) Form(g member.Group) (control.Formed, error) {
	c.note("form")
	if c.forming != nil {
		c.forming()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.group = &g
	return control.Formed{Description: []byte("here"), Addresses: control.Addresses{0: {"a"}}}, nil
}

func (c *fakeCrew) Connect(ctx context.Context, _ control.Addresses) error {
	c.note("connect")
	if c.waits {
		close(c.entered)
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return nil
}

func (c *fakeCrew) Begin(context.Context) error { c.note("begin"); return nil }
func (c *fakeCrew) End(context.Context) error   { c.note("end"); return nil }

func (c *fakeCrew) Stats() member.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isBusy {
		return member.Stats{}
	}
	return member.Stats{Sent: 7, Hops: []control.Hop{{Rank: 2}}}
}

func (c *fakeCrew) setBusy(is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isBusy = is
}

func (c *fakeCrew) Close() error {
	c.note("close")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isClosed = true
	return nil
}
