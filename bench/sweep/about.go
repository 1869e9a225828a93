package sweep

import (
	"fmt"

	"github.com/weft-fabric/weft/internal/units"
)

// About says, in sentences, what the network is, and what is the same in all rows.
func (p *Plan) About() (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	add("%s; %s from host to host.", p.what(), units.Seconds(p.Fabric.OneWay().Seconds()))
	if len(p.Sizes) == 1 {
		add("One copy on one link takes %s.", units.Seconds(float64(p.Sizes[0])*8/p.Rate))
	}
	if racks := p.Fabric.Racks; len(racks) > 1 {
		text := fmt.Sprintf("%d racks", len(racks))
		if p.Fabric.Uplink > 0 {
			text += fmt.Sprintf(", each with %v to the others", units.Rate(p.Fabric.Uplink))
		}
		add("%s.", text)
	}
	if p.Fabric.Message > 0 {
		add("Each message takes its NIC for %s.", units.Seconds(p.Fabric.Message.Seconds()))
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

// Praise says which row is the best of its group.
func (p *Plan) Praise(r *Row) string {
	text := "best"
	if len(p.Nodes) > 1 {
		text += fmt.Sprintf(" for %d nodes", r.Nodes)
	}
	if len(p.Sizes) > 1 {
		text += fmt.Sprintf(", %v", units.Size(r.Size))
	}
	return fmt.Sprintf("%s: %s, blocks of %v: %s, %s × the bound", text, r.name(), units.Size(r.Block), units.Seconds(r.Seconds), times(r.OverBound()))
}
