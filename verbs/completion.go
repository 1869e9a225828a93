package verbs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// CompletionQueue is where ends are reported (InfiniBand: CQ). It and its queue pairs are used by one goroutine at a
// time; only Wake may be called from any. Goroutines that take turns by a lock wait with WaitShared, which lets the others
// go on meanwhile.
//
// It cannot overflow: every queue pair reserves its room when it is made, or is refused.
type CompletionQueue struct {
	device *Device
	driver driver.CompletionQueue
	waiter driver.Waiter       // nil if the provider cannot wait
	sharer driver.SharedWaiter // the same; nil if it cannot wait for goroutines that share the queue

	depth    int
	reserved int // of depth
	members  []member
	vacant   []uint32 // slots of members that are free
	memories []memoryChange
	staged   []stager // those that have staged something since the last Flush
	broken   error    // what the call under way will fail with
	attached atomic.Bool
	isClosed bool
}

// member is a queue pair, or a pool of shared receives, that reports here. Its index is the slot in tokens.
type member struct {
	pair       *QueuePair
	pool       *SharedReceives
	generation uint16 // counts reuse, so that a late completion for a closed member is recognised
}

// stager has something to hand to the NIC.
type stager interface{ Flush() error }

// memoryChange is a Memory.SetAccess under way. A vacant record has no memory.
type memoryChange struct {
	memory *Memory
	tag    Tag
}

func newCompletionQueue(d *Device, inner driver.CompletionQueue, depth int) *CompletionQueue {
	c := &CompletionQueue{device: d, driver: inner, depth: depth}
	c.waiter, _ = inner.(driver.Waiter)
	c.sharer, _ = inner.(driver.SharedWaiter)
	return c
}

func (c *CompletionQueue) String() string {
	if c == nil {
		return "no completion queue"
	}
	return fmt.Sprintf("completion queue of depth %d", c.depth)
}

// Device is the device that the queue belongs to.
func (c *CompletionQueue) Device() *Device { return c.device }

// Room is how much of the depth is not reserved yet.
func (c *CompletionQueue) Room() int { return c.depth - c.reserved }

// Footprint implements driver.Footprint for the loop that runs the queue.
func (c *CompletionQueue) Footprint(add func(start unsafe.Pointer, size uintptr)) {
	add(unsafe.Pointer(c), unsafe.Sizeof(*c))
	add(unsafe.Pointer(&c.device.limits), unsafe.Sizeof(c.device.limits))
}

// FootprintOf implements driver.Footprint, too.
func (c *CompletionQueue) FootprintOf(tag Tag) unsafe.Pointer {
	if slot := token(tag).slot(); slot < uint32(len(c.members)) {
		return unsafe.Pointer(&c.members[slot])
	}
	return nil
}

// Flush hands everything that is staged on the queue's queue pairs to the NIC, one doorbell for each. It fails as
// QueuePair.Flush does, with the first failure, after trying all.
func (c *CompletionQueue) Flush() error {
	if len(c.staged) == 0 {
		return nil
	}
	return c.flushStaged()
}

func (c *CompletionQueue) flushStaged() error {
	for i, s := range c.staged {
		if err := s.Flush(); err != nil {
			c.breaks(err)
		}
		c.staged[i] = nil
	}
	c.staged = c.staged[:0]
	return c.takeBroken()
}

// breaks keeps the first of the errors of a call.
func (c *CompletionQueue) breaks(err error) {
	if c.broken == nil {
		c.broken = err
	}
}

func (c *CompletionQueue) takeBroken() error {
	err := c.broken
	if err != nil {
		c.broken = nil
	}
	return err
}

// Poll flushes, then moves completions to the front of into and says how many. It never blocks. Completions of one
// queue pair's requests come in posting order, and so do those of its receives. It fails with ErrClosed after Close, and
// when the device has died.
func (c *CompletionQueue) Poll(into []Completion) (int, error) {
	if c.isClosed {
		return 0, fail(c, ErrClosed, "poll")
	}
	if len(c.staged) > 0 {
		if err := c.flushStaged(); err != nil {
			return 0, err
		}
	}
	n, err := c.driver.Poll(into)
	if err != nil {
		c.fails(err)
	}
	into = into[:n]
	kept := 0
	for i := range into {
		if !c.settle(&into[i]) {
			continue
		}
		if kept != i {
			into[kept] = into[i]
		}
		kept++
	}
	return kept, c.takeBroken()
}

