package soft

import (
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
)

// A party that was just met has not been silent, however long the device has listened to nobody.
func TestNewPartyIsNotSilent(t *testing.T) {
	var p parties
	p.join(1, &wire{})
	p.listen(clock.Time(time.Hour), time.Second)
	if silent := p.list[1].silent; silent != 0 {
		t.Errorf("it counts as silent for %v", silent)
	}
}
