package main

import (
	"fmt"
	"time"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
)

// order is what the two sides of a connection are to do: the near one asks and is timed, the far one is there for it.
type order struct {
	Lane  soft.Lanes
	Near  string // a job of nearJobs
	Far   string // a job of farJobs
	Size  int    // bytes of a message
	Count int    // messages that are timed
	Warm  int    // messages before them
	Depth int    // of the queue pair: how many messages are outstanding at most; 0: 128
	List  int    // messages that are handed to the NIC at a time
	Quiet int    // every so many messages one reports its end
	Spin  time.Duration
	Stop  bool // the far process is stopped (SIGSTOP) while the near one measures
}

// never is the Spin of a side that does not sleep but polls.
const never = time.Duration(-1)

func (o order) withDefaults() order {
	if o.Depth == 0 {
		o.Depth = 128
	}
	if o.Warm == 0 {
		o.Warm = o.Count/10 + 1
	}
	return o
}

// hello is what two sides tell each other to connect.
type hello struct {
	Address verbs.Address
	Memory  verbs.RemoteSpan
}

// outcome is what a side has measured.
type outcome struct {
	Took        time.Duration // for Count messages
	Allocations float64       // of one operation, the most that any kind made
}

// Where things lie in a side's memory. Words that different processes write have cache lines of their own.
const (
	outgoing = 0        // what small messages are written from
	incoming = 128      // the word that the peer writes in a ping-pong
	touched  = 256      // the word that the peer writes once, so that its key has been used
	received = 4096     // where receives point, a page
	data     = 2 * 4096 // what is written, and where to: the order's size
)

// fill makes the pattern of what is written. Its period is no power of two, so a page in another's place shows.
func fill(b []byte) {
	for i := range b {
		b[i] = byte(1 + i%251)
	}
}

// check fails at the first byte that is not as fill makes it.
func check(b []byte) error {
	for i := range b {
		if b[i] != byte(1+i%251) {
			return fmt.Errorf("byte %d of %d is %d, %d was written", i, len(b), b[i], 1+i%251)
		}
	}
	return nil
}
