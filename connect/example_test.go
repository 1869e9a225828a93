package connect_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
)

// offers of a program that has the software NIC's lane between goroutines.
var offers = []connect.Offer{{Provider: "inproc", Reach: connect.SameProcess}}

// Two ends meet on a socket, agree on a provider, connect a queue pair, and one writes a word into the other's memory.
// Here both are in one process; nothing would change in two, but for the provider that they agree on.
func Example_meet() {
	ctx := context.Background()
	listener, err := connect.Listen(ctx, "127.0.0.1:0", connect.Options{Name: "owner", Offers: offers})
	check(err)
	defer listener.Close()
	written := make(chan struct{})
	go func() {
		defer close(written)
		writeWord(ctx, listener.Address())
	}()

	session, err := listener.Accept(ctx)
	check(err)
	defer session.Close()
	fmt.Println(session.Peer().Name, "uses", session.Agreed().Provider)
	end, closeEnd := openEnd()
	defer closeEnd()
	_, err = end.Join(ctx, session, connect.Card{Spans: []verbs.RemoteSpan{end.Memory.Remote(0, 8)}})
	check(err)
	_, err = session.Swap(ctx, connect.Card{Step: "written"}) // a barrier: from here on the word is there
	check(err)
	fmt.Println("the word is", end.Memory.Load64(0))
	<-written
	// Output:
	// writer uses inproc
	// the word is 42
}

func writeWord(ctx context.Context, address string) {
	session, err := connect.Dial(ctx, address, connect.Options{Name: "writer", Offers: offers})
	check(err)
	defer session.Close()
	end, closeEnd := openEnd()
	defer closeEnd()
	owner, err := end.Join(ctx, session, connect.Card{})
	check(err)
	end.Memory.Store64(0, 42)
	check(end.Verbs.Write(ctx, end.Pairs[0], end.Memory.Span(0, 8), owner.Spans[0]))
	_, err = session.Swap(ctx, connect.Card{Step: "written"})
	check(err)
}

func openEnd() (end *connect.End, closeEnd func()) {
	nic, err := soft.New(soft.Config{})
	check(err)
	device, err := verbs.Open(nic)
	check(err)
	end, err = connect.OpenEnd(device, connect.EndConfig{
		Memory: 4096, Access: verbs.RemoteWrite, Queue: verbs.QueueConfig{Access: verbs.RemoteWrite}})
	check(err)
	return end, func() {
		check(end.Close())
		check(device.Close())
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
