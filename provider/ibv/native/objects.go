package native

import (
	"fmt"
	"syscall"
	"unsafe"
)

// This file is the objects of libibverbs. A zero errno is success everywhere in the C shims; fault makes it an error with words.

func fault(what string, errno int) error {
	if errno == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", what, syscall.Errno(errno))
}

// Context is an opened device.
type Context struct{ c unsafe.Pointer }

// Open opens a device by name, and loads the library before if nobody has. The list of them is /sys/class/infiniband.
func Open(name string) (*Context, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	c, errno := cOpen(name)
	if errno != 0 {
		return nil, fault("ibv_open_device "+name, errno)
	}
	return &Context{c}, nil
}

// Close closes the device. Everything made from it is closed before.
func (x *Context) Close() error { return fault("ibv_close_device", cClose(x.c)) }

// EventFD becomes readable when NextEvent has something.
func (x *Context) EventFD() int { return cAsyncFD(x.c) }

// NextEvent returns the next event, if there is one. It never blocks.
func (x *Context) NextEvent() (e Event, found bool, err error) {
	e, errno := cNextEvent(x.c)
	if errno == int(syscall.EAGAIN) {
		return Event{}, false, nil
	}
	return e, errno == 0, fault("ibv_get_async_event", errno)
}

// Device says what the device can do.
func (x *Context) Device() (DeviceAttr, error) {
	attr, errno := cQueryDevice(x.c)
	return attr, fault("ibv_query_device", errno)
}

// Port says how a port is.
func (x *Context) Port(port uint8) (PortAttr, error) {
	attr, errno := cQueryPort(x.c, port)
	return attr, fault("ibv_query_port", errno)
}

// Domain is a protection domain.
type Domain struct{ c unsafe.Pointer }

// NewDomain makes a protection domain.
func (x *Context) NewDomain() (*Domain, error) {
	c, errno := cAllocDomain(x.c)
	if errno != 0 {
		return nil, fault("ibv_alloc_pd", errno)
	}
	return &Domain{c}, nil
}

// Close frees the domain.
func (d *Domain) Close() error { return fault("ibv_dealloc_pd", cFreeDomain(d.c)) }

// Memory is a registration.
type Memory struct {
	c         unsafe.Pointer
	LocalKey  uint32
	RemoteKey uint32
}

// Register makes b, which lies outside the Go heap, known to the device. It fills m.
func (d *Domain) Register(m *Memory, b []byte, access Access) error {
	return fault("ibv_reg_mr", cRegister(d.c, unsafe.Pointer(unsafe.SliceData(b)), len(b), access, m))
}

// Close ends the registration. No operation can use its keys any more when it returns.
func (m *Memory) Close() error { return fault("ibv_dereg_mr", cDeregister(m.c)) }

// Queue is a completion queue with a channel of its own.
type Queue struct {
	c, channel unsafe.Pointer
	batch      []WC // C memory
}

// BatchSize is how many completions one Poll takes at most.
const BatchSize = 64

// NewQueue makes a completion queue.
func (x *Context) NewQueue(depth int) (*Queue, error) {
	c, channel, errno := cCreateQueue(x.c, depth)
	if errno != 0 {
		return nil, fault("ibv_create_cq", errno)
	}
	return &Queue{c: c, channel: channel, batch: array[WC](BatchSize)}, nil
}

// Poll takes up to n completions, and BatchSize at most. They lie in C memory and are valid until the next Poll.
func (q *Queue) Poll(n int) ([]WC, error) {
	n = cPoll(q.c, min(n, BatchSize), unsafe.Pointer(unsafe.SliceData(q.batch)))
	if n < 0 {
		return nil, fault("ibv_poll_cq", int(syscall.EIO))
	}
	return q.batch[:n], nil
}

// NoticeFD becomes readable when a completion has come since Arm.
func (q *Queue) NoticeFD() int { return cChannelFD(q.channel) }

// Arm asks for a notice of the next completion.
func (q *Queue) Arm() error { return fault("ibv_req_notify_cq", cArm(q.c)) }

// TakeNotices empties NoticeFD. It never blocks.
func (q *Queue) TakeNotices() error { return fault("ibv_get_cq_event", cTakeNotices(q.channel)) }

// Close frees the queue.
func (q *Queue) Close() error {
	if err := fault("ibv_destroy_cq", cDestroyQueue(q.c, q.channel)); err != nil {
		return err
	}
	release(q.batch)
	return nil
}
