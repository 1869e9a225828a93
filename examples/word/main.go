// Word is a program of two halves that meet: one lends a word of its memory, the other writes to it.
//
//	go run ./examples/word lend             in one window
//	go run ./examples/word write 42         in another, on the same host or, with addresses that fit, on another
//
// On one host the word goes through shared memory, and the lender does nothing at all for it; between hosts it goes over
// TCP. The program is the same.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
)

const address = "127.0.0.1:7470"

func main() {
	log.SetFlags(0)
	if err := run(context.Background(), os.Args[1:]); err != nil {
		log.Fatal("word: ", err)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "lend":
		return lend(ctx)
	case len(args) == 2 && args[0] == "write":
		word, err := strconv.ParseUint(args[1], 10, 64)
		if err != nil {
			return err
		}
		return write(ctx, word)
	}
	return errors.New("usage: word lend, or word write NUMBER")
}

// lend waits for a writer, lends it a word, and prints what is there when the writer says that it is done.
func lend(ctx context.Context) (err error) {
	listener, err := connect.Listen(ctx, address, options("lender"))
	if err != nil {
		return err
	}
	defer closing(&err, listener)
	fmt.Println("waiting at", listener.Address())
	session, err := listener.Accept(ctx)
	if err != nil {
		return err
	}
	defer closing(&err, session)
	end, err := open()
	if err != nil {
		return err
	}
	defer closing(&err, end)
	if _, err := end.Join(ctx, session, connect.Card{Spans: []verbs.RemoteSpan{end.Memory.Remote(0, 8)}}); err != nil {
		return err
	}
	if _, err := session.Swap(ctx, connect.Card{Step: "written"}); err != nil { // a barrier
		return err
	}
	fmt.Printf("%s wrote %d\n", session.Peer().Name, end.Memory.Load64(0))
	return nil
}

// write finds the lender, and writes to the word that it lends.
func write(ctx context.Context, word uint64) (err error) {
	session, err := connect.Dial(ctx, address, options("writer"))
	if err != nil {
		return err
	}
	defer closing(&err, session)
	end, err := open()
	if err != nil {
		return err
	}
	defer closing(&err, end)
	lender, err := end.Join(ctx, session, connect.Card{})
	if err != nil {
		return err
	}
	end.Memory.Store64(0, word)
	if err := end.Verbs.Write(ctx, end.Pairs[0], end.Memory.Span(0, 8), lender.Spans[0]); err != nil {
		return err
	}
	fmt.Printf("%d is in the memory of process %d\n", word, session.Peer().Process)
	_, err = session.Swap(ctx, connect.Card{Step: "written"})
	return err
}

func closing(err *error, what io.Closer) { *err = errors.Join(*err, what.Close()) }

func options(name string) connect.Options {
	return connect.Options{Name: name, Offers: []connect.Offer{{Provider: "soft"}}}
}

// end is a device with everything that one end of a connection needs.
type end struct {
	*connect.End
	device *verbs.Device
}

func open() (*end, error) {
	nic, err := soft.New(soft.Config{Lanes: soft.AllLanes})
	if err != nil {
		return nil, err
	}
	device, err := verbs.Open(nic)
	if err != nil {
		return nil, err
	}
	e, err := connect.OpenEnd(device, connect.EndConfig{Memory: 4096, Access: verbs.RemoteWrite,
		Queue: verbs.QueueConfig{Access: verbs.RemoteWrite}})
	return &end{e, device}, err
}

func (e *end) Close() error { return errors.Join(e.End.Close(), e.device.Close()) }
