package hook

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// hooks are the ways to wrap a device, alone and nested.
var hooks = map[string]func(driver.Device) driver.Device{
	"count": func(d driver.Device) driver.Device { d, _ = Count(d); return d },
	"trace": func(d driver.Device) driver.Device { d, _ = Trace(d, 16); return d },
	"fault": func(d driver.Device) driver.Device { return Fault(d, Plan{}) },
	"nested": func(d driver.Device) driver.Device {
		d, _ = Count(Fault(d, Plan{}))
		d, _ = Trace(d, 16)
		return d
	},
}

// canned is a device that makes what a test gives it.
type canned struct {
	driver.Device
	domain driver.Domain
	queue  driver.CompletionQueue
}

func (c canned) NewDomain() (driver.Domain, error)                                { return c.domain, nil }
func (c canned) NewCompletionQueue(int) (driver.CompletionQueue, error)           { return c.queue, nil }
func (c canned) Alloc(int, driver.Access) (driver.Memory, error)                  { return nil, nil }
func (c canned) AllocPhantom(uint64, driver.Access) (driver.PhantomMemory, error) { return nil, nil }

// capabilities lists the optional interfaces of any object.
func capabilities(v any) string {
	var list []string
	for _, c := range []struct {
		name string
		has  func(any) bool
	}{
		{"Clocked", is[driver.Clocked]}, {"LockCounter", is[driver.LockCounter]},
		{"Allocator", is[driver.Allocator]}, {"Phantoms", is[driver.Phantoms]},
		{"SharedReceiver", is[driver.SharedReceiver]}, {"MemoryAccess", is[driver.MemoryAccess]}, {"Retirer", is[driver.Retirer]},
		{"PhantomMemory", is[driver.PhantomMemory]}, {"Waiter", is[driver.Waiter]},
		{"SharedWaiter", is[driver.SharedWaiter]}, {"Driven", is[driver.Driven]}, {"Windows", is[driver.Windows]},
	} {
		if c.has(v) {
			list = append(list, c.name)
		}
	}
	return strings.Join(list, " ")
}

func is[T any](v any) bool { _, ok := v.(T); return ok }

func sameCapabilities(t *testing.T, inner, wrapped any) {
	t.Helper()
	if got, want := capabilities(wrapped), capabilities(inner); got != want {
		t.Errorf("capabilities [%s], inside [%s]", got, want)
	}
}

// queuesOf are completion queues with every set of capabilities.
func queuesOf(f *fake) []driver.CompletionQueue {
	q := &fakeQueue{fake: f}
	return []driver.CompletionQueue{struct{ driver.CompletionQueue }{q}, q,
		struct {
			driver.CompletionQueue
			driver.Waiter
		}{q, q},
		struct {
			driver.CompletionQueue
			driver.SharedWaiter
		}{q, q},
		struct {
			driver.CompletionQueue
			driver.Waiter
			driver.Driven
		}{q, q, q},
		struct {
			driver.CompletionQueue
			driver.Driven
		}{q, q}}
}

func TestCapabilitiesAreThoseInside(t *testing.T) {
	f := newFake()
	base := struct{ driver.Device }{f}
	devices := []driver.Device{base,
		struct {
			driver.Device
			driver.Clocked
		}{f, f},
		struct {
			driver.Device
			driver.LockCounter
		}{f, f}, f}
	d := &fakeDomain{f}
	var phantoms driver.Phantoms = canned{}
	domains := []driver.Domain{struct{ driver.Domain }{d}, d,
		struct {
			driver.Domain
			driver.Allocator
		}{d, d},
		struct {
			driver.Domain
			driver.Phantoms
		}{d, phantoms},
		struct {
			driver.Domain
			driver.SharedReceiver
		}{d, d},
		struct {
			driver.Domain
			driver.Allocator
			driver.Phantoms
		}{d, d, phantoms},
		struct {
			driver.Domain
			driver.Phantoms
			driver.SharedReceiver
		}{d, phantoms, d},
		struct {
			driver.Domain
			driver.Allocator
			driver.Phantoms
			driver.SharedReceiver
		}{d, d, phantoms, d}}
	queues := queuesOf(f)
	for name, hook := range hooks {
		t.Run(name, func(t *testing.T) {
			for _, inner := range devices {
				sameCapabilities(t, inner, hook(inner))
			}
			for _, inner := range domains {
				got, _ := hook(canned{Device: base, domain: inner}).NewDomain()
				sameCapabilities(t, inner, got)
			}
			for _, inner := range queues {
				got, _ := hook(canned{Device: base, queue: inner}).NewCompletionQueue(1)
				sameCapabilities(t, inner, got)
			}
		})
	}
}

