package soft_test

import (
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs/driver"
	"github.com/weft-fabric/weft/verbs/verbstest"
)

// A rate changes nothing but when bytes go: these are the tests that see messages stop half-way.
func TestConformanceRate(t *testing.T) {
	for _, lanes := range []soft.Lanes{soft.InProcess, soft.SharedMemory, soft.TCP} {
		t.Run(lanes.String(), func(t *testing.T) {
			c := capabilities()
			c.QueuePairs, c.Traffic, c.Repeat, c.Moments = 100, 32<<20, 3, 3
			verbstest.Run(t, func(verbstest.TB) verbstest.Lab {
				return verbstest.Goroutines(verbstest.GoroutineConfig{
					Open: func() (driver.Device, error) {
						return soft.New(soft.Config{Lanes: lanes, PeerTimeout: peerTimeout, Rate: 100 << 20})
					},
					Kill:         func(d driver.Device) { d.(*soft.Device).Kill() },
					Capabilities: c,
				})
			}, verbstest.Options{Only: []string{"EveryOperationAtEverySize", "PiecesAreGatheredAndScattered", "SendDoesNotWaitForEver",
				"RevokedAtTheQueuePair", "RevokedAtTheMemory", "RefusalFlushesBothEnds", "TargetDiesInAStream", "MessagesWakeASleeper"}})
		})
	}
}
