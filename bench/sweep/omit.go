package sweep

import (
	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Omitted is a case that is left out because it would take minutes, and its formula tells as much.
type Omitted struct {
	Nodes     int            `json:"nodes"`
	Size      uint64         `json:"size"`
	Algorithm cast.Algorithm `json:"algorithm"`
	Block     int            `json:"block"`
	Transfers int            `json:"transfers"`         // of a block
	Seconds   float64        `json:"predicted_seconds"` // by the formula
}

// manyTransfers take minutes to simulate.
const manyTransfers = 4 << 20

// omit reports whether a case that nobody has named is better computed: a root that sends the message to one after the other
// takes as long as so many copies (RDMC, section 4.3).
func (p *Plan) omit(c Case) (Omitted, bool) {
	if !p.All || c.Auto || c.Algorithm != schedule.Sequential || c.Transfers() < manyTransfers {
		return Omitted{}, false
	}
	return Omitted{c.Nodes, c.Size, cast.Algorithm{Algorithm: c.Algorithm}, c.Block, c.Transfers(),
		float64(c.Nodes-1) * p.copySeconds(c)}, true
}
