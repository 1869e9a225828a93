package sweep

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/internal/units"
)

// About says, in sentences, what the network is, and what is the same in all rows.
func (p *Plan) About() (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	add("%s; %s from host to host.", p.what(), units.Seconds(p.Fabric.OneWay().Seconds()))
	if len(p.Sizes) == 1 {
		add("One copy on one link takes %s.", units.Seconds(float64(p.Sizes[0])*8/p.Rate))
	}
	return append(lines, p.special()...)
}

// special says, in sentences, what is not as in other networks.
func (p *Plan) special() (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if racks := p.Fabric.Racks; len(racks) > 1 {
		add("%s.", p.racks())
	}
	if p.Fabric.Message > 0 {
		add("Each message takes its NIC for %s.", units.Seconds(p.Fabric.Message.Seconds()))
	}
	for _, s := range p.Fabric.Slow {
		add("%s has %s %% of its rate.", printable.Capital(s.String()), units.Digits(100*s.Factor))
	}
	return lines
}

// racks says how many there are, how large, and how narrow what joins them is.
func (p *Plan) racks() string {
	all := p.Fabric.Racks
	text := fmt.Sprintf("%d racks of %d", len(all), all[0])
	if slices.Min(all) != slices.Max(all) {
		text = fmt.Sprintf("%d racks of %d or more", len(all), slices.Min(all))
	}
	if p.Fabric.Uplink > 0 {
		text += fmt.Sprintf(", oversubscribed %s:1: each has %v to the others", ratio(cast.Oversubscribed(all, p.Rate, 1)/p.Fabric.Uplink), units.Rate(p.Fabric.Uplink))
	}
	return text
}

// ratio prints a factor without more digits than it needs.
func ratio(factor float64) string {
	return strconv.FormatFloat(math.Round(factor*100)/100, 'f', -1, 64)
}

// PaceNote explains the mark of rows whose blocks are paced.
const PaceNote = PaceMark + " paced: a member sends one block in the time that a link takes for it"

// Praise says which row is the best of its group. Where there are several groups, that is enough to find it in the table.
func (p *Plan) Praise(r *Row) string {
	text := "best"
	if len(p.Nodes) > 1 {
		text += fmt.Sprintf(" for %d nodes", r.Nodes)
	}
	if len(p.Sizes) > 1 {
		text += fmt.Sprintf(", %v", units.Size(r.Size))
	}
	text += fmt.Sprintf(": %s, blocks of %v", r.name(), units.Size(r.Block))
	if len(p.Nodes)*len(p.Sizes) > 1 {
		return text
	}
	return fmt.Sprintf("%s: %s, %s × the bound", text, units.Seconds(r.Seconds), times(r.OverBound()))
}
