package verbs

import "github.com/weft-fabric/weft/verbs/driver"

// The plain words of the verbs layer. They are the driver's own, so that nothing is converted on the way.
type (
	// Tag is a program's name for one posted operation; it comes back in the completion (InfiniBand: wr_id).
	Tag = driver.Tag
	// Address is what a peer needs to connect to a queue pair: opaque, to be carried by any out-of-band exchange.
	Address = driver.Address
	// Access is a set of permissions.
	Access = driver.Access
	// Flags modify one request.
	Flags = driver.Flags
	// Op says what was asked for, or what a completion reports.
	Op = driver.Op
	// Status is how an operation ended.
	Status = driver.Status
	// State is where a queue pair stands.
	State = driver.State
	// Span is a piece of local memory (InfiniBand: scatter/gather element).
	Span = driver.Span
	// RemoteSpan is a capability on a piece of a peer's memory (InfiniBand: remote address and rkey).
	RemoteSpan = driver.RemoteSpan
	// Request is one operation in full, for Stage. The typed methods of QueuePair are shorter.
	Request = driver.Request
	// Receive is memory ready for one incoming message, in full, for StageReceive.
	Receive = driver.Receive
	// Arrival names the moment when a number of messages have been received on a queue pair.
	Arrival = driver.Arrival
	// Completion reports one end (InfiniBand: work completion).
	Completion = driver.Completion
	// Limits says what a device can do.
	Limits = driver.Limits
	// Origin names a byte of an object, for phantom memory.
	Origin = driver.Origin
)

// What a peer may do.
const (
	RemoteRead   = driver.RemoteRead
	RemoteWrite  = driver.RemoteWrite
	RemoteAtomic = driver.RemoteAtomic
	RemoteAll    = driver.RemoteAll
)

// Flags of a request.
const (
	Quiet  = driver.Quiet
	Inline = driver.Inline
	Fence  = driver.Fence
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
	OpReceive         = driver.OpReceive
	OpReceiveImm      = driver.OpReceiveImm
	OpReceiveWriteImm = driver.OpReceiveWriteImm
	OpConnect         = driver.OpConnect
	OpQueueAccess     = driver.OpQueueAccess
	OpMemoryAccess    = driver.OpMemoryAccess
	OpReset           = driver.OpReset
	OpTimer           = driver.OpTimer
)

// How an operation ended.
const (
	OK               = driver.OK
	Flushed          = driver.Flushed
	LocalProtection  = driver.LocalProtection
	LocalLength      = driver.LocalLength
	RemoteAccess     = driver.RemoteAccess
	RemoteInvalid    = driver.RemoteInvalid
	ReceiverNotReady = driver.ReceiverNotReady
	RetryExceeded    = driver.RetryExceeded
)

// Where a queue pair stands.
const (
	New        = driver.New
	Connecting = driver.Connecting
	Ready      = driver.Ready
	Error      = driver.Error
	Closed     = driver.Closed
)
