// Package verbs is RDMA for programs: devices, memory that peers may reach, queue pairs that connect two ends, and
// completions that report what has ended. It is concrete; what differs between a NIC, the software NIC and the
// simulator lies behind package driver, and a program cannot tell them apart but by Limits and by speed.
//
// # In short
//
// Open a device of some provider. A [Domain] holds memory and queue pairs that may meet. A [Memory] is bytes that the
// NIC may touch; a [RemoteSpan] of it, given to a peer by any other way, lets the peer write there without this side
// doing anything. Both the memory's access and the queue pair's must allow it.
//
// Operations are staged on a [QueuePair], handed over by Flush, and end as a [Completion] on its [CompletionQueue] under
// the [Tag] they were given. So does everything else that takes time: connecting, a change of access, a reset.
//
// # What is promised
//
// One queue pair's requests start and complete in posting order. A completed Write is in the target's memory. A later
// request waits for an earlier Read or atomic only with Fence.
//
// A request that fails puts its queue pair in Error, and everything behind it completes as Flushed; if the target
// refused it, the target's end is in Error too. Reset, exchange addresses again, and reconnect. Nothing is lost without
// a completion, except by Close.
//
// A dead peer is noticed within Limits.PeerTimeout. The oldest request that was outstanding ends as RetryExceeded, which is
// [ErrPeerGone], and everything behind it as Flushed; a card may also refuse it, in the moments that it takes the system to
// clean up behind a process that was killed. If only receives were outstanding, or nothing, the queue pair goes
// to Error all the same: receives end as Flushed, and so does what is posted afterwards.
//
// When a SetAccess completes, no operation that only the old access allowed can land any more.
//
// Queues have limits and say so: Room, or ErrQueueFull. A completion queue cannot overflow. A queue of nothing but
// Quiet requests does not get stuck either: now and then one of them is signaled, and its completion swallowed.
//
// From staging to completion nothing is allocated.
//
// # Who may call what
//
// Device, Domain and Memory may be used by several goroutines (but a Memory's SetAccess names a completion queue, and
// belongs to its owner). A completion queue, its queue pairs and its shared
// receives belong to one goroutine at a time, which also makes and closes them; package loop is the usual owner. Close
// goes children first.
//
// Bad arguments are errors that wrap one of the Err variables and name the thing; only Load64 and Store64 panic, as
// indexing a slice does.
package verbs
