package verbs_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
	"github.com/weft-fabric/weft/verbs/driver"
)

// A device that dies with a change of memory access under way keeps nothing from being closed.
func TestDeathLeavesNothingOpen(t *testing.T) {
	nic, err := soft.New(soft.Config{})
	check(err)
	fabric, err := sim.New(sim.Config{})
	check(err)
	node, err := fabric.NewDevice(sim.NodeConfig{Name: "n"})
	check(err)
	for name, c := range map[string]struct {
		provider driver.Device
		kill     func()
	}{
		"soft": {nic, nic.Kill},
		"sim":  {node, func() { check(fabric.Crash("n")) }},
	} {
		device, err := verbs.Open(c.provider)
		check(err)
		domain, err := device.NewDomain()
		check(err)
		queue, err := device.NewCompletionQueue(8)
		check(err)
		memory, err := domain.Alloc(64, verbs.RemoteAll)
		check(err)
		check(memory.SetAccess(queue, 1, 0))
		c.kill()
		if _, err := queue.Poll(make([]verbs.Completion, 1)); !errors.Is(err, verbs.ErrClosed) {
			t.Errorf("%s: poll after death: %v", name, err)
		}
		for _, part := range []interface{ Close() error }{memory, queue, domain, device} {
			if err := part.Close(); errors.Is(err, verbs.ErrInUse) {
				t.Errorf("%s: close %v after death: %v", name, part, err)
			}
		}
	}
}

// A parent that closes as soon as it may finds that its children are really closed.
func TestParentsCloseAfterTheirChildren(t *testing.T) {
	e := open(0)
	defer e.close()
	for range 200 {
		domain, err := e.device.NewDomain()
		check(err)
		memory, err := domain.Alloc(64, 0)
		check(err)
		var closing sync.WaitGroup
		closing.Go(func() { check(memory.Close()) })
		for err = domain.Close(); errors.Is(err, verbs.ErrInUse); err = domain.Close() {
			runtime.Gosched()
		}
		closing.Wait()
		if err != nil {
			t.Fatal(err)
		}
	}
}
