// Package driver is what a provider implements: five small interfaces and plain structs. Programs use package verbs,
// which is concrete and owns what every provider would repeat: bounds, credits, staging, the order of Close.
//
// # Contract
//
// Posting returns at once. Everything that takes time ends as a [Completion] on the completion queue that was named
// when it was started: data transfers, connecting, a change of access, a reset. A Tag given to a call comes back in
// its completion, untouched; package verbs chooses the tags that a driver sees.
//
// Order. The requests of one queue pair start, and complete, in the order they were posted. A request waits for an
// earlier Read or atomic to take effect only if it carries Fence. A completed Write is in the target's memory. The
// receives of one queue pair are taken and completed in the order they were posted.
//
// Errors. A request that fails completes with a Status other than OK even if it is Quiet; its queue pair goes to
// [Error], and everything posted behind it, receives included, completes as [Flushed]. A request that the target
// refuses puts both ends in Error. Requests posted in Error complete as Flushed, and so do receives, as OpReceive. What
// was outstanding when the peer was found to be gone ends as RetryExceeded, then Flushed. A peer is gone when it died, was
// closed or reset, or went to Error for a reason of its own. (A card outlives a process that was killed by moments
// in which the process's memory is gone already: then a request may be refused first.) A receive whose own spans are bad ends as LocalProtection,
// and the Send that took it as RemoteInvalid. Nothing is silently lost.
//
// Permission. An incoming operation needs both gates at the responder: the access of the Memory and the access of the
// QueuePair. When a SetAccess completes, no operation that only the old access allowed can land any more. An operation
// of zero bytes touches no memory: it needs no valid key, at either end, only the queue pair's access.
//
// Windows. An OpBind opens Span to the peer of its own queue pair, for the operations that it names, under a key that was
// never used before. It is a request like others: a Send that was posted behind it finds the peer already let in. An
// OpRevoke that has completed means that nothing that the window let in can land any more; it waits for no answer of the
// peer's, but it does wait its turn. The memory's own access is not asked, the queue pair's is. What is lent ends with the
// memory, with the window, and when the queue pair leaves Ready.
//
// Ownership. A queue pair, its completion queue and its shared receives are used by one goroutine at a time; objects
// that have no completion queue in common may be used in parallel. A device, its domains and their memory may be used by
// any goroutine; only making something that names a completion queue belongs to that queue's owner. Wake and Locks may
// be called from any goroutine. Several goroutines may share a completion queue, and what belongs to it, by a lock of
// theirs; while one of them waits in [SharedWaiter].WaitShared the others need not wait too. Slices passed to a call are the
// caller's again when it returns.
//
// From Post to Completion a provider allocates nothing once it is warm.
package driver

import (
	"sync"
	"time"
	"unsafe"

	"github.com/weft-fabric/weft/clock"
)

// Device is an opened NIC (InfiniBand: context).
type Device interface {
	Limits() Limits
	NewDomain() (Domain, error)
	// NewCompletionQueue makes a queue that can hold depth completions. Package verbs sees to it that it never holds
	// more.
	NewCompletionQueue(depth int) (CompletionQueue, error)
	// Close frees the device. Package verbs closes everything that was made from it first.
	Close() error
}

// Domain groups what may meet: a queue pair reaches only memory of its own domain, at either end (InfiniBand:
// protection domain).
type Domain interface {
	// Register makes b, which lies outside the Go heap, known to the NIC. Access is about peers only: what a program
	// registers it may use itself in every way.
	Register(b []byte, access Access) (Memory, error)
	NewQueuePair(QueueConfig) (QueuePair, error)
	Close() error
}

// Memory is bytes that the NIC may touch (InfiniBand: memory region).
type Memory interface {
	// Region describes the memory as it is now. A change of access may change the remote key, and nothing else.
	Region() Region
	// Close ends every capability on the memory: when it returns, no operation can land in it any more.
	Close() error
}

