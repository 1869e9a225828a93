package native

import (
	"errors"
	"sync"
)

// This file mirrors the structs of libibverbs that are read and written in place. The cgo build checks them against abi.h at compile time.

// ErrNoCgo means that this binary was built without cgo (make static).
var ErrNoCgo = errors.New("this is the static build, which cannot load RDMA libraries: use the default build (make build)")

// Load loads libibverbs, once. The error says what is missing. Everything else in this package needs it to have succeeded.
var Load = sync.OnceValue(load)

// SGE is a piece of local memory.
type SGE struct {
	Address uint64
	Length  uint32
	Key     uint32
}

// SendWR is a request. Next and Spans are set by the array that it lies in.
type SendWR struct {
	ID      uint64
	next    uintptr
	Spans   uintptr // of the first SGE
	Count   int32   // of SGEs
	Op      Opcode
	Flags   SendFlags
	Imm     uint32 // in network byte order; of Unbind: a key, as it is
	Remote  uint64 // address
	Key     uint64 // of Write and Read: the remote key; of atomics: what to compare with, or to add
	Swap    uint64
	AtomKey uint32 // of atomics: the remote key
	_       uint32
	_       uint64
	binding
}

// binding is the part of a SendWR that only Bind fills.
type binding struct {
	window          uintptr
	key             uint32
	_               uint32
	memory          uintptr
	address, length uint64
	access          Access
	_               uint32
}

// RecvWR is a receive.
type RecvWR struct {
	ID    uint64
	next  uintptr
	Spans uintptr
	Count int32
	_     int32
}

// WC is a completion.
type WC struct {
	ID     uint64
	Status WCStatus
	Op     uint32 // not valid if Status is not Success
	Vendor uint32
	Bytes  uint32
	Imm    uint32 // in network byte order
	Pair   uint32 // number of the queue pair
	_      uint32
	Flags  uint32
	_      uint16
	_      uint16
	_      uint8
	_      uint8
	_      uint16
}

// Opcode says what a request does.
type Opcode uint32

// The operations.
const (
	Write Opcode = iota
	WriteImm
	Send
	SendImm
	Read
	CompareSwap
	FetchAdd
	invalidate // Unbind
	bind       // Bind
)

// SendFlags modify a request.
type SendFlags uint32

// The flags of a request.
const (
	Fence     SendFlags = 1 << 0
	Signaled  SendFlags = 1 << 1
	Solicited SendFlags = 1 << 2
	Inline    SendFlags = 1 << 3
)

// The operations and flags of a WC that tell receives apart.
const (
	Received         = 1 << 7
	ReceivedWriteImm = 1<<7 + 1
	WithImm          = 1 << 1 // of Flags
)

// WCStatus is how a request or receive ended.
type WCStatus uint32

// The ways that Weft tells apart.
const (
	Success         WCStatus = 0
	LocalLength     WCStatus = 1
	LocalOperation  WCStatus = 2
	LocalProtection WCStatus = 4
	FlushError      WCStatus = 5
	BadResponse     WCStatus = 7
	LocalAccess     WCStatus = 8
	RemoteInvalid   WCStatus = 9
	RemoteAccess    WCStatus = 10
	RemoteOperation WCStatus = 11
	RetryExceeded   WCStatus = 12
	RNRExceeded     WCStatus = 13
)

// Access is the flags of memory and queue pairs.
type Access int32

// The flags.
const (
	LocalWrite   Access = 1 << 0
	RemoteWrite  Access = 1 << 1
	RemoteRead   Access = 1 << 2
	RemoteAtomic Access = 1 << 3
	WindowBind   Access = 1 << 4 // windows may be bound to the memory
)

// PairState is where the device says that a queue pair stands.
type PairState int32

// The states.
const (
	Reset       PairState = 0
	Init        PairState = 1
	ReadyToRecv PairState = 2
	ReadyToSend PairState = 3
	ErrorState  PairState = 6
)

// EventType is what happened to a device, a port or a queue pair.
type EventType int32

// The events that Weft heeds.
const (
	QueueError    EventType = 0
	PairFatal     EventType = 1
	PairInvalid   EventType = 2 // the peer sent an invalid request
	PairAccess    EventType = 3 // the peer violated a permission
	DeviceFatal   EventType = 8
	PortActive    EventType = 9
	PortError     EventType = 10
	GIDChange     EventType = 18
	PairLastTaken EventType = 16 // of a queue pair with shared receives that failed
)

// Event is something that happened.
type Event struct {
	Type  EventType
	Whose uint32 // number of the queue pair, or of the port
}

// DeviceAttr is what a device can do.
type DeviceAttr struct {
	MaxPairs, MaxDepth, MaxSpans, MaxReadSpans int
	MaxQueues, MaxQueueDepth                   int
	MaxReadsIn, MaxReadsOut                    int // Reads and atomics under way at a queue pair, as responder and as requester
	MaxShared, MaxSharedDepth, MaxSharedSpans  int
	MaxMemories, Ports                         int
	AckDelay                                   int // 4.096 µs * 2^n
	HasAtomics                                 bool
	HasWindows                                 bool // of type 2
	Firmware                                   string
}

// PortAttr is how a port is.
type PortAttr struct {
	Active     bool
	MTU        int // 1: 256 bytes … 5: 4096 bytes
	MaxMessage uint32
	LID        uint16
	Ethernet   bool
}

// Path is how a queue pair reaches its peer.
type Path struct {
	GID                   [16]byte // of the peer
	GIDIndex              uint8    // of this end
	Global                bool     // GIDs are used: always on Ethernet
	LID                   uint16   // of the peer
	Pair, PSN, LocalPSN   uint32   // of the peer, its first packet number, ours
	Port, MTU             uint8
	Reads                 uint8 // Reads and atomics under way at a time
	Timeout               uint8 // 4.096 µs * 2^n
	Retries, RNRRetries   uint8
	MinRNRTimer           uint8
	HopLimit              uint8
	TrafficClass, Service uint8
}

// PairConfig describes a queue pair.
type PairConfig struct {
	Queue       *Queue
	Shared      *Shared // nil: receives of its own
	SendDepth   int
	RecvDepth   int
	Spans       int
	InlineBytes int
}
