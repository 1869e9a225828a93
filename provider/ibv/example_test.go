package ibv_test

import (
	"fmt"
	"log"

	"github.com/weft-fabric/weft/provider/ibv"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
)

// A program that takes RDMA where there is some, and the software NIC where there is none. Only the opening differs.
func Example() {
	device, err := openBest()
	must(err)
	domain, err := device.NewDomain()
	must(err)
	queue, err := device.NewCompletionQueue(512)
	must(err)
	lent, err := domain.Alloc(4096, verbs.RemoteWrite)
	must(err)
	mine, err := domain.Alloc(4096, 0)
	must(err)
	target, err := domain.NewQueuePair(verbs.QueueConfig{Completions: queue, Access: verbs.RemoteWrite})
	must(err)
	writer, err := domain.NewQueuePair(verbs.QueueConfig{Completions: queue})
	must(err)

	// Between two processes package connect carries the addresses, and what is lent.
	must(target.Connect(1, writer.Address()))
	must(writer.Connect(2, target.Address()))
	nextOf(queue)
	nextOf(queue)

	mine.Store64(0, 42)
	must(writer.Write(3, mine.Span(0, 8), lent.Remote(0, 8), 0))
	done := nextOf(queue)
	fmt.Println(done.Op, done.Status, lent.Load64(0))

	for _, child := range []interface{ Close() error }{writer, target, mine, lent, queue, domain, device} {
		must(child.Close())
	}
	// Output: Write OK 42
}

// openBest opens the best RDMA device or, if none can be used, the software NIC.
func openBest() (*verbs.Device, error) {
	nic, err := ibv.Open(ibv.Config{})
	if err == nil {
		log.Printf("over %s: %s", nic.Name(), nic.Why())
		return verbs.Open(nic)
	}
	log.Printf("without RDMA: %v", err)
	software, err := soft.New(soft.Config{Lanes: soft.AllLanes})
	if err != nil {
		return nil, err
	}
	return verbs.Open(software)
}

// nextOf polls until the next completion is there. Polling also hands over what was staged.
func nextOf(queue *verbs.CompletionQueue) verbs.Completion {
	var got [1]verbs.Completion
	for {
		n, err := queue.Poll(got[:])
		must(err)
		if n == 1 {
			return got[0]
		}
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
