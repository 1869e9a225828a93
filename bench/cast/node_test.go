package cast

import (
	"context"
	"testing"
	"time"

	"github.com/weft-fabric/weft/rdmc"
)

// openNode opens a receiver's node on a device of its own, with a loop that runs and a group that nobody has joined.
func openNode(t *testing.T) *node {
	t.Helper()
	job := someJob(2)
	device, err := tcpEnd().Open(job, "tcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { device.Close() })
	n, err := newNode(job, 1, device, false, hostClock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.close(); err != nil {
			t.Error(err)
		}
	})
	group, err := rdmc.New(n.loop, n.domain, n.configs()[multicast])
	if err != nil {
		t.Fatal(err)
	}
	n.made(group)
	if err := n.loop.Start(); err != nil {
		t.Fatal(err)
	}
	return n
}

// A root that sends more than it said cannot bring a member to a halt: its loop goes on, and can be closed.
func TestMoreMessagesThanSaid(t *testing.T) {
	n := openNode(t)
	done := make(chan struct{})
	if err := n.loop.Do(func() {
		for number := range uint64(3) {
			n.complete(n.groups[multicast], rdmc.Delivery{Message: rdmc.Message{Number: number}})
		}
		close(done)
	}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the loop hangs")
	}
	if c := <-n.completed; c.delivery.Number != 0 {
		t.Errorf("message %d came first", c.delivery.Number)
	}
}

// A submission that is given up while the loop is at it: the race detector watches.
func TestSubmissionGivenUp(t *testing.T) {
	m := &member{node: openNode(t)}
	for range 1000 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if _, err := m.submit(ctx, multicast); err == nil {
			t.Fatal("a receiver has sent")
		}
	}
}
