package rdmc_test

import (
	"fmt"
	"log"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/verbs"
)

// node is one member with its device and memory.
type node struct {
	device *verbs.Device
	domain *verbs.Domain
	queue  *verbs.CompletionQueue
	loop   *loop.Loop
	memory *verbs.Memory
	group  *rdmc.Group
}

// Four simulated hosts get the same megabyte. Between real hosts package muster forms groups.
func Example() {
	fabric, err := sim.New(sim.Config{Seed: 1})
	check(err)
	members := []string{"ada", "ben", "cleo", "dan"}
	nodes := make([]*node, len(members))
	done := 0
	for rank := range members {
		nodes[rank] = newNode(fabric, members, rank, &done)
	}
	for rank, n := range nodes {
		for _, peer := range n.group.Peers() { // addresses travel by whatever way there is
			check(n.group.Connect(peer, nodes[peer].group.Addresses(rank)))
		}
	}
	check(fabric.RunUntil(func() bool { return done == len(nodes) }, clock.Time(time.Second)))
	for _, n := range nodes {
		check(n.group.Close())
	}
	check(fabric.RunUntil(func() bool { return done == 0 }, clock.Time(time.Second)))
	for rank, n := range nodes {
		fmt.Printf("%s: %q\n", members[rank], n.memory.Bytes()[:13])
		n.close()
	}
	// Output:
	// ada: "hello, world "
	// ben: "hello, world "
	// cleo: "hello, world "
	// dan: "hello, world "
}

func newNode(fabric *sim.Fabric, members []string, rank int, done *int) *node {
	const size = 1 << 20
	n := &node{}
	nic, err := fabric.NewDevice(sim.NodeConfig{Name: members[rank]})
	check(err)
	n.device, err = verbs.Open(nic)
	check(err)
	n.domain, err = n.device.NewDomain()
	check(err)
	n.memory, err = n.domain.Alloc(size, 0)
	check(err)
	config := rdmc.Config{Name: "greetings", Members: members, Self: rank, BlockSize: 64 << 10}
	room, err := rdmc.CompletionRoom(config)
	check(err)
	n.queue, err = n.device.NewCompletionQueue(room)
	check(err)
	n.loop, err = loop.New(loop.Config{Completions: n.queue})
	check(err)
	config.Incoming = func(rdmc.Message) rdmc.Place { return rdmc.Place{Memory: n.memory} }
	config.Completed = func(rdmc.Delivery) { *done++ }
	config.Failed = func(f *rdmc.Failure) { log.Fatal(f) }
	config.Closed = func() { *done-- }
	config.Ready = func() {
		if rank == 0 {
			for b := n.memory.Bytes(); len(b) > 0; b = b[copy(b, "hello, world "):] {
			}
			_, err := n.group.Send(rdmc.Place{Memory: n.memory}, size)
			check(err)
		}
	}
	n.group, err = rdmc.New(n.loop, n.domain, config)
	check(err)
	return n
}

func (n *node) close() {
	check(n.loop.Close())
	check(n.memory.Close())
	check(n.queue.Close())
	check(n.domain.Close())
	check(n.device.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
