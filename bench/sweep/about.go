package sweep

import (
	"fmt"

	"github.com/weft-fabric/weft/internal/units"
)

// About says, in sentences, what the network is, and what is the same in all rows.
func (p *Plan) About() (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	add("%s, full duplex; %v from one host to another.", p.what(), p.Fabric.OneWay())
	if racks := p.Fabric.Racks; len(racks) > 1 {
		text := fmt.Sprintf("%d racks", len(racks))
		if p.Fabric.Uplink > 0 {
			text += fmt.Sprintf(", each with %v to the others", units.Rate(p.Fabric.Uplink))
		}
		add("%s.", text)
	}
	if p.Fabric.Message > 0 {
		add("Each message takes its NIC for %v.", p.Fabric.Message)
	}
	for _, s := range p.Fabric.Slow {
		what := fmt.Sprintf("Node %d", s.Node)
		if s.To >= 0 {
			what = fmt.Sprintf("The link between nodes %d and %d", s.Node, s.To)
		}
		add("%s has %s %% of its rate.", what, units.Digits(100*s.Factor))
	}
	return lines
}
