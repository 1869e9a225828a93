package hook

import "slices"

// Lie is a way for a device to break the contract of package driver. Lies exist to test the tests: a conformance
// suite that passes on a lying device has a hole.
type Lie uint8

// The lies. Unless a rule names another Op, they touch data operations only, so that connecting still works.
const (
	NoLie Lie = iota

	// Told when a completion is polled.

	DropCompletion    // never report it
	DoubleCompletion  // report it twice
	SwapCompletions   // report a request's completion behind the next one of its queue pair
	HideFailure       // report OK although it failed
	WrongTag          // report another tag
	WrongBytes        // report one byte more
	WrongImm          // report another immediate, where there is one
	WrongOp           // report another operation
	WrongQueue        // report another queue pair
	DropQuietFailure  // do not report the failure of a Quiet request
	DropFlushed       // do not report what is flushed behind an error
	ResetWithoutFlush // do not report what a Reset flushes
	DropUnreceived    // report OK for a message that found no receive and was thrown away
	IgnorePeerDeath   // do not report that the peer does not answer, nor what is flushed for it; stay Ready

	// Told when a request or a receive is posted.

	CorruptPayload    // flip a bit of the message
	DropWrite         // report OK for a Write that is not carried out
	IgnoreQuiet       // report the success of a Quiet request
	IgnoreFence       // start a request before the Read or atomic in front of it, in the same list
	IgnoreAfter       // start a chained request at once
	LateInline        // take the bytes of an Inline request at the next Poll, not when it is posted
	UnconditionalSwap // a CompareSwap swaps whatever it finds
	FetchAddNew       // a FetchAdd returns the sum
	ReverseReceives   // take the receives of a list last first
	Overtake          // start a Write, or a Send, before the one in front of it in the same list
	TearWrites        // write the last four bytes of a Write only after it has completed

	// Told when access is asked for or changed.

	IgnoreQueueAccess  // QueuePair.SetAccess completes and changes nothing
	IgnoreMemoryAccess // Memory.SetAccess completes and changes nothing
	EarlyAccess        // either SetAccess completes first and changes access some polls later
	WidenQueueAccess   // a queue pair allows everything
	WidenMemoryAccess  // memory allows everything
	KeepMemory         // allocated memory stays reachable when it is closed, until its domain is closed
	GenerousStart      // allocated memory lets peers reach the word before it
	GenerousEnd        // allocated memory lets peers reach the byte behind it
	GuessableKeys      // remote keys are said to be 1, 2, 3, …; no provider accepts them, so that nothing else works
	OneDomain          // all domains are one

	// Told when memory is lent or taken back.

	IgnoreRevoke   // a Revoke completes and changes nothing
	EarlyRevoke    // a Revoke completes first and ends what is lent some polls later
	WidenWindow    // whatever is lent is lent for everything
	GenerousWindow // with a piece of a memory all of it is lent
	KeepWindow     // what is lent through a window stays so when that is closed, until its queue pair is closed or reset

	// Told when a queue pair is reset.

	KeepAddress  // its address stays the same
	ForgetAccess // its access is again what it was made with

	// Told when a program sleeps.

	LateWait     // Wait returns only at its deadline, or not at all if it has none
	RestlessWait // Wait returns at once
	LostWake     // Wake does nothing

	// Told when a program asks for the limits.

	NoPeerTimeout // no bound is stated within which a dead peer is reported

	lieCount
)

var lieNames = [lieCount]string{"NoLie", "DropCompletion", "DoubleCompletion", "SwapCompletions", "HideFailure",
	"WrongTag", "WrongBytes", "WrongImm", "WrongOp", "WrongQueue", "DropQuietFailure", "DropFlushed",
	"ResetWithoutFlush", "DropUnreceived", "IgnorePeerDeath", "CorruptPayload", "DropWrite", "IgnoreQuiet",
	"IgnoreFence", "IgnoreAfter", "LateInline", "UnconditionalSwap", "FetchAddNew", "ReverseReceives",
	"Overtake", "TearWrites", "IgnoreQueueAccess", "IgnoreMemoryAccess", "EarlyAccess", "WidenQueueAccess",
	"WidenMemoryAccess", "KeepMemory", "GenerousStart", "GenerousEnd", "GuessableKeys", "OneDomain",
	"IgnoreRevoke", "EarlyRevoke", "WidenWindow", "GenerousWindow", "KeepWindow", "KeepAddress",
	"ForgetAccess", "LateWait", "RestlessWait", "LostWake", "NoPeerTimeout"}

func (l Lie) String() string { return nameOf(lieNames[:], int(l), "Lie") }

// Lies returns every lie, in a fixed order.
func Lies() []Lie {
	lies := make([]Lie, 0, lieCount-1)
	for l := NoLie + 1; l < lieCount; l++ {
		lies = append(lies, l)
	}
	return slices.Clip(lies)
}
