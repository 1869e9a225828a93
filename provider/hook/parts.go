package hook

import (
	"sync"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// An optional capability is an interface that package verbs asserts, so a wrapper must have its methods exactly when
// the object inside has them. Each kind of object is therefore taken apart into its capabilities (nil for those it
// lacks), each part is wrapped, and the parts are assembled into a struct that has those methods and no others.

// completionParts is a completion queue taken apart.
type completionParts struct {
	driver.CompletionQueue
	driver.Waiter
	sharedWaiter
	driver.Driven
}

// sharedWaiter is what driver.SharedWaiter adds to driver.Waiter.
type sharedWaiter interface {
	WaitShared(lock sync.Locker, until clock.Time, spin time.Duration) error
}

func partsOfCompletions(inner driver.CompletionQueue) completionParts {
	parts := completionParts{CompletionQueue: inner}
	parts.Waiter, _ = inner.(driver.Waiter)
	parts.sharedWaiter, _ = inner.(driver.SharedWaiter)
	parts.Driven, _ = inner.(driver.Driven)
	return parts
}

func assembleCompletions(core *completionQueue, with completionParts) driver.CompletionQueue {
	switch {
	case with.sharedWaiter != nil && with.Driven != nil:
		return struct {
			*completionQueue
			driver.Waiter
			sharedWaiter
			driver.Driven
		}{core, with.Waiter, with.sharedWaiter, with.Driven}
	case with.sharedWaiter != nil:
		return struct {
			*completionQueue
			driver.Waiter
			sharedWaiter
		}{core, with.Waiter, with.sharedWaiter}
	case with.Waiter != nil && with.Driven != nil:
		return struct {
			*completionQueue
			driver.Waiter
			driver.Driven
		}{core, with.Waiter, with.Driven}
	case with.Waiter != nil:
		return struct {
			*completionQueue
			driver.Waiter
		}{core, with.Waiter}
	case with.Driven != nil:
		return struct {
			*completionQueue
			driver.Driven
		}{core, with.Driven}
	}
	return core
}

// marker is what driver.PhantomMemory adds to driver.Memory.
type marker interface {
	Mark(offset, n uint64, origin driver.Origin)
	Origin(offset, n uint64) (driver.Origin, bool)
}

// memoryParts is memory taken apart.
type memoryParts struct {
	driver.Memory
	driver.MemoryAccess
	driver.Retirer
}

func partsOfMemory(inner driver.Memory) memoryParts {
	parts := memoryParts{Memory: inner}
	parts.MemoryAccess, _ = inner.(driver.MemoryAccess)
	parts.Retirer, _ = inner.(driver.Retirer)
	return parts
}

func assembleMemory(with memoryParts) driver.Memory {
	switch {
	case with.MemoryAccess != nil && with.Retirer != nil:
		return with
	case with.MemoryAccess != nil:
		return struct {
			driver.Memory
			driver.MemoryAccess
		}{with.Memory, with.MemoryAccess}
	case with.Retirer != nil:
		return struct {
			driver.Memory
			driver.Retirer
		}{with.Memory, with.Retirer}
	}
	return with.Memory
}

// assemblePhantom knows no Retirer: there are no bytes that could outlive the memory.
func assemblePhantom(core driver.Memory, access driver.MemoryAccess, marks marker) driver.PhantomMemory {
	if access == nil {
		return struct {
			driver.Memory
			marker
		}{core, marks}
	}
	return struct {
		driver.Memory
		driver.MemoryAccess
		marker
	}{core, access, marks}
}

// pairParts is a queue pair with its one capability.
type pairParts struct {
	driver.QueuePair
	driver.Windows
}

// assemblePair gives the wrapper the capability of the queue pair inside.
func assemblePair(own, inner driver.QueuePair, with layer) driver.QueuePair {
	if has, ok := inner.(driver.Windows); ok {
		return pairParts{own, windows{own, has, with}}
	}
	return own
}

// assembleDevice gives the wrapper the capabilities of the device inside. They need no wrapping: no object passes
// through them.
func assembleDevice(core *device, inner driver.Device) driver.Device {
	clocked, hasClock := inner.(driver.Clocked)
	locks, hasLocks := inner.(driver.LockCounter)
	switch {
	case hasClock && hasLocks:
		return struct {
			*device
			driver.Clocked
			driver.LockCounter
		}{core, clocked, locks}
	case hasClock:
		return struct {
			*device
			driver.Clocked
		}{core, clocked}
	case hasLocks:
		return struct {
			*device
			driver.LockCounter
		}{core, locks}
	}
	return core
}

// assembleDomain gives the wrapper the capabilities of the domain inside, each as a part of its own. (Cases of one
// capability stand last: the first that fits is taken.)
func assembleDomain(core *domain, inner driver.Domain) driver.Domain {
	alloc, hasAlloc := inner.(driver.Allocator)
	phantom, hasPhantoms := inner.(driver.Phantoms)
	share, hasShared := inner.(driver.SharedReceiver)
	allocator, phantoms, sharer := allocator{core, alloc}, phantomAllocator{core, phantom}, sharedReceiver{core, share}
	switch {
	case hasAlloc && hasPhantoms && hasShared:
		return struct {
			*domain
			driver.Allocator
			driver.Phantoms
			driver.SharedReceiver
		}{core, allocator, phantoms, sharer}
	case hasAlloc && hasPhantoms:
		return struct {
			*domain
			driver.Allocator
			driver.Phantoms
		}{core, allocator, phantoms}
	case hasAlloc && hasShared:
		return struct {
			*domain
			driver.Allocator
			driver.SharedReceiver
		}{core, allocator, sharer}
	case hasPhantoms && hasShared:
		return struct {
			*domain
			driver.Phantoms
			driver.SharedReceiver
		}{core, phantoms, sharer}
	case hasAlloc:
		return struct {
			*domain
			driver.Allocator
		}{core, allocator}
	case hasPhantoms:
		return struct {
			*domain
			driver.Phantoms
		}{core, phantoms}
	case hasShared:
		return struct {
			*domain
			driver.SharedReceiver
		}{core, sharer}
	}
	return core
}
