package sim_test

import (
	"fmt"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Two nodes connect, and one crashes: the other learns of it within the timeout, in no time.
func Example() {
	fabric, err := sim.New(sim.Config{Seed: 7, PeerTimeout: time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, b := end(fabric, "a"), end(fabric, "b")
	_ = a.pair.Connect(1, b.pair.Address())
	_ = b.pair.Connect(2, a.pair.Address())
	fabric.At(clock.Time(time.Minute), func() { _ = fabric.Crash("b") })
	if err := fabric.Run(clock.Time(2 * time.Minute)); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(fabric.Now(), a.pair.State())
	_, err = b.queue.Poll(nil)
	fmt.Println(err)
	// Output:
	// 2m0s Error
	// sim: b: node has crashed: closed
}

// endpoint is a queue pair and where it completes.
type endpoint struct {
	queue driver.CompletionQueue
	pair  driver.QueuePair
}

func end(fabric *sim.Fabric, name string) endpoint {
	device, err := fabric.NewDevice(sim.NodeConfig{Name: name})
	check(err)
	domain, err := device.NewDomain()
	check(err)
	queue, err := device.NewCompletionQueue(64)
	check(err)
	pair, err := domain.NewQueuePair(driver.QueueConfig{Completions: queue, SendDepth: 16, ReceiveDepth: 16})
	check(err)
	return endpoint{queue, pair}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
