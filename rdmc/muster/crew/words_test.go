package crew

import (
	"syscall"
	"time"
)

// order is one line to a member. Each is answered by a report of the kind "done".
type order struct {
	Do string // one of the orders that member.obey knows

	// open
	Lane    string        `json:",omitempty"`
	Self    int           `json:",omitempty"`
	Members []string      `json:",omitempty"` // addresses of the mesh
	Timeout time.Duration `json:",omitempty"` // after which the device gives up a silent peer
	Hostile bool          `json:",omitempty"` // its device can lie
	Fused   bool          `json:",omitempty"` // its device can end the process

	// create, finish
	Groups []groupOrder `json:",omitempty"`

	// send, admit, close
	Group string   `json:",omitempty"`
	Sizes []uint64 `json:",omitempty"`

	// forge: what is sent instead of the descriptions of groups, and of how they compare
	Note, Verdict []byte `json:",omitempty"`
	// Version, if not 0, has forge send Groups[0] as it should be, but of another version
	Version byte `json:",omitempty"`

	// regroup
	Dead []int `json:",omitempty"`

	// arm: after so many requests and arrivals the process sends itself a signal
	After  int64          `json:",omitempty"`
	Signal syscall.Signal `json:",omitempty"`

	// join, create, finish, regroup: how long they may take
	Within time.Duration `json:",omitempty"`
}

// groupOrder describes a group, as one member sees it.
type groupOrder struct {
	Name      string
	Ranks     []int    // the mesh's indexes of the members: the first is the root
	Names     []string `json:",omitempty"` // of the members, if not those of the mesh
	Algorithm string   `json:",omitempty"`
	Racks     []int    `json:",omitempty"`
	Stripes   int      `json:",omitempty"`
	BlockSize int
	Offload   bool          `json:",omitempty"`
	Stall     time.Duration `json:",omitempty"`
	Store     bool          `json:",omitempty"` // memory comes block by block
	Gate      bool          `json:",omitempty"`
	Hold      int           `json:",omitempty"` // the Store gives no memory from the so-manieth time on, until admit
	Lie       string        `json:",omitempty"` // see liar
	Short     bool          `json:",omitempty"` // give memory that is too small
	Orphan    bool          `json:",omitempty"` // the root has died: the first member is another one now
}

// report is one line from a member.
type report struct {
	Kind   string
	Error  string `json:",omitempty"` // done: what went wrong
	Group  string `json:",omitempty"`
	Number uint64 `json:",omitempty"` // completed
	Size   uint64 `json:",omitempty"`
	Rank   int    `json:",omitempty"` // failed: who, by the mesh's index; -1 if nobody knows
	Member string `json:",omitempty"`
	Cause  string `json:",omitempty"`
}

// Kinds of reports.
const (
	kindDone      = "done"
	kindCompleted = "completed" // a message is here, and its contents are right
	kindFailed    = "failed"    // the group has ended
	kindHolding   = "holding"   // the Store holds back
	kindLost      = "lost"      // a message that the survivors cannot finish
	kindResumed   = "resumed"   // a message that they can finish
	kindWrong     = "wrong"     // something that must never be
)
