package groups

import (
	"fmt"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/verbs"
)

// travel watches how long messages are on their way. One that meets no receive waits in the receiver's NIC, on real
// ones with timeouts and repetitions: credits are there so that none ever does (section 4.2, ready_for_block).
type travel struct {
	limit time.Duration
	left  map[[2]uint32][]clock.Time // when messages of a queue pair left that have not landed
	late  string                     // the first that took too long
}

// newTravel allows for what the network takes at most: between racks, with all the jitter; and for a slow link.
func newTravel(jitter float64) *travel {
	const network, landing = 900 * time.Nanosecond, 2 * time.Microsecond
	return &travel{left: map[[2]uint32][]clock.Time{},
		limit: time.Duration(float64(network)*(1+max(jitter, 0.05))) + landing}
}

func (w *travel) event(e sim.Event) {
	if e.Op != verbs.OpSendImm {
		return
	}
	pair := [2]uint32{e.Node, e.Queue}
	switch e.Kind {
	case sim.Sent:
		w.left[pair] = append(w.left[pair], e.Time)
	case sim.Landed:
		took := e.Time.Sub(w.left[pair][0])
		w.left[pair] = w.left[pair][1:]
		if took > w.limit && w.late == "" {
			w.late = fmt.Sprintf("at %v a message of %d bytes from node %d lands %v after it left, %v is the limit: it met no receive",
				e.Time, e.Bytes, e.Node, took, w.limit)
		}
	}
}
