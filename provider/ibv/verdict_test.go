package ibv

import (
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// Only what needs a receive can have waited for one in vain.
func TestVerdictFindsTheSend(t *testing.T) {
	q := &queuePair{verdict: driver.ReceiverNotReady}
	for i, c := range []struct {
		op   driver.Op
		want driver.Status
	}{
		{driver.OpWrite, driver.Flushed},
		{driver.OpRead, driver.Flushed},
		{driver.OpSend, driver.ReceiverNotReady},
		{driver.OpSend, driver.Flushed},
	} {
		if got := q.takeVerdict(c.op); got != c.want {
			t.Errorf("number %d, %v: %v, want %v", i, c.op, got, c.want)
		}
	}
}
