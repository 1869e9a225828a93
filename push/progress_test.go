package push

import (
	"testing"

	"github.com/weft-fabric/weft/push/control"
)

// Before anything is sent, progress is what was hashed here, and then what all hosts have looked at.
func TestProgressBeforeSending(t *testing.T) {
	views := []view{{status: control.Status{Examined: 2, ToExamine: 5}}, {status: control.Status{Examined: 1, ToExamine: 7}}}
	for stage, want := range map[string][2]uint64{"scan": {}, "connect": {}, "hash": {3, 9}, "manifest": {3, 12}, "examine": {3, 12}} {
		p := &pusher{Config: Config{Events: func(Event) {}}}
		p.stage.Store("connect")
		if stage == "hash" {
			p.hashed(3, 9)
		}
		p.stage.Store(stage)
		if g := (&clock{p: p}).progress(views); g.Phase != stage || g.Done != want[0] || g.Total != want[1] {
			t.Errorf("%s: %+v, want %d of %d", stage, g, want[0], want[1])
		}
	}
}
