package crew

import (
	"os"
	"sync/atomic"
	"syscall"

	"github.com/weft-fabric/weft/provider/hook"
	"github.com/weft-fabric/weft/verbs/driver"
)

// fuse sends the process a signal at a chosen moment: before its device takes a request, or reports an arrival or that a queue
// pair is connected.
type fuse struct {
	left   atomic.Int64
	signal atomic.Int32
}

// wrap makes a device on which the fuse burns.
func (f *fuse) wrap(inner driver.Device) driver.Device {
	rule := hook.Rule{Match: f.burn, Kill: f.blow}
	arrival, connected := rule, rule
	arrival.Op, connected.Op = driver.OpReceiveImm, driver.OpConnect
	return hook.Fault(inner, hook.Plan{Rules: []hook.Rule{rule, arrival, connected}})
}

// arm has the fuse blow at the so-manieth event from now.
func (f *fuse) arm(after int64, signal syscall.Signal) {
	f.signal.Store(int32(signal))
	f.left.Store(after)
}

func (f *fuse) burn(hook.Event) bool { return f.left.Load() > 0 && f.left.Add(-1) == 0 }

func (f *fuse) blow(hook.Event) {
	_ = syscall.Kill(os.Getpid(), syscall.Signal(f.signal.Load()))
}
