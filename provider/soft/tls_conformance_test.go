package soft_test

import (
	"os"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs/driver"
	"github.com/weft-fabric/weft/verbs/verbstest"
)

// TLS changes nothing but that package tls allocates.
func TestConformanceTLS(t *testing.T) {
	if testing.Short() {
		t.Skip("the same as on plain TCP, encrypted")
	}
	c := capabilities()
	c.Has &^= verbstest.Allocations
	c.QueuePairs, c.Traffic = 200, 256<<20
	config := soft.Config{Lanes: soft.TCP, TLS: soft.OwnTLS(t), PeerTimeout: peerTimeout}
	verbstest.Run(t, func(verbstest.TB) verbstest.Lab {
		return verbstest.Goroutines(verbstest.GoroutineConfig{
			Open:         func() (driver.Device, error) { return soft.New(config) },
			Kill:         func(d driver.Device) { d.(*soft.Device).Kill() },
			Capabilities: c,
		})
	}, verbstest.Options{Only: differentWithTLS()})
}

// differentWithTLS is the tests that see the bytes, the end of a stream or a full socket. If there is time, all are run.
func differentWithTLS() []string {
	if os.Getenv("WEFT_LONG") != "" {
		return nil
	}
	return []string{"EveryOperationAtEverySize", "PiecesAreGatheredAndScattered", "SendDoesNotWaitForEver",
		"RevokedAtTheQueuePair", "RevokedAtTheMemory", "RefusalFlushesBothEnds", "ResetFromEveryState", "CloseInEveryState",
		"TargetDiesInAStream", "PeerDiesWhileIdle", "MessagesWakeASleeper", "MoreThanFourGiB"}
}
