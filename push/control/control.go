// Package control is what a pusher and the agents of hosts say to each other about a push: requests and answers, which
// travel as JSON in calls to the service of an agent. Blocks travel otherwise: see package member.
//
// An agent believes nothing of it: Decode checks everything that came from a peer before it is used.
package control

import (
	"encoding/base64"
	"time"

	"github.com/weft-fabric/weft/push/manifest"
)

// Version is the version of all that pushers and agents say to each other, blocks included. Both must have the same.
const Version = 2

// Service is the name of the service of an agent with a name.
func Service(name string) string { return "agent/" + name }

// Roles that certificates carry. An agent's cannot push.
const (
	RolePusher = "pusher"
	RoleAgent  = "agent"
)

// DefaultPort is where agents listen.
const DefaultPort = 7470

// Limits.
const (
	MemoryBudget = 128 << 20        // bytes that the blocks of a process may take, all pushes together
	BlockUnit    = 4 << 10          // bytes: of these a block's payload has several, so that disks like it
	MinBlock     = 16 << 10         // bytes of a block's payload
	MaxBlock     = 4 << 20          //
	MaxBlocks    = 1 << 24          // of a stream
	MaxMembers   = 4096             // of a push, the pusher among them
	MaxManifest  = 8 << 30          // bytes
	Lease        = 10 * time.Second // an agent that hears nothing of its pusher for so long stops, and keeps what it has
	PagesBudget  = 48 << 20         // bytes that pages of hashes may take at an agent, all pushes together
	MaxPages     = 512 << 10        // bytes of sealed pages in one request
)

// The methods of an agent: the first item of a call; the second is the request as JSON.
const (
	MethodHello   = "hello"   // Hello → Greeting
	MethodOpen    = "open"    // Open → Opened
	MethodForm    = "form"    // Form → Formed: makes this member's end of a group
	MethodConnect = "connect" // Connect → Empty: when it is connected with its peers, and has begun, if it was told to
	MethodBegin   = "begin"   // Begin → Empty: messages may come
	MethodStatus  = "status"  // StatusRequest → Status: renews the lease; waits up to Wait for something new
	MethodPages   = "pages"   // Pages → Empty: signed pages, to compare what is on disk with
	MethodHave    = "have"    // HaveRequest → Have: which blocks are here
	MethodEnd     = "end"     // End → Empty: the group is over; blocks that came are written
	MethodFinish  = "finish"  // Finish → Finished: verify all, commit
	MethodAbort   = "abort"   // Abort → Empty: forget the push; partials stay
	MethodProbe   = "probe"   // bytes of any kind → Empty, when they were read: how fast is the link?
)

// Hello asks who is there.
type Hello struct {
	Version int    `json:"version"`
	Weft    string `json:"weft"` // version of the program
}

// Greeting is what an agent says of itself.
type Greeting struct {
	Version int         `json:"version"`
	Weft    string      `json:"weft"`
	Name    string      `json:"name"`
	Host    string      `json:"host"`
	Free    uint64      `json:"free"`    // bytes in its root
	Ways    []string    `json:"ways"`    // providers for data, the best first: "ibv", "shm", "tcp"
	Plain   bool        `json:"plain"`   // it takes data that is not encrypted
	Pushes  []PushInUse `json:"pushes"`  // under way
	Memory  uint64      `json:"memory"`  // bytes of the block budget that are free
	Link    uint64      `json:"link"`    // bits a second of its fastest network interface; 0: not known
	DirMode string      `json:"dir"`     // the root, for people
	Root    bool        `json:"is_root"` // it can give files away: -p keeps owners
}

// PushInUse names a push that is under way.
type PushInUse struct {
	ID    string    `json:"id"`
	Owner string    `json:"owner"` // name in the pusher's certificate, and its host
	Dest  string    `json:"dest"`
	Since time.Time `json:"since"`
}

