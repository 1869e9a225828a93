package rdmc

import (
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// Version is the version of what members say to each other. All members of a group must have the same.
const Version = 1

// Config describes a group, as one member sees it. What is marked "same" must be the same at all members; package muster
// compares it.
type Config struct {
	Name    string   // of the group, for people and to tell groups apart; same
	Members []string // names for people, each once; the first is the root; same
	Self    int      // index of this member

	Algorithm schedule.Algorithm // same
	Racks     []int              // rack of each member, for the algorithms that know racks; same
	Stripes   int                // schedules that take turns, to hide latency; 0: 2; 1 is better for a few blocks; same
	BlockSize int                // bytes; 0: DefaultBlockSize; same
	Offload   bool               // have the NIC run the whole transfer (section 4.4); needs Limits.Chains, excludes Gate; same
	Credits   int                // receives posted ahead, at most MaxWindow; 0: 1 for one stripe, 3 for RackStripes, else Stripes + 1, with Offload 64; same

	Sends      int           // blocks on their way from here at a time, at most MaxWindow; 0: Stripes, for RackStripes at most Credits; with a Pace one more, with Offload 64
	Pace       time.Duration // that a block takes on the link: while one is under way the next waits for so long; 0, and with Offload: it does not
	Arrivals   int           // buffers for first blocks and one-block messages; 0: 4
	MaxMessage uint64        // bytes; a larger message ends the group; 0: 1<<50
	Stall      time.Duration // who gives no sign of life for so long has failed, if we wait for a block, a credit or a message of it; 0: 5 s
	Gate       bool          // blocks are passed on only after Accept; needs a Store, which hears of blocks
	Reload     bool          // with a Store: a block's memory is released when it has arrived, and loaded again for each send; as in repairs
	Phantom    bool          // messages lie in phantom memory: for simulations

	// Unfinished are messages of an earlier group to be finished first, from what the members hold.
	Unfinished []Unfinished

	// Store, if not nil, gives memory block by block. Otherwise Incoming gives it for whole messages.
	Store Store

	// Connected, if not nil, is called once, when all peers are connected. Then the group waits for Begin, as package muster
	// has it do: what is between this member and its peers tells nothing of the others.
	Connected func()
	// Ready is called once, when the group is connected and begins.
	Ready func()
	// Incoming is asked for memory for a message of more than one block (a shorter one is handed over where it arrived). The
	// zero Place means later, by Provide. With a Store it only tells.
	Incoming func(Message) Place
	// Completed reports that a message is complete here; at the root, that it has been sent. In the order of sending.
	Completed func(Delivery)
	// Failed reports the end of the group, unless Close was called. Nothing but Closed is called after it.
	Failed func(*Failure)
	// Closed is called once, when what Close began has ended and everything is freed. It is the last call of all.
	Closed func()
}

// DefaultBlockSize is the best for large messages according to RDMC, figure 6.
const DefaultBlockSize = 1 << 20

// Message is what is known of a message before its bytes.
type Message struct {
	Number    uint64 // from 0, counted in its group
	Size      uint64 // bytes, exact
	BlockSize int
}

// Blocks is how many blocks the message has: at least one.
func (m Message) Blocks() int {
	if m.Size == 0 {
		return 1
	}
	return int((m.Size-1)/uint64(m.BlockSize)) + 1
}

// BlockLen is the length of a block, in bytes: BlockSize, but for the last.
func (m Message) BlockLen(block int) int {
	return int(min(uint64(m.BlockSize), m.Size-uint64(block)*uint64(m.BlockSize)))
}

// Place is where a whole message lies, or is to lie.
type Place struct {
	Memory *verbs.Memory
	Offset uint64
}

// Delivery is a message that is complete. A message of one block lies in a buffer of the group's: it is the application's
// until Completed returns or, if that called Keep, until Release or Closed.
type Delivery struct {
	Message
	Place // zero with a Store
}

// Store gives memory for blocks, for messages that are too large for memory or come from elsewhere. A block's memory is
// acquired when its receive is posted, and released when its last scheduled send has ended; in a repair, and with Config.Reload,
// when it has arrived, and loaded again for each send. StoreRoom says how many blocks at a time are enough.
type Store interface {
	// Acquire gives memory of BlockSize bytes for a block. The first block of a message is acquired before anything is known
	// of it, with block -1. No memory yet is false: the group asks again after Continue.
	Acquire(message uint64, block int) (verbs.Span, bool)
	// Arrived reports a block. With Config.Gate it is passed on after Accept.
	Arrived(m Message, block int, at verbs.Span)
	// Load gives memory that holds a block which is to be sent and was not acquired, or was released: the root's, and older
	// blocks in a repair. False is later: the group asks again after Continue.
	Load(m Message, block int) (verbs.Span, bool)
	// Release gives memory back that Acquire or Load gave, also at the end of the group, whatever it holds. Of memory for a
	// first block that never came, block is -1.
	Release(m Message, block int, at verbs.Span)
}

// Holding is how much of a message a member has, and where it lies: a message of one block in a buffer of the group's,
// until Closed; with a Store, the zero Place.
type Holding struct {
	Message
	Place
	Have schedule.Set
}

// Unfinished is a message of an earlier group: what each member of the new one holds of it, by rank, and where it lies
// here. Where a member lacks blocks and has no Place, Incoming is asked for one.
type Unfinished struct {
	Message
	Have  []schedule.Set
	Place Place // not used with a Store
}