// fails notes that the provider's Poll has failed.
func (c *CompletionQueue) fails(err error) {
	c.breaks(err)
	if errors.Is(err, ErrClosed) {
		c.giveUpMemories()
	}
}

// settle books one of the provider's completions and puts the program's own tag into it. It reports whether the program
// wants to see it. What the provider did wrong comes to breaks.
func (c *CompletionQueue) settle(w *Completion) bool {
	t := token(w.Tag)
	if t.kind() == kindMemory {
		return c.settleMemory(t, w)
	}
	slot := int(t.slot())
	if slot >= len(c.members) {
		return false
	}
	m := &c.members[slot]
	switch {
	case m.generation != t.generation():
		return false // it was closed meanwhile
	case m.pool != nil:
		return m.pool.settle(t.sequence(), w)
	case m.pair == nil:
		return false
	case t.kind() == kindRequest:
		return m.pair.settleRequest(t.sequence(), w)
	case t.kind() == kindReceive:
		return m.pair.settleReceive(t.sequence(), w)
	}
	return m.pair.settleControl(t.sequence(), w)
}

// enrol reserves room and gives the member a slot.
func (c *CompletionQueue) enrol(m member, room int) (slot uint32, generation uint16, err error) {
	if c.isClosed {
		return 0, 0, fail(c, ErrClosed, "new member")
	}
	if room > c.Room() {
		return 0, 0, fail(c, ErrQueueFull, "%d more completions do not fit: %d of %d are reserved", room, c.reserved, c.depth)
	}
	if len(c.vacant) == 0 {
		if len(c.members) == maxSlots {
			return 0, 0, fail(c, ErrLimit, "it has %d queue pairs", maxSlots)
		}
		c.members = append(c.members, member{})
		c.vacant = append(c.vacant, uint32(len(c.members)-1))
	}
	slot = c.vacant[0] // the one that has been vacant longest
	c.vacant = c.vacant[1:]
	m.generation = c.members[slot].generation
	c.members[slot] = m
	c.reserved += room
	return slot, m.generation, nil
}

// dismiss gives slot and room back. Completions that still come for the slot are dropped.
func (c *CompletionQueue) dismiss(slot uint32, room int) {
	c.members[slot] = member{generation: (c.members[slot].generation + 1) % maxGenerations}
	c.vacant = append(c.vacant, slot)
	c.reserved -= room
}

func (c *CompletionQueue) startMemoryAccess(m *Memory, own driver.MemoryAccess, tag Tag, access Access) error {
	if c.isClosed {
		return fail(c, ErrClosed, "set access of %v", m)
	}
	if c.Room() < 1 {
		return fail(c, ErrQueueFull, "set access of %v: all %d completions are reserved", m, c.depth)
	}
	i := c.vacantMemory()
	if err := own.SetAccess(c.driver, makeToken(kindMemory, 0, 0, uint32(i)), access); err != nil {
		return fmt.Errorf("%v: set access %v: %w", m, access, err)
	}
	c.memories[i] = memoryChange{m, tag}
	c.reserved++
	m.pending.Add(1)
	return nil
}

func (c *CompletionQueue) vacantMemory() int {
	for i := range c.memories {
		if c.memories[i].memory == nil {
			return i
		}
	}
	c.memories = append(c.memories, memoryChange{})
	return len(c.memories) - 1
}

func (c *CompletionQueue) settleMemory(t token, w *Completion) bool {
	i := t.sequence()
	if i >= uint32(len(c.memories)) || c.memories[i].memory == nil {
		c.breaks(fail(c, ErrProvider, "completed a change of memory access that was not started"))
		return false
	}
	change := &c.memories[i]
	w.Tag = change.tag
	change.memory.key.Store(change.memory.driver.Region().RemoteKey)
	change.memory.pending.Add(-1)
	change.memory = nil
	c.reserved--
	return true
}