// Open begins a push at an agent. With Check it is a preflight: nothing is changed, nothing stays.
type Open struct {
	ID    manifest.ID `json:"id"`
	Owner string      `json:"owner"` // host of the pusher, for people
	Dest  string      `json:"dest"`
	Check bool        `json:"check"`

	Force    bool `json:"force"`
	Preserve bool `json:"preserve"`
	Checksum bool `json:"checksum"`
	Verify   bool `json:"verify"` // compare only: nothing will be sent or changed
	Single   bool `json:"single"` // the only entry is one file

	Manifest manifest.Summary `json:"manifest"`
	Block    int              `json:"block"` // payload of a block of either stream
	Key      []byte           `json:"key"`   // ed25519, the push's own
	Chain    [][]byte         `json:"chain"` // certificate of the pusher, DER
	Signed   []byte           `json:"signed"`
}

// Opened is what a preflight has found.
type Opened struct {
	Free    uint64 `json:"free"`
	Partial bool   `json:"partial"` // there is something of this push already
	Lease   int64  `json:"lease_ns"`
	Change  uint64 `json:"change"` // of the Status that there is now: to be seen is what comes later
}

// Form has an agent make its end of a group. All members get the same but for Rank.
type Form struct {
	ID    manifest.ID `json:"id"`
	Epoch int         `json:"epoch"`
	Plan  Plan        `json:"plan"`
	Rank  int         `json:"rank"`
}

// Plan is a group, as all its members see it.
type Plan struct {
	Members   []string `json:"members"` // names; the first is the pusher
	Racks     []int    `json:"racks,omitempty"`
	Algorithm string   `json:"algorithm"`
	Stripes   int      `json:"stripes"`
	Credits   int      `json:"credits"`
	Sends     int      `json:"sends"`
	Pace      int64    `json:"pace_ns"`
	Stall     int64    `json:"stall_ns"`
	Way       string   `json:"way"`   // provider: "ibv", "shm" (and TCP where that does not lead), "tcp"
	Plain     bool     `json:"plain"` // TCP is not encrypted
	Rate      uint64   `json:"rate"`  // bytes a second that each member may send; 0: all it can

	// Stream says what the group is for: the manifest and then the content; or to finish one of them, of which Have says by rank who
	// holds what (schedule.Set, binary); empty sets are short.
	Stream manifest.Stream `json:"stream"`
	Finish bool            `json:"finish"`
	Have   [][]byte        `json:"have,omitempty"`
}

// Address is where one end of a connection is, as its device writes it: any bytes, which a string of JSON cannot hold.
type Address string

// Addresses are those that an end has for its peers, or they for it, by rank of the peer.
type Addresses map[int][]Address

// MarshalText writes it in base64.
func (a Address) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, []byte(a)), nil
}

// UnmarshalText reads it.
func (a *Address) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	*a = Address(b)
	return err
}

// Formed is what the others need to know of this end.
type Formed struct {
	Description []byte    `json:"description"`
	Addresses   Addresses `json:"addresses"`
}

// Connect has an agent connect its end with its peers'. In a group in which only the root has something to send, it may begin at once: nothing comes
// before the root begins, which waits for all.
type Connect struct {
	ID        manifest.ID `json:"id"`
	Epoch     int         `json:"epoch"`
	Addresses Addresses   `json:"addresses"`
	Begin     bool        `json:"begin"`
}

// Begin starts a group that is connected everywhere.
type Begin struct {
	ID    manifest.ID `json:"id"`
	Epoch int         `json:"epoch"`
}

// StatusRequest asks what has happened since Seen, and renews the lease.
type StatusRequest struct {
	ID   manifest.ID `json:"id"`
	Seen uint64      `json:"seen"` // Status.Change that is known
	Wait int64       `json:"wait_ns"`
}

// Phase is how far an agent is.
type Phase string

