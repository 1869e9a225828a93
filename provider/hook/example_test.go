package hook_test

import (
	"fmt"
	"log"

	"github.com/weft-fabric/weft/provider/hook"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
)

// A write that fails by plan, counted as a program sees it. The wrapped device is used like any other.
func Example() {
	nic, err := soft.New(soft.Config{})
	check(err)
	wrapped, counter := hook.Count(hook.Fault(nic, hook.Plan{Rules: []hook.Rule{
		{Op: verbs.OpWrite, Nth: 1, Fail: verbs.RetryExceeded},
	}}))
	device, err := verbs.Open(wrapped)
	check(err)
	defer device.Close()
	domain, err := device.NewDomain()
	check(err)
	defer domain.Close()
	queue, err := device.NewCompletionQueue(512)
	check(err)
	defer queue.Close()
	a, err := domain.NewQueuePair(verbs.QueueConfig{Completions: queue})
	check(err)
	defer a.Close()
	b, err := domain.NewQueuePair(verbs.QueueConfig{Completions: queue, Access: verbs.RemoteWrite})
	check(err)
	defer b.Close()

	check(a.Connect(1, b.Address()))
	check(b.Connect(1, a.Address()))
	poll(queue, 2)
	check(a.Write(2, verbs.Span{}, verbs.RemoteSpan{}, 0))
	check(a.Send(3, verbs.Span{}, 0))
	for _, c := range poll(queue, 2) {
		fmt.Println(c.Tag, c.Op, c.Status)
	}
	counts := counter.Snapshot()
	fmt.Println(counts.Requests, "requests,", counts.Doorbells, "doorbell")
	// Output:
	// 2 Write RetryExceeded
	// 3 Send Flushed
	// 2 requests, 1 doorbell
}

// poll waits for n completions.
func poll(queue *verbs.CompletionQueue, n int) []verbs.Completion {
	var got []verbs.Completion
	for len(got) < n {
		some := make([]verbs.Completion, n)
		k, err := queue.Poll(some)
		check(err)
		got = append(got, some[:k]...)
	}
	return got
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