// memoryMaker is a domain that makes the memory that a test gives it.
type memoryMaker struct {
	driver.Domain
	memory  driver.Memory
	phantom driver.PhantomMemory
}

func (m memoryMaker) Register([]byte, driver.Access) (driver.Memory, error) { return m.memory, nil }
func (m memoryMaker) Alloc(int, driver.Access) (driver.Memory, error)       { return m.memory, nil }
func (m memoryMaker) AllocPhantom(uint64, driver.Access) (driver.PhantomMemory, error) {
	return m.phantom, nil
}

// noRetirer is a driver.Retirer without bytes.
type noRetirer struct{}

func (noRetirer) Retire() (free func() error, err error) { return nil, nil }

type noMarks struct{}

func (noMarks) Mark(uint64, uint64, driver.Origin)                  {}
func (noMarks) Origin(uint64, uint64) (o driver.Origin, whole bool) { return }

func TestMemoryCapabilitiesAreThoseInside(t *testing.T) {
	f := newFake()
	full := must((&fakeDomain{f}).Register(make([]byte, 8), 0))(t)
	plain := struct{ driver.Memory }{full}
	retiring := struct {
		driver.Memory
		noRetirer
	}{Memory: full}
	both := struct {
		*fakeMemory
		noRetirer
	}{fakeMemory: full.(*fakeMemory)}
	phantoms := []driver.PhantomMemory{
		struct {
			driver.Memory
			noMarks
		}{Memory: full},
		struct {
			*fakeMemory
			noMarks
		}{fakeMemory: full.(*fakeMemory)}}
	for name, hook := range hooks {
		t.Run(name, func(t *testing.T) {
			for i, inner := range []driver.Memory{plain, full, retiring, both} {
				d, _ := hook(canned{domain: memoryMaker{memory: inner, phantom: phantoms[i%2]}}).NewDomain()
				got, _ := d.Register(nil, 0)
				sameCapabilities(t, inner, got)
				got, _ = d.(driver.Allocator).Alloc(8, 0)
				sameCapabilities(t, inner, got)
				phantom, _ := d.(driver.Phantoms).AllocPhantom(8, 0)
				sameCapabilities(t, phantoms[i%2], phantom)
			}
		})
	}
}

// TestWorksThrough uses every call on a wrapped device. The fake panics on an object that was not unwrapped.
func TestWorksThrough(t *testing.T) {
	for name, hook := range hooks {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, hook)
			shared := must(r.domain.(driver.SharedReceiver).NewSharedReceives(
				driver.SharedConfig{Completions: r.queue, Depth: 4}))(t)
			c := must(r.domain.NewQueuePair(driver.QueueConfig{Completions: r.queue, Shared: shared, SendDepth: 4}))(t)
			if _, err := shared.PostReceive([]driver.Receive{{Tag: 7, Span: span(r.theirs, 0, 8)}}); err != nil {
				t.Fatal(err)
			}
			r.connect(r.a, c)
			r.post(r.a, r.request(1, driver.OpSend, 0))
			r.expect(end{900, driver.OpConnect, 0}, end{7, driver.OpReceive, 0}, end{1, driver.OpSend, 0})
			if err := r.mine.(driver.MemoryAccess).SetAccess(r.queue, 5, driver.RemoteRead); err != nil {
				t.Fatal(err)
			}
			r.expect(end{5, driver.OpMemoryAccess, 0})
			if got, want := string(r.theirs.Region().Bytes[:8]), "\x01\x02\x03\x04\x05\x06\x07\x08"; got != want {
				t.Errorf("sent %q, received %q", want, got)
			}
			r.queue.(driver.Waiter).Wake()
			if err := r.queue.(driver.Waiter).Wait(r.fake.now+5, 0); err != nil || r.fake.now == 0 {
				t.Errorf("Wait: %v at %v", err, r.fake.now)
			}
			var lock sync.Mutex
			lock.Lock()
			before := r.fake.now
			if err := r.queue.(driver.SharedWaiter).WaitShared(&lock, before+5, 0); err != nil || r.fake.now == before {
				t.Errorf("WaitShared: %v at %v", err, r.fake.now)
			}
			lock.Unlock()
			if got := r.device.(driver.Clocked).Clock().Now(); got != r.fake.now {
				t.Errorf("clock says %v, inside %v", got, r.fake.now)
			}
			closeAll(t, c, r.a, r.b, shared, r.mine, r.theirs, r.domain, r.queue, r.device)
			if r.fake.closed != 1 || len(r.fake.memories) != 0 {
				t.Errorf("device closed %d times, %d memories left", r.fake.closed, len(r.fake.memories))
			}
		})
	}
}

