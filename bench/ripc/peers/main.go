// Command peers measures a round trip of other ways to ask a process something, over TCP on loopback, and prints how many
// microseconds it took. It is a module of its own: what it needs is no part of Weft.
//
//	peers -way gRPC -size 8 -count 10000
//
// Both sides are processes that sleep while they wait, each on a core of its own.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/weft-fabric/weft/bench/pinned"
)

// way is a way to ask and to answer.
type way struct {
	// answer answers with what was asked, and says where. It goes on until stop is called.
	answer func() (address string, stop func(), err error)
	// dial returns what asks once, and waits for the answer.
	dial func(address string) (ask func(request []byte) ([]byte, error), hangUp func(), err error)
}

var ways = map[string]way{
	"gRPC":   {answerByGRPC, dialGRPC},
	"NATS":   {answerByNATS, dialNATS},
	"ZeroMQ": {answerByZeroMQ, dialZeroMQ},
}

// order is what both sides are told.
type order struct {
	Way     string
	Address string
	Size    int
	Count   int
}

func main() {
	pinned.Main(map[string]pinned.Role{"asks": playAsks, "answers": playAnswers})
	var o order
	flag.StringVar(&o.Way, "way", "gRPC", "gRPC, NATS or ZeroMQ")
	flag.IntVar(&o.Size, "size", 8, "bytes of a message")
	flag.IntVar(&o.Count, "count", 10_000, "round trips that are timed")
	flag.Parse()
	took, err := measure(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench peers:", err)
		os.Exit(1)
	}
	fmt.Println(took.Seconds() * 1e6 / float64(o.Count))
}

func measure(o order) (took time.Duration, err error) {
	if ways[o.Way].dial == nil || o.Size < 1 || o.Count < 1 {
		return 0, fmt.Errorf("-way %q -size %d -count %d: it must be gRPC, NATS or ZeroMQ, and positive", o.Way, o.Size, o.Count)
	}
	err = pinned.Two("asks", "answers", func(near, far *pinned.Process) error {
		if err := errors.Join(far.Send(o), far.Receive(&o.Address)); err != nil {
			return err
		}
		return errors.Join(near.Send(o), near.Receive(&took), far.Send("go"))
	})
	return took, err
}

func playAnswers(parent *pinned.Line) error {
	return pinned.Unlocked(func() error {
		var o order
		if err := parent.Receive(&o); err != nil {
			return err
		}
		address, stop, err := ways[o.Way].answer()
		if err != nil {
			return err
		}
		defer stop()
		var word string
		return errors.Join(parent.Send(address), parent.Receive(&word))
	})
}

func playAsks(parent *pinned.Line) error {
	return pinned.Unlocked(func() error {
		var o order
		if err := parent.Receive(&o); err != nil {
			return err
		}
		ask, hangUp, err := ways[o.Way].dial(o.Address)
		if err != nil {
			return err
		}
		defer hangUp()
		request := make([]byte, o.Size)
		if err := repeat(o.Count/10+1, ask, request); err != nil {
			return err
		}
		start := time.Now()
		if err := repeat(o.Count, ask, request); err != nil {
			return err
		}
		return parent.Send(time.Since(start))
	})
}

func repeat(n int, ask func([]byte) ([]byte, error), request []byte) error {
	for range n {
		answer, err := ask(request)
		if err != nil {
			return err
		}
		if len(answer) != len(request) {
			return fmt.Errorf("the answer has %d bytes, the request %d", len(answer), len(request))
		}
	}
	return nil
}
