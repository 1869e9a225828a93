package member

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// slowCheck is an owner who does nothing, and takes time to check a block.
type slowCheck struct {
	idle
	entered, goOn chan struct{}
}

func (s slowCheck) Check(manifest.Layout, int, []byte) error {
	close(s.entered)
	<-s.goOn
	return nil
}

// newTestCrew is a crew that checks a block, of which there are many more and none is kept yet.
func newTestCrew(t *testing.T) (*crew, slowCheck) {
	p := newPush(rand.New(rand.NewPCG(1, 2)), 1000, 100_000)
	e := newEnd(t, newDisk(p, false), soft.InProcess, 1<<20)
	s := slowCheck{entered: make(chan struct{}), goOn: make(chan struct{})}
	c := newCrew(&Group{Blocks: s, Streams: p.streams}, newPool(e.member.memory, p.streams[0], false), func() {})
	c.kept, c.count = []schedule.Set{schedule.NewSet(100)}, []int{0}
	c.start()
	c.put(job{task: taskCheck, number: 3, length: int32(p.streams[0].Wire())})
	<-s.entered
	return c, s
}

// A block whose check has not ended when the crew is drained is kept, although no more come that it could wait for.
func TestDrainKeepsWhatIsChecked(t *testing.T) {
	c, s := newTestCrew(t)
	drained := drain(context.Background(), c)
	close(s.goOn)
	awaitDrained(t, c, drained)
	if c.stop(); !c.has(0, 3) {
		t.Error("the block is lost")
	}
}

// Whoever is not patient waits for that check, and no longer.
func TestDrainInHaste(t *testing.T) {
	c, s := newTestCrew(t)
	drained := drain(cancelled(), c)
	time.Sleep(10 * time.Millisecond) // so that what waits is dropped before the check has ended, most of the time
	close(s.goOn)
	awaitDrained(t, c, drained)
	c.stop()
}

// drain drains a crew, and returns when that has begun.
func drain(ctx context.Context, c *crew) (drained chan struct{}) {
	drained = make(chan struct{})
	go func() {
		c.drain(ctx)
		close(drained)
	}()
	for isDraining := false; !isDraining; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		isDraining = c.drains
		c.mu.Unlock()
	}
	return drained
}

// awaitDrained fails if that hangs, and ends the hanging.
func awaitDrained(t *testing.T, c *crew, drained chan struct{}) {
	t.Helper()
	select {
	case <-drained:
	case <-time.After(5 * time.Second):
		t.Error("it hangs")
		c.drop()
		<-drained
	}
}
