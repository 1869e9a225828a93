package driver

import (
	"fmt"
	"time"
	"unsafe"
)

// Tag is a program's name for one posted operation (InfiniBand: wr_id).
type Tag uint64

// Address is what a peer needs to connect to a queue pair. It is opaque, at most MaxAddress bytes long, and meant to
// be carried by any out-of-band exchange.
type Address string

// MaxAddress bounds the length of an Address.
const MaxAddress = 512

// Region describes registered memory.
type Region struct {
	Bytes     []byte // nil for phantom memory
	Address   uint64 // of the first byte, as spans and remote spans count
	Length    uint64
	LocalKey  uint32
	RemoteKey uint64 // random 64 bits in software; hardware keys have 32
}

// Span is a piece of local memory (InfiniBand: scatter/gather element). The zero Span is empty.
type Span struct {
	Address uint64
	Length  uint32
	Key     uint32
}

// BadKey is the key of a span that was cut outside its memory. Posting such a span is an error. No provider gives it to
// a memory.
const BadKey = ^uint32(0)

// Sub returns the n bytes of s from offset. If they are not inside s, the result has BadKey.
func (s Span) Sub(offset, n uint32) Span {
	if offset > s.Length || n > s.Length-offset {
		return Span{Length: n, Key: BadKey}
	}
	return Span{Address: s.Address + uint64(offset), Length: n, Key: s.Key}
}

// RemoteSpan is a capability on a piece of a peer's memory (InfiniBand: remote address and rkey). An operation that is
// longer than the span is refused before it is posted.
type RemoteSpan struct {
	Address uint64
	Length  uint64
	Key     uint64
}

// Sub returns the n bytes of r from offset. If they are not inside r, the result is empty.
func (r RemoteSpan) Sub(offset, n uint64) RemoteSpan {
	if offset > r.Length || n > r.Length-offset {
		return RemoteSpan{}
	}
	return RemoteSpan{Address: r.Address + offset, Length: n, Key: r.Key}
}

// Flags modify one request.
type Flags uint8

const (
	// Quiet asks for a completion only if the request fails (InfiniBand: unsignaled).
	Quiet Flags = 1 << iota
	// Inline takes the bytes when the request is posted, so that the memory may be reused at once. A Read or an atomic
	// cannot be Inline.
	Inline
	// Fence waits until earlier Reads and atomics of the queue pair have taken effect.
	Fence

	allFlags = Quiet | Inline | Fence
)

// Valid reports whether only known flags are set.
func (f Flags) Valid() bool { return f&^allFlags == 0 }

// Has reports whether all of want is set.
func (f Flags) Has(want Flags) bool { return f&want == want }

// Request is one operation for the NIC to carry out (InfiniBand: work request).
type Request struct {
	Tag     Tag
	Op      Op
	Flags   Flags
	Imm     uint32     // OpSendImm, OpWriteImm
	Span    Span       // source of Send and Write, destination of Read, 8 bytes for the old value of an atomic
	More    []Span     // further pieces, gathered (or, by a Read, scattered) after Span; read during Post only
	Remote  RemoteSpan // Write, Read, atomics; Bind: what the peer will name Span by
	Compare uint64     // CompareSwap: the value that must be there; Bind, Revoke: the number of the window
	Swap    uint64     // CompareSwap: the value to put there; FetchAdd: what to add; Bind: the Access that is lent
	After   Arrival    // chained: do not start before this has arrived; zero: start at once
}

// Bytes returns the length of the request's message. A Bind has none, however much it lends.
func (r *Request) Bytes() uint64 {
	if r.Op.IsLocal() {
		return 0
	}
	return spanBytes(r.Span, r.More)
}

// Arrival names the moment when Count messages have been received, without error, on the queue pair of the same device
// numbered Queue, counted since its last Reset. A request that waits for it is started by the NIC, without the host
// (CORE-Direct; RDMC section 2).
//
// The request means the queue pair as it is when it is posted. If that one leaves Ready, is reset or closed before the
// moment has come, or does not exist, the request ends as Flushed and its own queue pair goes to Error. One that has not
// connected yet is waited for.
type Arrival struct {
	Queue uint32
	Count uint64 // 0: waits for nothing
}

// Receive is memory ready for one incoming message.
type Receive struct {
	Tag  Tag
	Span Span
	More []Span // further pieces, scattered into after Span; read during PostReceive only
}

// Bytes returns how long a message fits.
func (r *Receive) Bytes() uint64 { return spanBytes(r.Span, r.More) }

func spanBytes(first Span, more []Span) uint64 {
	n := uint64(first.Length)
	for _, s := range more {
		n += uint64(s.Length)
	}
	return n
}

// Completion reports one end (InfiniBand: work completion). It holds no pointers.
type Completion struct {
	Tag    Tag
	Queue  uint32 // number of the queue pair; 0 for OpMemoryAccess and OpTimer
	Bytes  uint32 // length of the message, for data operations that ended OK; otherwise 0
	Imm    uint32 // OpReceiveImm, OpReceiveWriteImm; otherwise 0
	Op     Op
	Status Status
}

// QueueConfig describes a queue pair to a provider. Package verbs has checked it against Limits.
type QueueConfig struct {
	Completions  CompletionQueue
	Shared       SharedReceives // nil: the queue pair has receives of its own
	SendDepth    int
	ReceiveDepth int
	MaxSpans     int
	MaxInline    int
	Access       Access         // what the peer may do through this queue pair
	ReceiverWait time.Duration  // how long a Send or WriteImm waits for a receive at the peer
	Record       unsafe.Pointer // package verbs' own record of the queue pair, which every completion touches: see Footprint
}

// SharedConfig describes shared receives to a provider.
type SharedConfig struct {
	Depth       int
	MaxSpans    int
	Completions CompletionQueue // of every queue pair that will use them
}

// Limits says what a device can do. Larger is an error, never split.
type Limits struct {
	Provider      string        // "soft", "sim", …: for people
	MaxMessage    uint32        // bytes of one request
	MaxInline     int           // bytes of an Inline request
	MaxSpans      int           // pieces of one request or receive
	MaxDepth      int           // requests, or receives, of a queue pair or of shared receives
	MaxQueuePairs int           // of the device; it refuses more
	MaxCompletion int           // depth of a completion queue
	PeerTimeout   time.Duration // a dead or silent peer is reported within this
	Chains        bool          // requests may carry an Arrival
	CPUAtomics    bool          // CPU atomics and NIC atomics on one word compose
	LastWordLast  bool          // the last aligned word of a Write is stored when all its other bytes are there, and as one
}

// State is where a queue pair stands.
//
//	        Connect            (completes)
//	New ──────────────▶ Connecting ──────────▶ Ready
//	 ▲                      │                    │ a request failed, the peer's was
//	 │ Reset                ▼                    ▼ refused, the peer is gone
//	 └────────────────── Error ◀────────────────┘
//
// Reset leads from every state to New.
type State uint8

// The states of a queue pair.
const (
	New        State = iota // accepts receives and Connect
	Connecting              // accepts receives
	Ready                   // accepts everything
	Error                   // flushes everything; only Reset leads out
	Closed
)

var stateNames = [...]string{"New", "Connecting", "Ready", "Error", "Closed"}

func (s State) String() string { return name(stateNames[:], int(s), "State") }

func name(names []string, i int, kind string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", kind, i)
}