func closeAll(t testing.TB, list ...interface{ Close() error }) {
	t.Helper()
	for _, c := range list {
		if err := c.Close(); err != nil {
			t.Errorf("close %T: %v", c, err)
		}
	}
}

func TestStrangersAreRefused(t *testing.T) {
	device, _ := Count(newFake())
	r := newRig(t, hooks["count"])
	stranger := must(device.NewCompletionQueue(1))(t)
	bare := must(r.fake.NewCompletionQueue(1))(t)
	domain := must(device.NewDomain())(t)
	own := must(domain.(driver.SharedReceiver).NewSharedReceives(driver.SharedConfig{Completions: stranger}))(t)
	for i, err := range []error{
		second(r.domain.NewQueuePair(driver.QueueConfig{Completions: stranger})),
		second(r.domain.NewQueuePair(driver.QueueConfig{Completions: bare})),
		second(r.domain.NewQueuePair(driver.QueueConfig{})),
		second(r.domain.NewQueuePair(driver.QueueConfig{Completions: r.queue, Shared: own})),
		second(r.domain.(driver.SharedReceiver).NewSharedReceives(driver.SharedConfig{Completions: stranger})),
		r.mine.(driver.MemoryAccess).SetAccess(stranger, 1, 0),
	} {
		if err == nil || !strings.Contains(err.Error(), "not made by this device") {
			t.Errorf("case %d: error %v", i, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// failing makes nothing.
type failing struct{ driver.Domain }

var errFailing = fmt.Errorf("no more")

func (failing) Register([]byte, driver.Access) (driver.Memory, error)     { return nil, errFailing }
func (failing) Alloc(int, driver.Access) (driver.Memory, error)           { return nil, errFailing }
func (failing) NewQueuePair(driver.QueueConfig) (driver.QueuePair, error) { return nil, errFailing }

// TestErrorsPassThrough: no wrapper is put around nothing.
func TestErrorsPassThrough(t *testing.T) {
	for name, hook := range hooks {
		device := hook(canned{Device: newFake(), domain: failing{}, queue: &fakeQueue{}})
		d, _ := device.NewDomain()
		q, _ := device.NewCompletionQueue(1)
		m, err1 := d.Register(nil, 0)
		a, err2 := d.(driver.Allocator).Alloc(1, 0)
		p, err3 := d.NewQueuePair(driver.QueueConfig{Completions: q})
		if m != nil || a != nil || p != nil || !errors.Is(err1, errFailing) ||
			!errors.Is(err2, errFailing) || !errors.Is(err3, errFailing) {
			t.Errorf("%s: %v %v, %v %v, %v %v", name, m, err1, a, err2, p, err3)
		}
	}
}

func TestClockOf(t *testing.T) {
	if got := clockOf(struct{ driver.Device }{newFake()}); got != clock.Real {
		t.Errorf("a device without a clock lives in %v", got)
	}
}
