package soft

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
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
// It is an epoll set of sockets inside a second one, the bed, which also has an event descriptor in it. The bed is itself
// watched by Go's netpoller, so that the sleeping goroutine takes no thread, and is woken by a scheduler that spins for a
// moment before it sleeps: a blocking epoll_wait would take twice as long. While nobody sleeps, the bed does not watch the
// set: otherwise every message to a polling owner would wake an idle thread of the scheduler.
type poller struct {
	set     int // epoll, of sockets
	bed     int // epoll, of set, while somebody sleeps, and of event
	event   int // eventfd: who writes to it wakes the owner
	waking  sync.Mutex
	shut    bool // the event descriptor may be somebody else's by now; guarded by waking
	file    *os.File
	raw     syscall.RawConn
	ready   func(uintptr) bool // kept, because a method value would be allocated at every sleep
	dated   bool               // the file has a deadline
	rested  bool               // the sleeper has looked round, and sleeps, or has slept
	resting bool               // the owner is about to sleep, sleeps, or has not looked round since; guarded by the queue's lock
	armed   bool               // the bed watches the set; the sleeper's while it is resting, else guarded by the queue's lock
	looks   int                // of the owner, since it slept; the same
	peeked  unix.EpollEvent    // the sleeper's own: only that there is something matters
	events  [64]unix.EpollEvent

	wires   []*wire // by the number that the kernel knows them by; nil: vacant
	lacking []*wire // those among them that may lack much of a frame
	vacant  []int32
	open    int // wires
	leaving int // those among them that only wait for the peer to have heard the last word
	blocked int // those among them that have no room to write

	input  [inputSize]byte // where headers arrive. Between turns nothing is left here
	output batch           // what is written together. Between turns nothing is left here
	spare  []byte          // where bytes go that nobody wants; allocated when first needed
	moved  uint64          // bytes in either direction, ever: whether a turn has done anything
	seen   uint64          // of these, when the owner last waited
}

// inputSize is how much of a message may be copied once more: what came together with its header.
const inputSize = 4 << 10

// eventSlot is the number of the event descriptor in the bed.
const eventSlot = -1

func newPoller() (*poller, error) {
	p := &poller{set: -1, bed: -1, event: -1}
	p.ready = p.wakes
	if err := p.make(); err != nil {
		p.close()
		return nil, noDescriptor("make a place to sleep", err)
	}
	return p, nil
}

// make opens the descriptors, and puts the bed into the hands of the netpoller.
func (p *poller) make() (err error) {
	if p.set, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	if p.event, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return err
	}
	if p.bed, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	err = errors.Join(watchFD(p.bed, unix.EPOLL_CTL_ADD, p.event, unix.EPOLLIN, eventSlot),
		watchFD(p.bed, unix.EPOLL_CTL_ADD, p.set, 0, 0), unix.SetNonblock(p.bed, true))
	if err != nil {
		return err
	}
	p.file = os.NewFile(uintptr(p.bed), "epoll")
	if p.raw, err = p.file.SyscallConn(); err != nil {
		return err
	}
	return p.file.SetReadDeadline(time.Time{})
}

// close frees the descriptors. Nobody sleeps here any more.
func (p *poller) close() {
	p.closeWires()
	p.waking.Lock()
	defer p.waking.Unlock()
	p.shut = true
	for _, fd := range []int{p.set, p.event} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	if p.file != nil {
		_ = p.file.Close()
	} else if p.bed >= 0 {
		_ = unix.Close(p.bed)
	}
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
		return fmt.Errorf("soft: %s: %w; raise RLIMIT_NOFILE (ulimit -n): a connection of the TCP lane takes one descriptor, a registered memory that can be shared one, a neighbour three",
			what, err)
	}
	return fmt.Errorf("soft: %s: %w", what, err)
}

// watchFD changes what an epoll set watches a descriptor for.
func watchFD(set, op, fd int, events uint32, slot int32) error {
	event := unix.EpollEvent{Events: events, Fd: slot}
	if err := unix.EpollCtl(set, op, fd, &event); err != nil {
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
	if err := watchFD(p.set, unix.EPOLL_CTL_ADD, w.fd, unix.EPOLLIN|unix.EPOLLRDHUP, slot); err != nil {
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
	if err := watchFD(p.set, unix.EPOLL_CTL_MOD, w.fd, events, w.slot); err != nil {
		w.sever(err)
	}
}

// look gives every connection that may have something a part in the turn. Whether there is room to write again is for the
// kernel to say: it waits until that is worth a call, and who tries all the time writes crumbs.
func (p *poller) look() {
	if p.open > 0 {
		p.lookRound()
	}
}

func (p *poller) lookRound() {
	if p.open <= few && p.blocked == 0 {
		for _, w := range p.wires {
			if w != nil {
				w.call(true)
			}
		}
		return
	}
	for i := range p.events[:p.wait()] {
		event := &p.events[i]
		if w := p.wires[event.Fd]; w != nil {
			if event.Events&unix.EPOLLOUT != 0 {
				w.block(false)
			}
			w.call(event.Events&^unix.EPOLLOUT != 0)
		}
	}
}

// wait asks the kernel which sockets have something, without waiting at all.
func (p *poller) wait() int {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.set), uintptr(unsafe.Pointer(&p.events)),
		uintptr(len(p.events)), 0, 0, 0)
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

// rouse wakes the owner. Any goroutine may call it, also one that is late.
func (p *poller) rouse() {
	p.waking.Lock()
	defer p.waking.Unlock()
	if p.shut {
		return
	}
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
	p.rested, p.looks = false, 0
	_ = p.raw.Read(p.ready)
}

// wakes is asked twice by the netpoller: before the sleep, when it sees to it that nothing that has happened by now, or
// happens from now on, goes unnoticed, and after it.
func (p *poller) wakes(uintptr) bool {
	if p.rested {
		return true
	}
	p.rested = true
	p.arm(true)
	n, _, _ := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.bed), uintptr(unsafe.Pointer(&p.peeked)), 1, 0, 0, 0)
	if n == 1 && p.peeked.Fd == eventSlot {
		var count [8]byte
		_, _ = unix.Read(p.event, count[:])
	}
	return n == 1
}

// polled is called when the owner has looked at its sockets itself. If it looks again and again without sleep, the bed
// stops to watch them. An owner that sleeps between its looks is spared that: changing it costs two system calls. Nor may
// it stop while another goroutine, which shares the queue, sleeps there.
func (p *poller) polled() {
	if !p.resting && p.armed {
		p.tire()
	}
}

func (p *poller) tire() {
	const often = 64
	if p.looks++; p.looks > often {
		p.arm(false)
	}
}

// awake is polled for an owner that waits, and says what went on.
func (p *poller) awake() traffic {
	p.resting = false
	p.polled()
	if p.open == 0 {
		return none
	}
	p.relax()
	if p.seen == p.moved {
		return quiet
	}
	p.seen = p.moved
	return lively
}

// arm sets whether the bed watches the sockets.
func (p *poller) arm(want bool) {
	if p.armed == want {
		return
	}
	p.armed = want
	var events uint32
	if want {
		events = unix.EPOLLIN
	}
	_ = watchFD(p.bed, unix.EPOLL_CTL_MOD, p.set, events, 0)
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