// giveUpMemories forgets the changes of memory access under way when the device has died: nobody will complete them, and
// they must not keep anything from being closed.
func (c *CompletionQueue) giveUpMemories() {
	for i := range c.memories {
		if m := c.memories[i].memory; m != nil {
			m.pending.Add(-1)
			c.memories[i].memory = nil
			c.reserved--
		}
	}
}

// Wait flushes, then blocks until a completion may be there or ctx is done, and returns ctx's error in that case. In a
// simulator waiting lets virtual time pass; a deadline of ctx is real time all the same, so simulations that are to
// repeat use WaitUntil. It fails with ErrNotSupported if the device can only be polled.
func (c *CompletionQueue) Wait(ctx context.Context) error {
	if ctx == nil {
		return fail(c, ErrArgument, "wait: the context is nil")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, c.Wake)()
	}
	if err := c.WaitUntil(clock.Never, 0); err != nil {
		return err
	}
	return ctx.Err()
}

// WaitUntil flushes, then blocks until a completion may be there, Wake is called, or until has come. It spins for spin
// before it sleeps. It may return early; Poll tells. Errors are as for Wait.
func (c *CompletionQueue) WaitUntil(until clock.Time, spin time.Duration) error {
	if c.isClosed {
		return fail(c, ErrClosed, "wait")
	}
	if c.waiter == nil {
		return fail(c, ErrNotSupported, "wait")
	}
	if err := c.Flush(); err != nil {
		return err
	}
	return c.waiter.Wait(until, spin)
}

// WaitShared is WaitUntil for one of several goroutines that share the queue by a lock, which the caller holds. It is
// released while the queue is looked at or slept on, so that the others can post and poll meanwhile, and held again at the
// end. Only one may wait at a time. Who posts must poll too: it may be that nobody else learns of what ended at once. It
// fails with ErrNotSupported where CanShare says no, and else as WaitUntil does.
func (c *CompletionQueue) WaitShared(lock sync.Locker, until clock.Time, spin time.Duration) error {
	switch {
	case lock == nil:
		return fail(c, ErrArgument, "wait: the lock is nil")
	case c.isClosed:
		return fail(c, ErrClosed, "wait")
	case c.sharer == nil:
		return fail(c, ErrNotSupported, "wait while others use it")
	}
	if err := c.Flush(); err != nil {
		return err
	}
	return c.sharer.WaitShared(lock, until, spin)
}

// CanShare reports whether the device offers WaitShared.
func (c *CompletionQueue) CanShare() bool { return c.sharer != nil }

// Wake ends the Wait that is under way, or the next one. Any goroutine may call it.
func (c *CompletionQueue) Wake() {
	if c.waiter != nil {
		c.waiter.Wake()
	}
}

// CanWait reports whether the device offers Wait.
func (c *CompletionQueue) CanWait() bool { return c.waiter != nil }

// Attach makes runner the one that polls the queue; package loop uses it. Driven says that the device is a simulator,
// which from now on calls runner whenever there is something to do. It fails with ErrInUse if the queue has a runner, and
// with ErrClosed after Close.
func (c *CompletionQueue) Attach(runner driver.Runner) (driven bool, err error) {
	if c.isClosed {
		return false, fail(c, ErrClosed, "attach")
	}
	if !c.attached.CompareAndSwap(false, true) {
		return false, fail(c, ErrInUse, "attach: another loop runs it")
	}
	return c.Drive(runner), nil
}

// Detach ends what Attach began.
func (c *CompletionQueue) Detach() {
	c.Drive(nil)
	c.attached.Store(false)
}

// Drive has a simulator call runner, or nobody if it is nil, until the next Drive; it reports whether the device is a
// simulator. A runner that is attached uses it to wait by itself for a while.
func (c *CompletionQueue) Drive(runner driver.Runner) bool {
	driven, ok := c.driver.(driver.Driven)
	if ok {
		driven.Drive(runner)
	}
	return ok
}

// Close frees the queue. It fails with ErrInUse while queue pairs, shared receives or changes of memory access report
// to it. A second Close does nothing.
func (c *CompletionQueue) Close() error {
	if c.isClosed {
		return nil
	}
	if c.reserved > 0 {
		return fail(c, ErrInUse, "close: %d completions are reserved by open queue pairs or changes of access", c.reserved)
	}
	c.isClosed = true
	defer c.device.released(&c.device.queues)
	return c.driver.Close()
}
