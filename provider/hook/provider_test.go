package hook

import (
	"slices"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs/driver"
)

// onSoft is a rig on the software NIC: what holds there holds for the conformance suite.
func onSoft(t *testing.T, hook func(driver.Device) driver.Device) *rig {
	t.Helper()
	device := must(soft.New(soft.Config{}))(t)
	r := newRigOn(t, hook(device), nil)
	t.Cleanup(r.close)
	return r
}

func faultySoft(t *testing.T, plan Plan) *rig {
	return onSoft(t, func(d driver.Device) driver.Device { return Fault(d, plan) })
}

func TestLiesOnSoft(t *testing.T) { playAll(t, faultySoft) }

func TestFailOnSoft(t *testing.T) { failAll(t, faultySoft) }

func TestNoAllocationsOnSoft(t *testing.T) {
	for name, hook := range hooks {
		trip := roundTrip(onSoft(t, hook))
		trip() // warm up
		if n := testing.AllocsPerRun(100, trip); n != 0 {
			t.Errorf("%s: %v allocations for a round trip", name, n)
		}
	}
}

// insideFake are the lies whose scenes look inside the fake.
var insideFake = []Lie{KeepMemory, LateWait, RestlessWait, LostWake}

func playAll(t *testing.T, open func(*testing.T, Plan) *rig) {
	for _, c := range told {
		if slices.Contains(insideFake, c.lie) {
			continue
		}
		t.Run(c.lie.String(), func(t *testing.T) {
			if isAboutWindows(c.lie) && !is[driver.Windows](open(t, Plan{}).a) {
				t.Skip("the device has no windows")
			}
			if got := c.scene(open(t, Plan{})); got != c.honest {
				t.Errorf("an honest device: %q, want %q", got, c.honest)
			}
			if got := c.scene(open(t, Plan{[]Rule{{Lie: c.lie}}})); got != c.lied {
				t.Errorf("one that lies: %q, want %q", got, c.lied)
			}
		})
	}
}

// TestRetiredBytesStay: what was allocated can be looked at after it was retired, until it is freed, also if its key was changed before. (It
// was closed, and a process that looked died.)
func TestRetiredBytesStay(t *testing.T) {
	for name, plan := range map[string]Plan{"no fault": {}, "a new key": changeKey} {
		t.Run(name, func(t *testing.T) {
			r := faultySoft(t, plan)
			m := must(r.domain.(driver.Allocator).Alloc(4096, 0))(t)
			if err := m.(driver.MemoryAccess).SetAccess(r.queue, 5, driver.RemoteRead); err != nil {
				t.Fatal(err)
			}
			r.expect(end{5, driver.OpMemoryAccess, 0})
			bytes := m.Region().Bytes
			bytes[4095] = 'x'
			retirer, can := m.(driver.Retirer)
			if !can {
				t.Fatal("it cannot be retired")
			}
			free := must(retirer.Retire())(t)
			if bytes[4095] != 'x' {
				t.Error("the bytes have changed")
			}
			if err := free(); err != nil {
				t.Error(err)
			}
		})
	}
}
