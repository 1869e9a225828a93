package verbs

import "github.com/weft-fabric/weft/verbs/driver"

// The plain words of the verbs layer. They are the driver's own, so that nothing is converted on the way.
type (
	// Tag is a program's name for one posted operation; it comes back in the completion (InfiniBand: wr_id).
	Tag = driver.Tag
	// Address is what a peer needs to connect to a queue pair: opaque, to be carried by any out-of-band exchange.
	Address = driver.Address
	// Access is a set of permissions: RemoteRead, RemoteWrite, RemoteAtomic. Allows asks for some of them.
	Access = driver.Access
	// Flags modify one request: Quiet, Inline, Fence.
	Flags = driver.Flags
	// Op says what was asked for, or what a completion reports.
	Op = driver.Op
	// Status is how an operation ended. Refused asks whether the target did not let it in.
	Status = driver.Status
	// State is where a queue pair stands: New, Connecting, Ready, Error, Closed.
	State = driver.State
	// Span is a piece of local memory, made by Memory.Span; Sub cuts a piece of it (InfiniBand: scatter/gather element).
	Span = driver.Span
	// RemoteSpan is a capability on a piece of a peer's memory, made by Memory.Remote at the peer; Sub cuts a piece of it.
	// It is plain data (Address, Length, Key), to be sent by any means (InfiniBand: remote address and rkey).
	RemoteSpan = driver.RemoteSpan
	// Request is one operation in full, for Stage: Tag, Op, Flags, Imm, Span and More, Remote, Compare, Swap, After. The
	// typed methods of QueuePair are shorter.
	Request = driver.Request
	// Receive is memory ready for one incoming message, in full, for StageReceive: Tag, Span and More.
	Receive = driver.Receive
	// Arrival names the moment when a number of messages have been received on a queue pair; see QueuePair.Arrival.
	Arrival = driver.Arrival
	// Completion reports one end: Tag, Op, Status, Queue (number of the queue pair), Bytes, Imm (InfiniBand: work
	// completion). CompletionError makes an error of it.
	Completion = driver.Completion
	// Limits says what a device can do: MaxMessage, MaxInline, MaxSpans, MaxDepth, MaxQueuePairs, MaxCompletion,
	// PeerTimeout, Chains, CPUAtomics, LastWordLast.
	Limits = driver.Limits
	// Origin names a byte of an object, for phantom memory.
	Origin = driver.Origin
)

// What a peer may do.
const (
	RemoteRead   = driver.RemoteRead
	RemoteWrite  = driver.RemoteWrite
	RemoteAtomic = driver.RemoteAtomic
	RemoteAll    = driver.RemoteAll // all three
)

// Flags of a request.
const (
	Quiet  = driver.Quiet  // report only failure (InfiniBand: unsignaled)
	Inline = driver.Inline // take the bytes at Flush, so that the memory may be reused at once
	Fence  = driver.Fence  // wait until earlier Reads and atomics of the queue pair have taken effect
)

// Operations, as they stand in a Request or a Completion.
const (
	OpSend            = driver.OpSend
	OpSendImm         = driver.OpSendImm
	OpWrite           = driver.OpWrite
	OpWriteImm        = driver.OpWriteImm
	OpRead            = driver.OpRead
	OpCompareSwap     = driver.OpCompareSwap
	OpFetchAdd        = driver.OpFetchAdd
	OpBind            = driver.OpBind            // a Window.Bind is in force
	OpRevoke          = driver.OpRevoke          // a Window.Revoke is in force
	OpReceive         = driver.OpReceive         // a Send arrived
	OpReceiveImm      = driver.OpReceiveImm      // a SendImm arrived
	OpReceiveWriteImm = driver.OpReceiveWriteImm // a WriteImm arrived; the receive's memory is untouched
	OpConnect         = driver.OpConnect
	OpQueueAccess     = driver.OpQueueAccess  // a QueuePair.SetAccess is in force
	OpMemoryAccess    = driver.OpMemoryAccess // a Memory.SetAccess is in force
	OpReset           = driver.OpReset
	OpTimer           = driver.OpTimer // made by package loop
)

// How an operation ended. All but OK put the queue pair in Error.
const (
	OK               = driver.OK
	Flushed          = driver.Flushed          // not carried out: the queue pair was in Error, or was reset
	LocalProtection  = driver.LocalProtection  // a local span is not inside memory of the queue pair's domain
	LocalLength      = driver.LocalLength      // the incoming message was longer than the receive
	RemoteAccess     = driver.RemoteAccess     // refused: the key, its bounds or the memory's access
	RemoteInvalid    = driver.RemoteInvalid    // refused: the queue pair's access, or a message longer than the receive
	ReceiverNotReady = driver.ReceiverNotReady // no receive was posted at the peer within the limit
	RetryExceeded    = driver.RetryExceeded    // the peer did not answer: dead, cut off, closed or never connected
)

// Where a queue pair stands.
const (
	New        = driver.New        // accepts receives and Connect
	Connecting = driver.Connecting // accepts receives
	Ready      = driver.Ready      // accepts everything
	Error      = driver.Error      // flushes everything; only Reset leads out
	Closed     = driver.Closed
)
