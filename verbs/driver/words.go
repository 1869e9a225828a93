package driver

import "strings"

// Op says what was asked for, or what a completion reports.
type Op uint8

// The operations. Those up to OpRevoke are requests; the others appear in completions only.
const (
	OpNone Op = iota
	OpSend
	OpSendImm
	OpWrite
	OpWriteImm // a Write that takes a receive at the target and reports there
	OpRead
	OpCompareSwap
	OpFetchAdd
	OpBind   // lends a piece of memory to the peer, through a window
	OpRevoke // takes it back

	OpReceive         // a Send arrived
	OpReceiveImm      // a SendImm arrived
	OpReceiveWriteImm // a WriteImm arrived; its bytes are where it wrote them, the receive's memory is untouched
	OpConnect
	OpQueueAccess
	OpMemoryAccess
	OpReset
	OpTimer // made by package loop

	// OpCount is how many there are, for tables.
	OpCount
)

var opNames = [OpCount]string{"None", "Send", "SendImm", "Write", "WriteImm", "Read", "CompareSwap", "FetchAdd",
	"Bind", "Revoke", "Receive", "ReceiveImm", "ReceiveWriteImm", "Connect", "QueueAccess", "MemoryAccess", "Reset", "Timer"}

func (o Op) String() string { return name(opNames[:], int(o), "Op") }

// IsRequest reports whether o can be posted.
func (o Op) IsRequest() bool { return o >= OpSend && o <= OpRevoke }

// IsLocal reports whether a request is carried out at this end, and the peer hears nothing of it.
func (o Op) IsLocal() bool { return o == OpBind || o == OpRevoke }

// IsAtomic reports whether o is a CompareSwap or a FetchAdd.
func (o Op) IsAtomic() bool { return o == OpCompareSwap || o == OpFetchAdd }

// IsReceive reports whether o reports an incoming message.
func (o Op) IsReceive() bool { return o >= OpReceive && o <= OpReceiveWriteImm }

// TakesReceive reports whether a request needs a posted receive at the peer.
func (o Op) TakesReceive() bool { return o == OpSend || o == OpSendImm || o == OpWriteImm }

// HasRemote reports whether a request names remote memory.
func (o Op) HasRemote() bool { return o >= OpWrite && o <= OpFetchAdd }

// Needs returns the access that a request must find at both gates of the responder.
func (o Op) Needs() Access {
	switch o {
	case OpWrite, OpWriteImm:
		return RemoteWrite
	case OpRead:
		return RemoteRead
	case OpCompareSwap, OpFetchAdd:
		return RemoteAtomic
	}
	return 0
}

// Arrived returns what the receiver of a request sees, or OpNone if it sees nothing.
func (o Op) Arrived() Op {
	switch o {
	case OpSend:
		return OpReceive
	case OpSendImm:
		return OpReceiveImm
	case OpWriteImm:
		return OpReceiveWriteImm
	}
	return OpNone
}

// Access is a set of permissions.
type Access uint8

// What a peer may do. Local access needs no permission.
const (
	RemoteRead Access = 1 << iota
	RemoteWrite
	RemoteAtomic

	// RemoteAll is every remote permission.
	RemoteAll = RemoteRead | RemoteWrite | RemoteAtomic
)

// Allows reports whether all of want is granted.
func (a Access) Allows(want Access) bool { return a&want == want }

// Valid reports whether only known permissions are set.
func (a Access) Valid() bool { return a&^RemoteAll == 0 }

func (a Access) String() string {
	var words []string
	for i, word := range []string{"read", "write", "atomic"} {
		if a&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, "+")
}

// Status is how an operation ended.
type Status uint8

// The ways an operation ends. All but OK put the queue pair in Error.
const (
	OK               Status = iota
	Flushed                 // not carried out: the queue pair was in Error, or was reset. Behind a Read or atomic it may have been
	LocalProtection         // a local span is not inside memory of the queue pair's domain
	LocalLength             // the incoming message was longer than the receive
	RemoteAccess            // refused: the key, its bounds or the memory's access
	RemoteInvalid           // refused: the queue pair's access, or a message longer than the receive
	ReceiverNotReady        // no receive was posted at the peer within the limit
	RetryExceeded           // the peer did not answer: dead, cut off, closed or never connected

	// StatusCount is how many there are, for tables.
	StatusCount
)

var statusNames = [StatusCount]string{"OK", "Flushed", "LocalProtection", "LocalLength", "RemoteAccess",
	"RemoteInvalid", "ReceiverNotReady", "RetryExceeded"}

func (s Status) String() string { return name(statusNames[:], int(s), "Status") }

// Refused reports whether the target's permissions stopped the operation. Hardware answers RemoteAccess or
// RemoteInvalid depending on which gate it was, so programs ask for both.
func (s Status) Refused() bool { return s == RemoteAccess || s == RemoteInvalid }