// The phases of a push at an agent.
const (
	PhaseOpen      Phase = "open"      // no manifest yet
	PhaseExamining Phase = "examining" // it hashes what it has already
	PhaseReady     Phase = "ready"     // Candidates says how many blocks it may have
	PhaseReceiving Phase = "receiving" //
	PhaseComplete  Phase = "complete"  // all blocks are here and verified
	PhaseFailed    Phase = "failed"    // Error says why; the push is over for this host
)

// Status is how a push goes at an agent.
type Status struct {
	Change     uint64 `json:"change"` // grows with all that somebody should know at once
	Phase      Phase  `json:"phase"`
	Epoch      int    `json:"epoch"` // of the group
	Blocks     int    `json:"blocks"`
	Have       int    `json:"have"`       // blocks of the content that are verified and written
	Received   uint64 `json:"received"`   // bytes of blocks that came, all groups
	Sent       uint64 `json:"sent"`       // bytes of blocks that were passed on
	Looked     uint64 `json:"looked"`     // grows while it looks what is in place
	Examined   uint64 `json:"examined"`   // bytes hashed of ToExamine
	ToExamine  uint64 `json:"to_examine"` //
	Candidates int    `json:"candidates"`
	Named      uint64 `json:"named"` // entries that have their names, of a commit
	Moved      uint64 `json:"moved"` // bytes of files in place that were copied, or compared once more
	Hops       []Hop  `json:"hops,omitempty"`
	Disk       Disk   `json:"disk"`
	FirstByte  int64  `json:"first_byte_ns"` // since the group began, when the first block of content was verified; 0: not yet

	GroupFailed *GroupFailed `json:"group_failed,omitempty"` // the group of Epoch has ended
	Error       *Trouble     `json:"error,omitempty"`
}

// Hop is what was sent to one peer in this group: only the time on the wire counts, when the peer had given credit.
type Hop struct {
	Rank   int    `json:"rank"`
	Blocks uint64 `json:"blocks"`
	Bytes  uint64 `json:"bytes"`
	Wire   int64  `json:"wire_ns"`
}

// Disk is what writing took, and whether the disk does its work.
type Disk struct {
	Bytes uint64 `json:"bytes"`
	Busy  int64  `json:"busy_ns"` // writing
	Full  int64  `json:"full_ns"` // no memory was free for the next block because blocks were still to be written
	// Oldest is for how long a task of the disk is under way, or has not got on: to write a block, to read one that is sent, to look at what is there.
	Oldest int64 `json:"oldest_ns"`
}

// GroupFailed is how a group ended here.
type GroupFailed struct {
	Rank  int    `json:"rank"` // who failed, or -1
	Cause string `json:"cause"`
	Told  bool   `json:"told,omitempty"` // another member says so, and this one has seen nothing itself
	// Rejected: the member sent a block that did not fit its hash.
	Rejected bool `json:"rejected"`
}

// Pages are signed pages of the content.
type Pages struct {
	ID    manifest.ID `json:"id"`
	First int         `json:"first"` // page
	Pages [][]byte    `json:"pages"`
	Last  bool        `json:"last"` // there are no more: compare
}

// HaveRequest asks which blocks of the content are here, when blocks of the last group are written.
type HaveRequest struct {
	ID manifest.ID `json:"id"`
}

// Have is a schedule.Set, binary.
type Have struct {
	Set []byte `json:"set"`
}

// End ends the group.
type End struct {
	ID    manifest.ID `json:"id"`
	Epoch int         `json:"epoch"`
}

// Finish has an agent verify and commit.
type Finish struct {
	ID      manifest.ID `json:"id"`
	Closing []byte      `json:"closing"` // signed
}

// Finished is what a commit did.
type Finished struct {
	Written uint64 `json:"written"` // files
	Skipped uint64 `json:"skipped"` // files that were there already, identical
	Root    []byte `json:"root"`
}

// Abort forgets a push.
type Abort struct {
	ID     manifest.ID `json:"id"`
	Reason string      `json:"reason"`
}

// Empty is an answer that says only that it is done.
type Empty struct{}
