package ripc

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/provider/ibv"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
	"github.com/weft-fabric/weft/verbs"
	"github.com/weft-fabric/weft/verbs/driver"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// directory is a resolver of this process: the last claim counts.
type directory struct {
	find.Watchers
	mu    sync.Mutex
	epoch uint64
	holds map[ID]*find.Hold
	group map[ID][]*find.Hold
}

func newDirectory() *directory {
	return &directory{holds: make(map[ID]*find.Hold), group: make(map[ID][]*find.Hold)}
}

func (d *directory) Name() string { return "test" }
func (d *directory) Close() error { return nil }

func (d *directory) Claim(_ context.Context, r find.Record) (find.Claim, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Service.Kind() == wire.Group {
		h := find.NewHold(r, clock.Never)
		d.group[r.Service] = append(d.group[r.Service], h)
		return &claim{Hold: h, directory: d}, nil
	}
	if old := d.holds[r.Service]; old != nil {
		old.End(&find.SupersededError{By: r})
	}
	d.epoch++
	r.Epoch = d.epoch
	h := find.NewHold(r, clock.Never)
	d.holds[r.Service] = h
	return &claim{Hold: h, directory: d}, nil
}

// claim is a hold that can be withdrawn.
type claim struct {
	*find.Hold
	directory *directory
	isLapsed  atomic.Bool // its lease has run out
}

func (c *claim) ValidUntil() clock.Time {
	if c.isLapsed.Load() {
		return 0
	}
	return c.Hold.ValidUntil()
}

func (c *claim) Withdraw(context.Context) error {
	d := c.directory
	d.mu.Lock()
	defer d.mu.Unlock()
	c.End(find.ErrWithdrawn)
	if d.holds[c.Record().Service] == c.Hold {
		delete(d.holds, c.Record().Service)
	}
	return nil
}

func (d *directory) Find(_ context.Context, id ID) ([]find.Record, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var members []find.Record
	for _, h := range d.group[id] {
		if h.Err() == nil {
			members = append(members, h.Record())
		}
	}
	if len(members) > 0 {
		return members, nil
	}
	if h := d.holds[id]; h != nil {
		return []find.Record{h.Record()}, nil
	}
	return nil, find.ErrNotFound
}

func (d *directory) List(context.Context) (list []find.Record, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.holds {
		list = append(list, h.Record())
	}
	return list, nil
}

// newNIC opens a software NIC, or the device of the machine that rig/softroce has made.
func newNIC() (driver.Device, error) {
	if name := os.Getenv("WEFT_ROCE"); name != "" {
		return ibv.Open(ibv.Config{Device: name})
	}
	return soft.New(soft.Config{})
}

// newNode opens a node on a NIC of its own.
func newNode(t testing.TB, d *directory, config Config) *Node {
	t.Helper()
	inner, err := newNIC()
	check(t, err)
	return newNodeOn(t, inner, d, config)
}

func newNodeOn(t testing.TB, inner driver.Device, d *directory, config Config) *Node {
	t.Helper()
	device, err := verbs.Open(inner)
	check(t, err)
	config.Device = device
	if d != nil {
		config.Resolver = d
	}
	n, err := Open(config)
	check(t, err)
	t.Cleanup(func() {
		check(t, n.Close())
		check(t, device.Close())
	})
	return n
}

// patient is a context for what should not take long. It does not end with the test: a service may still wait for its answer to be
// sent when the caller has it.
func patient(testing.TB) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(20*time.Second, func() { cancel(context.DeadlineExceeded) })
	return ctx
}

// echo answers every call with what it says, until the service ends.
func echo(t testing.TB, n *Node, name string) *Service {
	t.Helper()
	s, err := n.Register(patient(t), name)
	check(t, err)
	var done sync.WaitGroup
	done.Go(func() {
		for m, err := range s.Messages(context.Background()) {
			if err != nil {
				return
			}
			if m.IsCall() {
				_ = m.Answer(context.Background(), m.Items()...)
			}
			m.Release()
		}
	})
	t.Cleanup(func() {
		_ = s.Close()
		done.Wait()
	})
	return s
}
