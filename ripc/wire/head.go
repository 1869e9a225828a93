package wire

import "errors"

// Type is what a message is for.
type Type uint8

// The types of a message.
const (
	Send    Type = iota + 1 // to a service: nobody waits for an answer
	Call                    // to a service: somebody waits
	Answer                  // to a Call
	Refusal                 // to a Send or a Call: it was not delivered, and Code says why
	Word                    // between two ends of a link: credits and releases, and nothing for a service
	Present                 // between two ends of a link: the sender of messages to come, and its name, or the proof that it was drawn by who sends
	GiveUp                  // between two ends of a link: nobody waits any more for the answer to the Call of this number
	Ring                    // between two ends of a link: cells that short messages may be written to. Its one return
	Stop                    // between two ends of a link: a service has enough for now, and is to be sent nothing
	Go                      // between two ends of a link: it may be sent to again

	lastType = Go
)

var typeNames = [...]string{"Type(0)", "Send", "Call", "Answer", "Refusal", "Word", "Present", "GiveUp", "Ring", "Stop", "Go"}

func (t Type) String() string {
	if t > lastType {
		return "unknown type"
	}
	return typeNames[t]
}

// Code says why a message was refused, or an answer is none.
type Code uint16

// Why a message was refused, or an answer is none.
const (
	NoCode    Code = iota
	NotHere        // no such service in this process, or not in that epoch: look it up again
	Moved          // it was here: look it up again
	Busy           // its queue is full, and the sender did not want to wait
	Failed         // its handler failed; the answer's item says how
	Forbidden      // it does not take messages from this sender
	TooLarge       // what the message lends is more than it takes
	TimedOut       // its handler failed because its time was over; the answer's item says how
	OnlyCalls      // it takes nothing but calls
	lastCode  = OnlyCalls
)

var codeNames = [...]string{"no code", "not here", "moved", "busy", "failed", "forbidden", "too large", "timed out", "it takes only calls"}

func (c Code) String() string {
	if c > lastCode {
		return "unknown code"
	}
	return codeNames[c]
}

// Limits of a message.
const (
	// HeadSize is how many bytes the head has.
	HeadSize = 80
	// MaxList is how long a list of a message may be.
	MaxList = 16
	// MaxOverhead is how many bytes of a message can be other than items.
	MaxOverhead = HeadSize + MaxList*(itemSize+2*spanSize+fillSize+releaseSize)

	itemSize    = 4
	spanSize    = 24
	fillSize    = 16
	releaseSize = 8
)

// Head is what a message says of itself, beside its lists. Its zero value is of no type, and not valid.
type Head struct {
	Type   Type
	Code   Code   // of a Refusal, or of an Answer that failed; a Word has Moved if it is a farewell
	From   ID     // whom an answer would go to
	To     ID     // the service, or whom the answer goes to; of a GiveUp: the service that was called; of a Stop or a Go: the service or group
	Epoch  uint64 // which incarnation of To is meant; 0: any
	Number uint64 // which message this is among those of its sender; of an Answer, a Refusal or a GiveUp: which it is about
	Credit uint32 // how many messages the sender of this one has let its peer send since the link was made, modulo 2³²
	Taken  uint32 // how many of its peer's messages the sender of this one has handed to services, or refused, modulo 2³²
	Cells  uint8  // how many cells of its ring the sender of this one has emptied, modulo 2⁸
	Expiry uint32 // milliseconds for which the loans and returns of the message stay; 0: none are there

	Patience uint32 // of a Call: milliseconds that the sender waits for its answer; 0: it does not say
}

// Span is memory at the sender of a message: a loan to read, or a return to write.
type Span struct {
	Address uint64
	Length  uint64
	Key     uint64
}

// Fill says that a return has been written to: of the call that is answered or, on a line, of a message before.
type Fill struct {
	Return uint32 // its place in the list of that message
	Length uint64 // how many bytes
}

// Message is a message taken apart, or to be put together.
type Message struct {
	Head     Head
	Items    List[[]byte]
	Loans    List[Span]
	Returns  List[Span]
	Fills    List[Fill]
	Releases List[uint64] // the Numbers of messages whose loans are not needed any more
}

// List is a list of at most MaxList, without memory of its own to be allocated.
type List[T any] struct {
	n    int
	list [MaxList]T
}

// Add puts another one behind the others, and reports whether there was room.
func (l *List[T]) Add(one T) bool {
	if l.n == MaxList {
		return false
	}
	l.list[l.n] = one
	l.n++
	return true
}

// All are the list's entries, as long as it is not changed.
func (l *List[T]) All() []T { return l.list[:l.n] }

// Len is how many there are.
func (l *List[T]) Len() int { return l.n }

// Clear empties the list.
func (l *List[T]) Clear() {
	var none T
	for i := range l.All() {
		l.list[i] = none // one by one: there are few, and the runtime takes a detour for a row of pointers
	}
	l.n = 0
}

// ErrMalformed is a message that no end of ours would send.
var ErrMalformed = errors.New("malformed message")
