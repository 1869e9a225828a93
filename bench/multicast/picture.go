package multicast

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/plot"
)

// picture is what was measured on links, for people.
type picture struct {
	groups []pictureGroup
	probes [][]string // rows of the table of settings that were tried
	small  [][]string // rows of the table of small messages
}

// pictureGroup is what one size of a group has shown.
type pictureGroup struct {
	name    string
	entries []*entry // the copy that all are compared with first
}

func (p *picture) add(receivers, bytes int, all []*entry) {
	p.groups = append(p.groups, pictureGroup{fmt.Sprintf("%d MiB to %d receivers", bytes>>20, receivers), all})
}

func (p *picture) addSmall(all []*entry) {
	for _, e := range all {
		p.small = append(p.small, append([]string{e.Name}, e.numbers()...))
	}
}

func (p *picture) probed(receivers, bytes int, tried []*entry) {
	for _, e := range tried {
		p.probes = append(p.probes, append([]string{fmt.Sprint(receivers), fmt.Sprintf("%d MiB", bytes>>20), e.Name}, e.numbers()...))
	}
}

// numbers are what an entry has reached, as cells of a table.
func (e *entry) numbers() []string {
	if len(e.samples) == 0 {
		return []string{"failed", "", ""}
	}
	return []string{fmt.Sprintf("%.3f s", e.seconds()), fmt.Sprintf("%.2f s", e.median(whole)), fmt.Sprintf("%.2f s", e.median(allCPU))}
}

var numberColumns = []string{"time", "with start-up", "CPU"}

// figures are a comparison of large messages, one of small ones, and what was tried before.
func (p *picture) figures() (all []*figure.Figure) {
	if len(p.groups) > 0 {
		all = append(all, p.large())
	}
	if len(p.small) > 0 {
		all = append(all, &figure.Figure{Name: "peers-small", Title: "A small message to 15 receivers on limited links", Source: "measured on this machine",
			Text:  "Medians of rounds. The chains are the best of all block sizes from 4 KiB to 1 MiB.",
			Table: &figure.Table{Columns: append([]string{"who"}, numberColumns...), Rows: p.small}})
	}
	if len(p.probes) > 0 {
		all = append(all, &figure.Figure{Name: "peers-settings", Title: "Settings of the others that were tried", Source: "measured on this machine",
			Text:  "One delivery each, a second of the best; the best of each kind takes part in the comparison. What is much slower than the best is not tried in larger groups.",
			Table: &figure.Table{Columns: append([]string{"receivers", "message", "setting"}, numberColumns...), Rows: p.probes}})
	}
	return all
}

// large is the comparison of large messages.
func (p *picture) large() *figure.Figure {
	f := &figure.Figure{Name: "peers", Title: "One object to many on limited links, by everybody", Source: "measured on this machine",
		Text: "Each host has a link of its own, limited both ways. Medians of rounds in which everybody delivers once; of MPI, udpcast and " +
			"BitTorrent the best setting. CPU is of all processes from start to end, without what the kernel does in softirqs.",
		Table: &figure.Table{Columns: slices.Concat([]string{"group", "who", "÷ one copy"}, numberColumns)}}
	for _, g := range p.groups {
		for _, e := range g.entries {
			f.Table.Rows = append(f.Table.Rows, slices.Concat([]string{g.name, e.Name, fmt.Sprintf("%.3f", g.relative(e))}, e.numbers()))
		}
	}
	times := plot.Bars{Title: "Time, as a multiple of one plain copy", Y: plot.Axis{Label: "× one copy", Unit: "ratio"}, Bound: copyBound}
	processors := plot.Bars{Title: "Processor time of all processes", Y: plot.Axis{Label: "CPU", Unit: "s"}}
	p.draw(&times, pictureGroup.relative)
	p.draw(&processors, func(_ pictureGroup, e *entry) float64 { return e.median(allCPU) })
	f.Bars = []plot.Bars{times, processors}
	return f
}

// draw adds a bar for each entry of each group.
func (p *picture) draw(bars *plot.Bars, value func(pictureGroup, *entry) float64) {
	for _, name := range p.names() {
		bars.Series = append(bars.Series, plot.BarSeries{Name: name})
	}
	for _, g := range p.groups {
		bars.Groups = append(bars.Groups, g.name)
		for i, e := range g.entries {
			bars.Series[i].Values = append(bars.Series[i].Values, value(g, e))
		}
	}
}

// names are those of the bars: of the others their kind, because in each group another setting may be the best.
func (p *picture) names() (all []string) {
	for _, e := range p.groups[0].entries {
		if slices.Contains(kinds, e.Kind) {
			all = append(all, string(e.Kind))
		} else {
			all = append(all, e.Name)
		}
	}
	return all
}

// relative is an entry's time as a multiple of one copy's; 0 if there is none.
func (g pictureGroup) relative(e *entry) float64 {
	if one := g.entries[0].seconds(); one > 0 {
		return e.seconds() / one
	}
	return 0
}
