package hook

import (
	"fmt"

	"github.com/weft-fabric/weft/verbs/driver"
)

// A write that fails by plan, counted as a program sees it.
func Example() {
	inner := newFake() // any provider's device
	device, counter := Count(Fault(inner, Plan{Rules: []Rule{
		{Op: driver.OpWrite, Nth: 1, Fail: driver.RetryExceeded},
	}}))

	domain, _ := device.NewDomain()
	queue, _ := device.NewCompletionQueue(16)
	pair, _ := domain.NewQueuePair(driver.QueueConfig{Completions: queue, SendDepth: 8})
	_ = pair.Connect(1, pair.Address())
	_, _ = pair.Post([]driver.Request{{Tag: 2, Op: driver.OpWrite}, {Tag: 3, Op: driver.OpSend}})

	ends := make([]driver.Completion, 16)
	n, _ := queue.Poll(ends)
	for _, c := range ends[:n] {
		fmt.Println(c.Tag, c.Op, c.Status)
	}
	counts := counter.Snapshot()
	fmt.Println(counts.Requests, "requests,", counts.Doorbells, "doorbell")
	// Output:
	// 1 Connect OK
	// 2 Write RetryExceeded
	// 3 Send Flushed
	// 2 requests, 1 doorbell
}
