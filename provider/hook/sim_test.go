package hook

import (
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/sim"
)

// faultySim is a rig in the simulator, where everything takes time.
func faultySim(t *testing.T, plan Plan) *rig {
	fabric := must(sim.New(sim.Config{}))(t)
	device := must(fabric.NewDevice(sim.NodeConfig{Name: "a"}))(t)
	r := newRigOn(t, Fault(device, plan), func() {
		if err := fabric.Run(fabric.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
	})
	t.Cleanup(r.close)
	return r
}

func TestLiesOnSim(t *testing.T) { playAll(t, faultySim) }

func TestFailOnSim(t *testing.T) { failAll(t, faultySim) }
