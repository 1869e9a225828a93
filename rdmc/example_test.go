package rdmc_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/verbs"
)

// Four members get the same megabyte. Here they share a device and a loop; in processes of their own, each would have
// both, and package muster would form the group.
func Example() {
	const size = 1 << 20
	members := []string{"ada", "ben", "cleo", "dan"}
	domain, l, done := open()
	memory, err := domain.Alloc(len(members)*size, 0)
	check(err)
	copy(memory.Bytes(), "hello, world")

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	groups := make([]*rdmc.Group, len(members))
	complete, closed := 0, 0
	for rank, name := range members {
		place := rdmc.Place{Memory: memory, Offset: uint64(rank * size)}
		groups[rank], err = rdmc.New(l, domain, rdmc.Config{
			Name: "greetings", Members: members, Self: rank, BlockSize: 64 << 10,
			Ready: func() {
				if rank == 0 {
					_, err := groups[0].Send(place, size)
					check(err)
				}
			},
			Incoming: func(rdmc.Message) rdmc.Place { return place },
			Completed: func(d rdmc.Delivery) {
				fmt.Printf("%s has %d bytes: %s\n", name, d.Size, d.Memory.Bytes()[d.Offset:][:12])
				if complete++; complete == len(members) {
					for _, g := range groups {
						check(g.Close())
					}
				}
			},
			Failed: func(f *rdmc.Failure) { log.Fatal(f) },
			Closed: func() {
				if closed++; closed == len(members) {
					stop()
				}
			},
		})
		check(err)
	}
	for rank, g := range groups {
		for _, peer := range g.Peers() { // addresses travel by whatever way there is
			check(g.Connect(peer, groups[peer].Addresses(rank)))
		}
	}
	check(l.Run(ctx))
	check(memory.Close())
	done()
	// Unordered output:
	// ada has 1048576 bytes: hello, world
	// ben has 1048576 bytes: hello, world
	// cleo has 1048576 bytes: hello, world
	// dan has 1048576 bytes: hello, world
}

// open opens a software NIC within this process, and a loop on it.
func open() (domain *verbs.Domain, l *loop.Loop, done func()) {
	nic, err := soft.New(soft.Config{Lanes: soft.InProcess})
	check(err)
	device, err := verbs.Open(nic)
	check(err)
	domain, err = device.NewDomain()
	check(err)
	queue, err := device.NewCompletionQueue(1000) // rdmc.CompletionRoom says how much a group needs
	check(err)
	l, err = loop.New(loop.Config{Completions: queue})
	check(err)
	return domain, l, func() {
		check(l.Close())
		check(queue.Close())
		check(domain.Close())
		check(device.Close())
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
