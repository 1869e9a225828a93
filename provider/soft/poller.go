package soft

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/clock"
)

// few is up to how many connections a turn tries directly. With more it asks the kernel first which have something.
const few = 4

// poller is how a completion queue knows what its sockets, and peers of other processes, have for it, and where its owner
// sleeps meanwhile. A queue gets one with its first socket, or when shared memory asks for its wakeFD.
//
// It is an epoll set with an event descriptor in it. The set is itself watched by Go's netpoller, so that the sleeping
// goroutine takes no thread, and is woken by a scheduler that spins for a moment before it sleeps: a blocking epoll_wait
// would take twice as long.
type poller struct {
	set    int // epoll
	event  int // eventfd: who writes to it wakes the owner
	file   *os.File
	raw    syscall.RawConn
	ready  func(uintptr) bool // kept, because a method value would be allocated at every sleep
	dated  bool               // the file has a deadline
	found  [1]unix.EpollEvent // the sleeper's own: only that there is something matters
	events [64]unix.EpollEvent

	wires   []*wire // by the number that the kernel knows them by; nil: vacant
	vacant  []int32
	open    int // wires
	leaving int // those among them that only wait for the peer to have heard the last word

	input  [inputSize]byte // where headers arrive. Between turns nothing is left here
	output batch           // what is written together. Between turns nothing is left here
	spare  []byte          // where bytes go that nobody wants; allocated when first needed
	moved  uint64          // bytes in either direction, ever: whether a turn has done anything
}

// inputSize is how much of a message may be copied once more: what came together with its header.
const inputSize = 4 << 10

// eventSlot is the number of the event descriptor in the set.
const eventSlot = -1

func newPoller() (*poller, error) {
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, noDescriptor("make an epoll set", err)
	}
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(set)
		return nil, noDescriptor("make an event descriptor", err)
	}
	p := &poller{set: set, event: event}
	p.ready = p.hasSome
	if err := p.watchSet(); err != nil {
		unix.Close(event)
		return nil, err
	}
	return p, nil
}

// watchSet puts the event descriptor into the set, and the set into the hands of the netpoller. If that fails, the set is
// closed.
func (p *poller) watchSet() error {
	if err := p.control(unix.EPOLL_CTL_ADD, p.event, unix.EPOLLIN, eventSlot); err != nil {
		unix.Close(p.set)
		return err
	}
	if err := unix.SetNonblock(p.set, true); err != nil {
		unix.Close(p.set)
		return fmt.Errorf("soft: epoll set: %w", err)
	}
	p.file = os.NewFile(uintptr(p.set), "epoll")
	raw, err := p.file.SyscallConn()
	if err == nil {
		err = p.file.SetReadDeadline(time.Time{})
	}
	if err != nil {
		p.file.Close()
		return fmt.Errorf("soft: epoll set: %w", err)
	}
	p.raw = raw
	return nil
}

// close frees the descriptors. Nobody sleeps here any more.
func (p *poller) close() {
	p.closeWires()
	unix.Close(p.event)
	p.file.Close()
}

// closeWires drops all connections without a word.
func (p *poller) closeWires() {
	for _, w := range p.wires {
		if w != nil {
			w.close()
		}
	}
}

// noDescriptor explains an error of a call that makes a file descriptor.
func noDescriptor(what string, err error) error {
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return fmt.Errorf("soft: %s: %w; each connection of the TCP lane takes one: raise RLIMIT_NOFILE (ulimit -n)",
			what, err)
	}
	return fmt.Errorf("soft: %s: %w", what, err)
}

func (p *poller) control(op, fd int, events uint32, slot int32) error {
	event := unix.EpollEvent{Events: events, Fd: slot}
	if err := unix.EpollCtl(p.set, op, fd, &event); err != nil {
		return fmt.Errorf("soft: watch a descriptor: %w", err)
	}
	return nil
}

// add begins to watch w.
func (p *poller) add(w *wire) error {
	if len(p.vacant) == 0 {
		p.wires = append(p.wires, nil)
		p.vacant = append(p.vacant, int32(len(p.wires)-1))
	}
	slot := p.vacant[len(p.vacant)-1]
	if err := p.control(unix.EPOLL_CTL_ADD, w.fd, unix.EPOLLIN|unix.EPOLLRDHUP, slot); err != nil {
		return err
	}
	p.vacant = p.vacant[:len(p.vacant)-1]
	p.wires[slot] = w
	w.slot = slot
	p.open++
	return nil
}

// remove ends that. The descriptor is about to be closed, which takes it out of the set.
func (p *poller) remove(w *wire) {
	p.wires[w.slot] = nil
	p.vacant = append(p.vacant, w.slot)
	p.open--
}

// await sets whether the kernel also reports that w can be written to.
func (p *poller) await(w *wire, writable bool) {
	if w.awaited == writable {
		return
	}
	events := uint32(unix.EPOLLIN | unix.EPOLLRDHUP)
	if writable {
		events |= unix.EPOLLOUT
	}
	w.awaited = writable
	if err := p.control(unix.EPOLL_CTL_MOD, w.fd, events, w.slot); err != nil {
		w.sever(err)
	}
}

// look gives every connection that may have something a part in the turn.
func (p *poller) look() {
	if p.open == 0 {
		return
	}
	if p.open <= few {
		for _, w := range p.wires {
			if w != nil {
				w.call(true)
			}
		}
		return
	}
	for i := range p.events[:p.wait(p.events[:])] {
		event := &p.events[i]
		if event.Fd == eventSlot {
			continue
		}
		if w := p.wires[event.Fd]; w != nil {
			w.call(event.Events&^unix.EPOLLOUT != 0)
		}
	}
}

// wait asks the kernel, without waiting at all.
func (p *poller) wait(events []unix.EpollEvent) int {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.set),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// relax ends waiting for what is not waited for any more, before the owner sleeps: it would wake at once. With many
// connections the turn does so when it sees the event.
func (p *poller) relax() {
	if p.open > few {
		return
	}
	for _, w := range p.wires {
		if w != nil && w.awaited && !w.blocked {
			p.await(w, false)
		}
	}
}

// rouse wakes the owner. Any goroutine may call it.
func (p *poller) rouse() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(p.event, one[:])
}

// rest sleeps until there is something in the set, or until has come. Only the owner calls it.
func (p *poller) rest(until clock.Time) {
	if until != clock.Never || p.dated {
		var at time.Time
		if p.dated = until != clock.Never; p.dated {
			at = time.Now().Add(until.Sub(clock.Real.Now()))
		}
		_ = p.file.SetReadDeadline(at)
	}
	_ = p.raw.Read(p.ready)
}

// hasSome reports whether there is something in the set, and forgets that the owner was called.
func (p *poller) hasSome(uintptr) bool {
	if p.wait(p.found[:]) == 0 {
		return false
	}
	if p.found[0].Fd == eventSlot {
		var count [8]byte
		_, _ = unix.Read(p.event, count[:])
	}
	return true
}

// wakeFD returns a descriptor that wakes the owner of the queue when 8 bytes are written to it, for peers of other
// processes.
func (c *CompletionQueue) wakeFD() (int, error) {
	p, err := c.needPoller()
	if err != nil {
		return 0, err
	}
	return p.event, nil
}

// needPoller returns the queue's poller, and makes one if there is none. The lock of the queue is held.
func (c *CompletionQueue) needPoller() (*poller, error) {
	if p := c.sleep.poller.Load(); p != nil {
		return p, nil
	}
	p, err := newPoller()
	if err != nil {
		return nil, err
	}
	c.sleep.poller.Store(p)
	return p, nil
}
