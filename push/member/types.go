package member

import (
	"errors"
	"log/slog"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/verbs"
)

// What can be wrong with a call.
var (
	ErrArgument = errors.New("bad argument")
	ErrMemory   = errors.New("not enough memory for blocks")
	ErrState    = errors.New("not now")
	ErrEnded    = errors.New("the group has ended")
)

// Config describes a Member. Device and Memory are required.
type Config struct {
	Device *verbs.Device // the caller closes it, after the Member
	Memory int           // bytes for blocks: see MemoryNeeded
	Log    *slog.Logger  // nil: nobody hears
}

// Blocks is what the owner does with blocks. It is called by goroutines of the member's, several at a time, and but for Check never on its
// loop. A wire is a header and a payload, see manifest.Layout; it is the member's again when the call returns.
type Blocks interface {
	// Check verifies a block that has arrived. If it is nil the block is passed on, and Keep is called. Otherwise the group ends, and
	// whoever sent the block is named. It must not wait for anything: small blocks are checked on the loop.
	Check(l manifest.Layout, block int, wire []byte) error
	// Keep writes a block to disk. A stream that is sent again comes a second time: that must do no harm. An error ends the group.
	Keep(l manifest.Layout, block int, wire []byte) error
	// Fetch gives a block that this end holds, to be sent. At the root that is one of a page that FillPage has filled, or in a repair
	// any. An error ends the group.
	Fetch(l manifest.Layout, block int, into []byte) error
	// FillPage is the root's: it gives all blocks of a page, in order. It is called once for each page of a stream, for one at a time,
	// in ascending order; in a repair in any order, and only for pages of which nobody else has a block. An error ends the group.
	FillPage(l manifest.Layout, page int, into [][]byte) error
}

// Group is a group as one of its members has it.
type Group struct {
	Plan    control.Plan
	Rank    int
	Epoch   int
	Streams []manifest.Layout // message i of the group is Streams[i]; all have the same Block. With Plan.Finish the one that is finished
	Blocks  Blocks
	// Notify hears what happens, from a goroutine of the member's, one event at a time; after End nothing more. It must not call Form,
	// End or Close, nor wait for somebody who does: End waits for it.
	Notify func(Event)
}

// EventKind is what an Event tells.
type EventKind uint8

// The kinds of events. Each comes once at most, for a stream or for the group.
const (
	FirstBlock EventKind = iota + 1 // of Stream was checked, not at the root
	Completed                       // all blocks of Stream were checked, kept and passed on; at the root: sent
	Failed                          // the group has ended, and waits for End
)

// Event is something that happened to a group.
type Event struct {
	Epoch  int
	Kind   EventKind
	Stream int
	Failed *control.GroupFailed // of Failed
	Err    error                // of Failed: what it wraps, the owner's own error among it, or nil
}

// Stats is what a Member did.
type Stats struct {
	Hops           []control.Hop // of the present or last group
	Received, Sent uint64        // bytes of blocks, all groups
	Full           time.Duration // no memory was free for the next block because blocks were still to be kept; all groups
}
