package cast

import (
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// crossing counts blocks that land in another rack than they come from.
type crossing struct {
	rackOf []int // nil: there is but one
	count  int
}

// begin begins to count for one message. Beside blocks only headers alone have bytes, and who gets one from another rack is
// known: they are counted before.
func (c *crossing) begin(job *Job) {
	c.count = 0
	shape := job.schedule()
	for rank := range c.rackOf {
		part, err := schedule.New(shape, rank)
		if err != nil || !part.Announced() {
			return // the group has taken the shape: there is no error
		}
		if herald, told := part.Herald(); told && c.rackOf[herald] != c.rackOf[rank] {
			c.count--
		}
	}
}

// observe hears of everything that happens. Words have no bytes.
func (c *crossing) observe(e sim.Event) {
	if e.Kind == sim.Landed && e.Op == verbs.OpSendImm && e.Bytes > 0 && c.rackOf[e.Node] != c.rackOf[e.Peer] {
		c.count++
	}
}