// Retirer is a Memory whose bytes can outlive it. One whose bytes lie in the Go heap, or are the program's, need not be one.
type Retirer interface {
	// Retire is Close, but leaves the bytes where they are until free is called.
	Retire() (free func() error, err error)
}

// CompletionQueue is where ends are reported.
type CompletionQueue interface {
	// Poll moves finished completions to the front of into and says how many. It never blocks, and does the NIC's work
	// where the NIC is software.
	Poll(into []Completion) (int, error)
	Close() error
}

// QueuePair is one end of a connection: a queue of requests and a queue of receives.
type QueuePair interface {
	// Number names the queue pair within its device. It stands in Completion.Queue and in Arrival.
	Number() uint32
	// Address is what the peer needs to connect. It changes with every Reset.
	Address() Address
	State() State
	// Post hands over a list of requests with one doorbell. It takes all, or the first n and an error that says why. In
	// New and Connecting it takes none.
	Post(list []Request) (n int, err error)
	PostReceive(list []Receive) (n int, err error)
	// Connect makes the queue pair Ready and completes as OpConnect. Two queue pairs of one device may connect; one with
	// itself may not. A provider may complete it before the peer has
	// connected too; requests posted by then wait for the peer, up to Limits.PeerTimeout.
	Connect(tag Tag, peer Address) error
	// SetAccess changes this end's gate and completes as OpQueueAccess. The access outlives a Reset: what was revoked
	// stays revoked.
	SetAccess(tag Tag, access Access) error
	// Reset flushes everything outstanding, returns the queue pair to New with a fresh Address, and completes as
	// OpReset behind the last flushed completion.
	Reset(tag Tag) error
	// Close frees the queue pair in whatever state it is. What is outstanding is dropped, and the peer's end goes to
	// Error. Completions that were queued by then may still be polled, or not: package verbs drops them, and counts on
	// the room that they took. Only shared receives that had arrived are reported all the same: they belong to the pool.
	Close() error
}

// The rest is optional: package verbs, and nobody else, asserts it.

// Clocked is a Device with a time of its own. Other devices live in clock.Real. Virtual time passes in Wait, or when
// whoever owns the simulation says so, never in Poll. All devices of one simulation belong to one goroutine; of theirs
// only Wake may be called by others.
type Clocked interface {
	Clock() clock.Clock
}

// LockCounter is a Device that counts the locks taken on its data path.
type LockCounter interface {
	Locks() uint64
}

// Allocator is a Domain that provides memory itself. Of other domains package verbs maps pages and registers them.
type Allocator interface {
	Alloc(size int, access Access) (Memory, error)
}

// Phantoms is a Domain that can register memory without bytes: a length, and for each byte the name of where it came
// from. Only a simulator has them.
type Phantoms interface {
	AllocPhantom(size uint64, access Access) (PhantomMemory, error)
}

// PhantomMemory is memory that remembers where its content came from instead of the content.
type PhantomMemory interface {
	Memory
	// Mark declares n bytes from offset to be a piece of an object, beginning with the byte that origin names.
	Mark(offset, n uint64, origin Origin)
	// Origin says where n bytes from offset came from, if they are one unbroken piece of one object. Unwritten bytes are
	// a piece of none.
	Origin(offset, n uint64) (Origin, bool)
}

// Origin names a byte of an object: which object, and how far into it. The zero Origin is unwritten memory.
type Origin struct {
	Object uint64
	Offset uint64
}

// MemoryAccess is a Memory whose gate can be changed. It completes on queue as OpMemoryAccess, and may change the
// memory's remote key.
type MemoryAccess interface {
	SetAccess(queue CompletionQueue, tag Tag, access Access) error
}

