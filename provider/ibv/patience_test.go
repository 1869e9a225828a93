package ibv

import (
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/ibv/devices"
)

// What is promised is at most what was asked for, where the device and the kernel can, and at least half of what they could.
func TestPatience(t *testing.T) {
	for _, driver := range []string{"rxe", "mlx5_core"} {
		for asked := time.Millisecond; asked < time.Hour; asked = asked * 3 / 2 {
			d := Device{choice: devices.Choice{Device: devices.Device{Driver: driver}}}
			d.timeout = timeoutFor(asked, d.slack())
			promised := d.peerTimeout()
			if promised > max(asked, 2*shortestSilence) || 2*promised < asked && d.timeout < 24 {
				t.Errorf("%s: asked for %v, promises %v", driver, asked, promised)
			}
			if promised < patience(d.timeout) {
				t.Errorf("%s: promises %v, but tries for %v", driver, promised, patience(d.timeout))
			}
		}
	}
}
