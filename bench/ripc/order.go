package main

import (
	"fmt"
	"time"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc/link"
	"github.com/weft-fabric/weft/verbs"
)

// order is what two processes are to do: the near one asks and is timed, the far one is there for it.
type order struct {
	Far    bool // for the process that is asked
	Lane   soft.Lanes
	Inline bool   // links that are driven by hand, without nodes
	Poll   bool   // never sleep
	Kernel bool   // of the job "get": no ripc, but loopback TCP
	Job    string // of jobs, or "get": net/http; links have only "call"
	Size   int    // bytes of a message
	Count  int    // messages that are timed
	Warm   int    // messages before them
}

// waiting is how a node waits for the next message.
func (o order) waiting() loop.Waiting {
	switch {
	case o.Poll:
		return loop.Polling()
	case o.Job == "get":
		return loop.Waiting{} // as it comes
	}
	return loop.Sleeping()
}

// hello is what two processes tell each other to meet.
type hello struct {
	Listen  []string      // where the node of the far one is
	Address verbs.Address // of a link's end that is driven by hand
	Terms   link.Terms
}

// outcome is what a process has found.
type outcome struct {
	Took time.Duration // for Count messages
	Lost int           // messages
}

// timed does work for the messages that warm up, and then for those that count.
func (o order) timed(work func(n int) error) (outcome, error) {
	if err := work(o.Warm); err != nil {
		return outcome{}, err
	}
	start := time.Now()
	err := work(o.Count)
	return outcome{Took: time.Since(start)}, err
}

// micros is a round trip in microseconds.
func (o order) micros() (float64, error) {
	found, err := run(o)
	return found.Took.Seconds() * 1e6 / float64(o.Count), err
}

// perSecond is how many are done in a second.
func (o order) perSecond() (float64, error) {
	micros, err := o.micros()
	return 1e6 / micros, err
}

// bandwidth is gigabytes a second.
func (o order) bandwidth() (float64, error) {
	micros, err := o.micros()
	return float64(o.Size) / micros / 1e3, err
}

// fill makes the pattern of what is lent. Its period is no power of two, so a page in another's place shows.
func fill(b []byte) {
	for i := range b {
		b[i] = byte(1 + i%251)
	}
}

// check fails at the first byte that is not as fill makes it.
func check(b []byte) error {
	for i := range b {
		if b[i] != byte(1+i%251) {
			return fmt.Errorf("byte %d of %d is %d, %d was lent", i, len(b), b[i], 1+i%251)
		}
	}
	return nil
}
