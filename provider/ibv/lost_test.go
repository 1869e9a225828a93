package ibv_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/verbs/driver"
)

// busy is a device with something of every kind under way: an idle connection with receives, one whose requests wait for receives, and one that
// is not connected.
type busy struct {
	*stage
	idle, waiting, fresh driver.QueuePair
}

const (
	idleTags = 1000 * (1 + iota)
	waitingTags
	freshTags
)

func openBusy(t *testing.T, device string) busy {
	t.Helper()
	s := openStageOn(t, device)
	b := busy{stage: s}
	b.idle, _ = s.wire()
	s.receive(b.idle, idleTags, 10)
	b.waiting, _ = s.wire()
	s.send(b.waiting, waitingTags, depth)
	b.fresh = s.pair()
	s.receive(b.fresh, freshTags, 10)
	return b
}

// endsAll checks that everything has ended with an error, in order, and that nothing can be begun.
func (b busy) endsAll() {
	b.t.Helper()
	got := make(map[uint32][]driver.Completion)
	for _, c := range b.take(10 + depth + 10) {
		if c.Status == driver.OK {
			b.t.Errorf("%+v", c)
		}
		got[c.Queue] = append(got[c.Queue], c)
	}
	b.inOrder(got[b.idle.Number()], idleTags, 10, driver.Flushed)
	b.inOrder(got[b.waiting.Number()], waitingTags, depth, driver.RetryExceeded)
	b.inOrder(got[b.fresh.Number()], freshTags, 10, driver.Flushed)
	for _, q := range b.pairs {
		if q.State() != driver.Error {
			b.t.Errorf("queue pair %d is %v", q.Number(), q.State())
		}
	}
	b.beginsNothing()
}

// inOrder checks the tags, and the statuses: the first, then Flushed.
func (b busy) inOrder(got []driver.Completion, first driver.Tag, n int, status driver.Status) {
	b.t.Helper()
	if len(got) != n {
		b.t.Errorf("%d completions, want %d: %+v", len(got), n, got)
	}
	for i, c := range got {
		if c.Tag != first+driver.Tag(i) || c.Status != status {
			b.t.Errorf("%+v, want tag %d, %v", c, first+driver.Tag(i), status)
		}
		status = driver.Flushed
	}
}

func (b busy) beginsNothing() {
	b.t.Helper()
	_, domain := b.device.NewDomain()
	_, queue := b.device.NewCompletionQueue(1)
	_, pair := b.domain.NewQueuePair(driver.QueueConfig{Completions: b.queue, SendDepth: 1, ReceiveDepth: 1, MaxSpans: 1})
	_, memory := b.domain.Register(b.memory.Region().Bytes, 0)
	access := b.memory.(driver.MemoryAccess).SetAccess(b.queue, 1, 0)
	for i, err := range []error{domain, queue, pair, memory, access, b.fresh.Connect(1, b.idle.Address()), b.idle.Reset(1), b.idle.SetAccess(1, 0)} {
		if !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "is gone") {
			b.t.Errorf("call %d on a lost device: %v", i, err)
		}
	}
	b.write(b.idle, 1, 1)
	if c := b.take(1)[0]; c.Status != driver.Flushed {
		b.t.Errorf("a request on a lost device ended with %+v", c)
	}
}

// A device that says that it has failed ends everything, and can be closed.
func TestFatalEventsEndEverything(t *testing.T) {
	needDevice(t)
	for _, kind := range []native.EventType{native.DeviceFatal, native.QueueError} {
		b := openBusy(t, os.Getenv(roceVariable))
		b.device.Happen(kind, 0)
		b.device.Happen(kind, 0)
		b.endsAll()
		if b.log.count("RDMA device is gone") != 1 {
			t.Errorf("the log says:\n%s", b.log)
		}
		b.close()
	}
}

// A device that is removed while it is used ends everything, and whoever removes it waits only until it is closed.
func TestDeviceLost(t *testing.T) {
	for _, how := range []string{"rdma link delete " + spareDevice, "ip link delete " + spareLink} {
		t.Run(strings.Fields(how)[0], func(t *testing.T) {
			makeSpare(t)
			b := openBusy(t, spareDevice)
			removal := exec.Command("sh", "-c", how)
			if err := removal.Start(); err != nil {
				t.Fatal(err)
			}
			b.endsAll()
			if b.log.count("RDMA device is gone") != 1 || b.log.count("it was removed") != 1 {
				t.Errorf("the log says:\n%s", b.log)
			}
			b.close()
			if err := removal.Wait(); err != nil {
				t.Errorf("%s: %v", how, err)
			}
		})
	}
}
