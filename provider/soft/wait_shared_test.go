package soft

import (
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Who sleeps while others use its queue learns of what is due earlier than it knows: here a change of access waits for
// somebody inside a gate, who will not ring when he leaves.
func TestASharedSleeperIsWokenForWhatIsDueEarlier(t *testing.T) {
	h := newHost(t)
	inside := h.pair().life.Load()
	seen := inside.gate.enter(inside.gate.look())
	var lock sync.Mutex
	woken := make(chan error, 1)
	go func() {
		lock.Lock()
		defer lock.Unlock()
		woken <- h.cq.WaitShared(&lock, clock.Never, 0)
	}()
	for h.cq.sleep.armed.Load() == 0 {
		time.Sleep(time.Microsecond)
	}
	lock.Lock()
	h.cq.mu.Lock()
	h.cq.fence(fence{tag: 1, visitors: []visitor{{inside, seen}}})
	h.cq.mu.Unlock()
	var into [1]driver.Completion
	n, err := h.cq.Poll(into[:])
	lock.Unlock()
	ok(t, err)
	if n != 0 {
		t.Fatalf("%+v was reported while somebody is inside", into[0])
	}
	select {
	case err := <-woken:
		ok(t, err)
	case <-time.After(tolerance):
		t.Error("nobody woke the sleeper")
		h.cq.Wake()
		<-woken
	}
	inside.gate.leave(seen)
	if c := h.next(); c.Tag != 1 {
		t.Errorf("%+v came", c)
	}
}
