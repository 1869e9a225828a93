// Package push puts files and trees on many hosts: verified, resumed, whatever happens on the way. It is the pusher's side; package
// agent is that of a host.
package push

import (
	"time"

	"github.com/weft-fabric/weft/push/control"
)

// EventKind is what an Event tells.
type EventKind string

// The kinds of events, as programs see them with --json.
const (
	EventScan       EventKind = "scan"        // the source is walked: Files, Bytes so far
	EventPlan       EventKind = "plan"        // what will be done: Plan
	EventConnected  EventKind = "connected"   // Host answers
	EventPhase      EventKind = "phase"       // Phase begins
	EventProgress   EventKind = "progress"    // Progress, about twice a second
	EventHostFailed EventKind = "host_failed" // Host is given up: Class, Cause, Text
	EventDemoted    EventKind = "demoted"     // Host is slow and is served last: Text
	EventRepair     EventKind = "repair"      // the survivors go on: Text
	EventHostDone   EventKind = "host_done"   // Host has verified and committed everything
	EventReport     EventKind = "report"      // the last: Report
)

// Event is one thing that happened. Only the fields of its kind are set.
type Event struct {
	Time     time.Time     `json:"time"`
	Kind     EventKind     `json:"event"`
	Host     string        `json:"host,omitempty"`
	Phase    string        `json:"phase,omitempty"` // "scan", "connect", "manifest", "examine", "hash", "send", "stragglers", "commit", "differ"
	Class    control.Class `json:"class,omitempty"`
	Cause    string        `json:"cause,omitempty"` // the same for all hosts with the same trouble, if that has a name
	Text     string        `json:"text,omitempty"`
	Files    uint64        `json:"files,omitempty"`
	Bytes    uint64        `json:"bytes,omitempty"`
	Plan     *Plan         `json:"plan,omitempty"`
	Progress *Progress     `json:"progress,omitempty"`
	Report   *Report       `json:"report,omitempty"`
}

// Plan is what a push will do, and what that should take.
type Plan struct {
	Hosts      int           `json:"hosts"`
	Files      uint64        `json:"files"`
	Bytes      uint64        `json:"bytes"` // content
	Block      int           `json:"block"`
	Algorithm  string        `json:"algorithm"`
	Stripes    int           `json:"stripes"`
	Credits    int           `json:"credits"`
	Way        string        `json:"way"`
	NotRDMA    string        `json:"not_rdma,omitempty"` // why the way is not ibv, if somebody has that
	Encrypted  string        `json:"encrypted"`          // what is and what is not, in a sentence
	Rate       float64       `json:"rate"`               // bytes a second of one copy, as measured or said; 0: not known
	Bound      time.Duration `json:"bound_ns"`           // no schedule is faster; 0: the rate is not known
	Predicted  time.Duration `json:"predicted_ns"`
	Steps      int           `json:"steps"`
	Skipped    uint64        `json:"left_out,omitempty"`       // sockets, devices and pipes of the source, which cannot be pushed
	Skips      []string      `json:"left_out_names,omitempty"` // the first of them, with what they are
	Racks      int           `json:"racks,omitempty"`
	Members    []string      `json:"members,omitempty"`          // hosts as they come in the schedule, behind the pusher: rack by rack; where racks are not known, as they were named
	RackOf     []int         `json:"rack_of,omitempty"`          // rack of each member, the pusher first
	OwnRack    string        `json:"own_rack,omitempty"`         // where the pusher is held to be
	CrossBytes uint64        `json:"cross_rack_bytes,omitempty"` // that the schedule sends between racks
}

// Progress is how far a push is.
type Progress struct {
	Phase      string        `json:"phase"`
	Done       uint64        `json:"done"`  // bytes of Total
	Total      uint64        `json:"total"` // of this phase: bytes to hash, to examine, or to deliver to all hosts together
	Rate       float64       `json:"rate"`  // bytes a second that one host receives, lately
	Remaining  time.Duration `json:"remaining_ns"`
	Elapsed    time.Duration `json:"elapsed_ns"`
	Efficiency float64       `json:"efficiency"` // this rate over that of a link, which is the bound of long pushes; 0: not known
	Slowest    []HostRate    `json:"slowest,omitempty"`
	Alive      int           `json:"alive"`
	Complete   int           `json:"complete"`
	Failed     int           `json:"failed"`
}

// HostRate is how one host does.
type HostRate struct {
	Host string  `json:"host"`
	Done uint64  `json:"done"`
	Rate float64 `json:"rate"`
	Why  string  `json:"why,omitempty"` // "disk": blocks wait for it
}

// Outcome is how it ended for a host.
type Outcome string

// The outcomes.
const (
	OutcomeVerified Outcome = "verified" // everything is there, checked and named
	OutcomeReady    Outcome = "ready"    // of a dry run: it could take everything, and has been sent nothing
	OutcomeFailed   Outcome = "failed"
)

// HostReport is how it ended for one host.
type HostReport struct {
	Host     string        `json:"host"`
	Outcome  Outcome       `json:"outcome"`
	Class    control.Class `json:"class,omitempty"`
	Cause    string        `json:"cause,omitempty"` // the same for all hosts with the same trouble, if that has a name
	Text     string        `json:"text,omitempty"`
	Received uint64        `json:"received"` // bytes on the wire
	Sent     uint64        `json:"sent"`
	Written  uint64        `json:"written"` // files
	Skipped  uint64        `json:"skipped"`
	Demoted  bool          `json:"demoted,omitempty"`
	First    time.Duration `json:"first_byte_ns,omitempty"` // from the beginning of the push to the first verified block
}

// Report is how a push ended.
type Report struct {
	ID         string        `json:"id"`
	Exit       int           `json:"exit"`
	Root       string        `json:"root,omitempty"` // hash of the object
	SHA256     string        `json:"sha256,omitempty"`
	Hosts      []HostReport  `json:"hosts"`
	Files      uint64        `json:"files"`
	Bytes      uint64        `json:"bytes"`
	Elapsed    time.Duration `json:"elapsed_ns"`
	Sending    time.Duration `json:"sending_ns"` // of the content
	Rate       float64       `json:"rate"`       // bytes a second that each host received, of what it lacked
	Bound      time.Duration `json:"bound_ns"`   // for what was lacking; 0: too little to tell
	Efficiency float64       `json:"efficiency"`
	Bottleneck string        `json:"bottleneck,omitempty"` // which hop, disk or processor held it up
	Repairs    int           `json:"repairs"`
	CrossBytes uint64        `json:"cross_rack_bytes,omitempty"`
	Plan       *Plan         `json:"plan,omitempty"`
	Hops       []HopReport   `json:"hops,omitempty"` // what was measured between members, for explain
	Error      string        `json:"error,omitempty"`
}

// HopReport is what went from one host to another.
type HopReport struct {
	From  string  `json:"from"`
	To    string  `json:"to"`
	Bytes uint64  `json:"bytes"`
	Rate  float64 `json:"rate"` // bytes a second while on the wire
}
