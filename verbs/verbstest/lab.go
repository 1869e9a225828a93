package verbstest

import (
	"strings"
	"time"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/verbs"
)

// This file is what a lab and its ends are, and what they can declare.

// Lab opens ends that can reach each other. One test uses one lab, from one goroutine.
type Lab interface {
	// Open starts an end. Names are for people and must differ within a lab.
	Open(name string, config EndConfig) (End, error)
	Capabilities() Capabilities
	// Close ends what is still open, and reports what could not be closed.
	Close() error
}

// End is one party of a test.
type End interface {
	// Do carries out a command and returns when it is done. A command that waits fails when the lab's limit has passed.
	Do(Command) (Result, error)
	// Signal treats the end as a process would be. It needs the capability Kill, Stop or Pauses.
	Signal(Signal) error
	// Close frees everything that the end has opened, children first. A killed end has nothing left to close.
	Close() error
}

// Signal is what can be done to an end from outside.
type Signal uint8

// The signals.
const (
	KillEnd     Signal = iota // it dies now, and cleans nothing up
	StopEnd                   // its host does nothing from now on; what its NIC does is a matter of capabilities
	ContinueEnd               // the host goes on
	AwaitPause                // nothing is done to it: it stops by itself where EndConfig.Pause says, and that is waited for
)

func (s Signal) String() string { return [...]string{"kill", "stop", "continue", "await pause"}[s] }

// EndConfig describes an end. The zero value is usable.
type EndConfig struct {
	Completions int           // depth of the completion queue; 0: 4096, or what the device can
	Waiting     Waiting       // how the loop waits
	ScanEvery   time.Duration // how often a sleeping end looks at its memory; 0: as its lab likes it; or Never
	Beside      string        // name of an end that is open already, whose process this one shares; empty: none
	Shared      bool          // commands are carried out in the test's goroutine, while another waits; needs SharedWaits
	Pause       string        // where the provider stops its process by itself, as it names such places; needs Pauses
}

// Never is a ScanEvery that no command lives to see: twice the lab's limit.
const Never time.Duration = -1

// scanEvery resolves Never for a lab.
func (c EndConfig) scanEvery(limit time.Duration) EndConfig {
	if c.ScanEvery == Never {
		c.ScanEvery = 2 * limit
	}
	return c
}

// Waiting names a policy of package loop, so that it can be sent to another process.
type Waiting uint8

// The policies.
const (
	Hybrid Waiting = iota
	Polling
	Sleeping
)

func (w Waiting) String() string { return [...]string{"hybrid", "polling", "sleeping"}[w] }

func (w Waiting) policy() loop.Waiting {
	switch w {
	case Polling:
		return loop.Polling()
	case Sleeping:
		return loop.Sleeping()
	}
	return loop.Waiting{}
}

// Capability is something that not every lab has. A lab declares it; nothing is ever guessed.
type Capability uint32

// What a lab may have.
const (
	Kill           Capability = 1 << iota // ends can be killed
	Stop                                  // the host of an end can be stopped
	OneSided                              // what peers do to a stopped end goes on
	OwnNIC                                // what a stopped end has posted goes on: its NIC is not its host
	Silence                               // a stopped end is silent, and is reported as gone; excludes the two above
	Pauses                                // an end can stop itself inside an operation, where EndConfig.Pause says
	Sleeps                                // loops sleep in real time, so that waking can be told from polling
	Allocations                           // the provider promises, and the lab can count, no allocations
	SharedReceives                        // of the domain
	MemoryAccess                          // memory can change its access
	Chains                                // requests can wait for an arrival
	CPUAtomics                            // CPU and NIC atomics on one word compose
	Preemptive                            // ends run in parallel, so that a watcher can look in the middle of a write
	LastWordLast                          // the last aligned word of a Write is stored when all its other bytes are there
	StrongKeys                            // remote keys cannot be guessed
	ExactTime                             // time is virtual: what shall happen within a bound does, to the nanosecond
	SharedWaits                           // goroutines that share an end's queue by a lock can post while one of them waits
	capabilityEnd

	// Everything is every capability that one lab can have, if its ends are no processes.
	Everything = (capabilityEnd - 1) &^ (Silence | Pauses)
)

var capabilityNames = [...]string{"kill", "stop", "one-sided", "own NIC", "silence", "pauses", "sleeps", "allocations",
	"shared receives", "memory access", "chains", "CPU atomics", "preemptive", "last word last", "strong keys",
	"exact time", "shared waits"}

func (c Capability) String() string {
	var words []string
	for i, word := range capabilityNames {
		if c&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}

// Capabilities says what a lab can do and how much of it a test may use.
type Capabilities struct {
	Has        Capability
	QueuePairs int   // how many connected queue pairs an end can have; 0: 10,000
	Peers      int   // how many devices can be connected to one; 0: 50
	Traffic    int64 // bytes for the test that moves a lot; 0: a little more than 4 GiB
	Repeat     int   // how often a test of chance repeats itself; 0: 20
	Moments    int   // how often an end is killed or stopped somewhere in a stream; 0: 10
}

func (c Capabilities) withDefaults() Capabilities {
	if c.QueuePairs == 0 {
		c.QueuePairs = 10_000
	}
	if c.Peers == 0 {
		c.Peers = 50
	}
	if c.Traffic == 0 {
		c.Traffic = 4<<30 + 64<<20
	}
	if c.Repeat == 0 {
		c.Repeat = 20
	}
	if c.Moments == 0 {
		c.Moments = 10
	}
	return c
}

// missing returns what is needed and not there.
func (c Capabilities) missing(needs Capability) Capability { return needs &^ c.Has }

func defaultDepth(limits verbs.Limits) int { return min(4096, limits.MaxCompletion) }