// Waiter is a CompletionQueue that can be slept on.
type Waiter interface {
	// Wait returns when a completion may be there, when until has come, or when Wake was called since the last Wait. It
	// may return early for no reason. It first looks for spin, without sleeping, then sleeps: waking a sleeper costs
	// microseconds, a spinner nanoseconds (RDMC section 4.2). A simulated device lets virtual time pass instead.
	Wait(until clock.Time, spin time.Duration) error
	// Wake ends a Wait that is under way, or the next one. Any goroutine may call it, also after Close: the end of a context
	// may come that late.
	Wake()
}

// SharedWaiter is a Waiter for goroutines that share the queue by a lock of theirs.
type SharedWaiter interface {
	Waiter
	// WaitShared is Wait, called by the goroutine that holds lock. The provider releases it while it looks or sleeps, and
	// holds it again when it returns. Meanwhile whoever holds the lock may use the queue and what belongs to it in every way
	// but to wait. Who posts also polls: a completion of what was posted meanwhile need not end the wait. What else the
	// others leave to do, a deadline for example, is seen to in time, whether that ends the wait or not.
	WaitShared(lock sync.Locker, until clock.Time, spin time.Duration) error
}

// Driven is a CompletionQueue whose provider calls the loop, where other loops wait for the provider: the simulator's.
type Driven interface {
	// Drive makes the provider call runner whenever a completion, a Wake, the runner's next deadline or, if the runner
	// scans, an incoming write to the device's memory calls for a turn. Nil ends it.
	Drive(runner Runner)
}

// Runner is the part of a loop that a Driven completion queue needs.
type Runner interface {
	// Turn does what there is to do, without waiting, and says how much that was.
	Turn() (int, error)
	// Next is when the runner wants a turn even if nothing happens. If that is now, the provider still lets some time
	// pass.
	Next() clock.Time
	// Scans says whether the runner looks for words that peers write without notice.
	Scans() bool
}

// Footprint is a Runner that can say what memory its turns touch: a provider that drives thousands has it fetched in
// time. What it names need not be complete.
type Footprint interface {
	// Footprint names what every turn touches.
	Footprint(add func(start unsafe.Pointer, size uintptr))
	// FootprintOf names what leads from a completion to its queue pair.
	FootprintOf(tag Tag) unsafe.Pointer
}

// ImmediateWriter is a QueuePair that can carry out a short Write at once, in the caller's goroutine, without a request and a completion.
type ImmediateWriter interface {
	// WriteNow writes bytes of the program's, in order with what was posted before, and reports whether it has: then they are in the
	// peer's memory. If not, because something is in the way, nothing has been done, and the Write may be posted.
	WriteNow(from []byte, to RemoteSpan) bool
}

// Windows is a QueuePair that can lend pieces of its domain's memory to its peer, and to nobody else (InfiniBand: memory
// windows of type 2).
type Windows interface {
	NewWindow() (Window, error)
}

// Window is what a piece of memory is lent through, one at a time. It belongs to the owner of its queue pair. Package verbs
// closes it before the queue pair is closed or reset, and binds it only when nothing is lent through it, or the OpRevoke of
// that was posted before.
type Window interface {
	// Number names the window among those of its queue pair, in OpBind and OpRevoke. It is not given twice.
	Number() uint32
	// NextKey draws the key for the next OpBind. In software it cannot be guessed.
	NextKey() uint64
	// Close ends what is lent: when it returns, nothing that the window let in can land any more. An OpBind or OpRevoke that
	// still stands in the queue ends as if the window were open, and lends nothing.
	Close() error
}

// SharedReceiver is a Domain that offers receives shared by several queue pairs (InfiniBand: SRQ).
type SharedReceiver interface {
	NewSharedReceives(SharedConfig) (SharedReceives, error)
}

// SharedReceives is a pool of receives. Whichever of its queue pairs gets a message takes the next one.
type SharedReceives interface {
	PostReceive(list []Receive) (n int, err error)
	// Close drops what is still posted, and what has arrived and was not polled. Package verbs closes the queue pairs
	// that use it first.
	Close() error
}
