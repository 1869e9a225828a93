package hook

import (
	"fmt"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// wrap puts a layer around a device.
func wrap(inner driver.Device, with layer) driver.Device {
	return assembleDevice(&device{Device: inner, layer: with}, inner)
}

// clockOf returns the clock that a device lives in.
func clockOf(d driver.Device) clock.Clock {
	if clocked, ok := d.(driver.Clocked); ok {
		return clocked.Clock()
	}
	return clock.Real
}

// device wraps what a device makes. It is also the identity that objects handed back in are checked against.
type device struct {
	driver.Device
	layer layer
}

func (d *device) Limits() driver.Limits { return d.layer.limits(d.Device.Limits()) }

func (d *device) NewDomain() (driver.Domain, error) {
	if _, err := d.layer.admit(DomainObject, 0); err != nil {
		return nil, err
	}
	inner, err := d.layer.newDomain(d.Device)
	if err != nil {
		return nil, err
	}
	return assembleDomain(&domain{Domain: d.layer.domain(inner), device: d}, inner), nil
}

func (d *device) NewCompletionQueue(depth int) (driver.CompletionQueue, error) {
	if _, err := d.layer.admit(CompletionQueueObject, 0); err != nil {
		return nil, err
	}
	inner, err := d.Device.NewCompletionQueue(depth)
	if err != nil {
		return nil, err
	}
	parts := d.layer.completions(partsOfCompletions(inner))
	return assembleCompletions(&completionQueue{parts.CompletionQueue, inner, d}, parts), nil
}

// completionQueue is what the program holds and hands back in.
type completionQueue struct {
	driver.CompletionQueue                        // the layer's
	inner                  driver.CompletionQueue // the one inside, which the device inside knows
	device                 *device
}

// unwrap survives the assembly of parts, where the type does not.
func (q *completionQueue) unwrap() *completionQueue { return q }

// completionQueue finds the wrapper of a completion queue that is handed back in. A stranger is an error, not a panic: to
// mix up two devices is easily done.
func (d *device) completionQueue(handed driver.CompletionQueue) (*completionQueue, error) {
	if q, ok := handed.(interface{ unwrap() *completionQueue }); ok && q.unwrap().device == d {
		return q.unwrap(), nil
	}
	return nil, fmt.Errorf("hook: completion queue %T was not made by this device", handed)
}

// sharedReceives is what the program holds and hands back in.
type sharedReceives struct {
	driver.SharedReceives                       // the layer's
	inner                 driver.SharedReceives // the one inside
	device                *device
}

// sharedReceives finds the shared receives inside those that are handed back in; nil stands for none.
func (d *device) sharedReceives(handed driver.SharedReceives) (driver.SharedReceives, error) {
	if handed == nil {
		return nil, nil
	}
	if s, ok := handed.(*sharedReceives); ok && s.device == d {
		return s.inner, nil
	}
	return nil, fmt.Errorf("hook: shared receives %T were not made by this device", handed)
}

// domain wraps what a domain makes.
type domain struct {
	driver.Domain // the layer's
	device        *device
}

func (d *domain) Register(b []byte, access driver.Access) (driver.Memory, error) {
	access, err := d.device.layer.admit(MemoryObject, access)
	if err != nil {
		return nil, err
	}
	inner, err := d.Domain.Register(b, access)
	if err != nil {
		return nil, err
	}
	return assembleMemory(d.memory(partsOfMemory(inner), false)), nil
}

// memory puts the layer, and then the translation of completion queues, around memory.
func (d *domain) memory(inner memoryParts, owned bool) memoryParts {
	parts := d.device.layer.memory(inner, d.Domain, owned)
	if parts.MemoryAccess != nil {
		parts.MemoryAccess = memoryAccess{d.device, parts.MemoryAccess}
	}
	return parts
}

func (d *domain) NewQueuePair(config driver.QueueConfig) (driver.QueuePair, error) {
	completions, err := d.device.completionQueue(config.Completions)
	if err != nil {
		return nil, err
	}
	if config.Shared, err = d.device.sharedReceives(config.Shared); err != nil {
		return nil, err
	}
	if config.Access, err = d.device.layer.admit(QueuePairObject, config.Access); err != nil {
		return nil, err
	}
	config.Completions = completions.inner
	inner, err := d.Domain.NewQueuePair(config)
	if err != nil {
		return nil, err
	}
	own := d.device.layer.queuePair(inner, config, completions.CompletionQueue)
	return assemblePair(own, inner, d.device.layer), nil
}

// windows is the queue pair's driver.Windows.
type windows struct {
	own   driver.QueuePair // the layer's
	inner driver.Windows
	layer layer
}

func (w windows) NewWindow() (driver.Window, error) {
	if _, err := w.layer.admit(WindowObject, 0); err != nil {
		return nil, err
	}
	inner, err := w.inner.NewWindow()
	if err != nil {
		return nil, err
	}
	return w.layer.window(inner, w.own), nil
}

// allocator is the domain's driver.Allocator.
type allocator struct {
	domain *domain
	inner  driver.Allocator
}

func (a allocator) Alloc(size int, access driver.Access) (driver.Memory, error) {
	access, err := a.domain.device.layer.admit(MemoryObject, access)
	if err != nil {
		return nil, err
	}
	front, back := a.domain.device.layer.margins()
	inner, err := a.inner.Alloc(front+size+back, access)
	if err != nil {
		return nil, err
	}
	inside := partsOfMemory(inner)
	inside.Memory = &inset{inner, front, back}
	return assembleMemory(a.domain.memory(inside, true)), nil
}

// inset is memory that does not show its margins.
type inset struct {
	driver.Memory
	front, back int
}

func (m *inset) Region() driver.Region {
	r := m.Memory.Region()
	r.Bytes = r.Bytes[m.front : len(r.Bytes)-m.back]
	r.Address, r.Length = r.Address+uint64(m.front), uint64(len(r.Bytes))
	return r
}

// phantomAllocator is the domain's driver.Phantoms.
type phantomAllocator struct {
	domain *domain
	inner  driver.Phantoms
}

func (p phantomAllocator) AllocPhantom(size uint64, access driver.Access) (driver.PhantomMemory, error) {
	access, err := p.domain.device.layer.admit(MemoryObject, access)
	if err != nil {
		return nil, err
	}
	inner, err := p.inner.AllocPhantom(size, access)
	if err != nil {
		return nil, err
	}
	parts := p.domain.memory(partsOfMemory(inner), true)
	return assemblePhantom(parts.Memory, parts.MemoryAccess, inner), nil
}

// sharedReceiver is the domain's driver.SharedReceiver.
type sharedReceiver struct {
	domain *domain
	inner  driver.SharedReceiver
}

func (s sharedReceiver) NewSharedReceives(config driver.SharedConfig) (driver.SharedReceives, error) {
	device := s.domain.device
	completions, err := device.completionQueue(config.Completions)
	if err != nil {
		return nil, err
	}
	if _, err := device.layer.admit(SharedReceivesObject, 0); err != nil {
		return nil, err
	}
	config.Completions = completions.inner
	inner, err := s.inner.NewSharedReceives(config)
	if err != nil {
		return nil, err
	}
	return &sharedReceives{device.layer.shared(inner, completions.CompletionQueue), inner, device}, nil
}

// memoryAccess is the memory's driver.MemoryAccess.
type memoryAccess struct {
	device *device
	inner  driver.MemoryAccess
}

func (m memoryAccess) SetAccess(queue driver.CompletionQueue, tag driver.Tag, access driver.Access) error {
	q, err := m.device.completionQueue(queue)
	if err != nil {
		return err
	}
	return m.device.layer.setAccess(m.inner, q, tag, access)
}
