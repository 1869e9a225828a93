package paper

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/plot"
	"github.com/weft-fabric/weft/provider/sim"
)

// figure7 is how many messages of one byte a group can have, which shows what a message costs beside its bytes.
func figure7() Scenario {
	s := Scenario{Name: "fig7", Title: "Messages of 1 byte by the pipeline on Fractus", Section: "5.2.1, figure 7",
		Claim: "the rate falls slowly, with the logarithm of the group's size"}
	s.Run = func(ctx context.Context, o Options) (*figure.Figure, error) {
		tiny, err := o.tinyMessages(ctx)
		if err != nil {
			return nil, err
		}
		f := s.figure(fmt.Sprintf("%d messages as fast as the group takes them, and one alone, on NICs of 100 Gbit/s. Costs are those of package sim: "+
			"a NIC of today, hosts that poll, and protocol code that takes no time itself. What a part costs is how much sooner one message is everywhere if that part takes no time.",
			tiny.messages))
		f.Charts, f.Bars, f.Table, f.Claims = tiny.charts(s.Title), []plot.Bars{tiny.bars()}, tiny.table(), tiny.claims()
		return f, nil
	}
	return s
}

// tiny is what messages of one byte take.
type tiny struct {
	messages int
	members  []int
	stream   []time.Duration // that each of many takes
	alone    []time.Duration
	parts    [][]time.Duration // of alone, by cost and number of members
}

// costParts are where the time of a tiny message goes, and how to have it for nothing.
var costParts = []struct {
	name string
	free func(*sim.Costs)
}{
	{"host posts", func(c *sim.Costs) { c.Post, c.PostMore = 0, 0 }},
	{"host polls", func(c *sim.Costs) { c.Progress = 0 }},
	{"PCIe", func(c *sim.Costs) { c.PCIe, c.Fetch = 0, 0 }},
	{"memory", func(c *sim.Costs) { c.ToMemory = 0 }},
	{"wire and switch", func(c *sim.Costs) { c.Wire, c.Switch = 0, 0 }},
}

// tinyMessages does all that the figure needs.
func (o Options) tinyMessages(ctx context.Context) (*tiny, error) {
	t := &tiny{messages: 1000}
	if o.Short {
		t.messages = 200
	}
	var list []crowd
	for members := 2; members <= 16; members++ {
		t.members = append(t.members, members)
		list = append(list, t.crowds(members)...)
	}
	took, err := o.crowds(ctx, list)
	if err != nil {
		return nil, err
	}
	for mine := range slices.Chunk(took, len(list)/len(t.members)) {
		t.add(mine)
	}
	return t, nil
}

// crowds are many messages, one alone, and one without each of the costs.
func (t *tiny) crowds(members int) []crowd {
	one := crowd{experiment: experiment{members: members, size: 1, block: 64 * kib, fabric: sim.Config{Jitter: -1}}}
	many := one
	many.messages = t.messages
	list := []crowd{many, one}
	for _, part := range costParts {
		costs := sim.DefaultCosts()
		part.free(&costs)
		one.fabric.Costs = &costs
		list = append(list, one)
	}
	return list
}

// add takes down how long the crowds of the next group took.
func (t *tiny) add(took []time.Duration) {
	t.stream, t.alone = append(t.stream, took[0]/time.Duration(t.messages)), append(t.alone, took[1])
	var parts []time.Duration
	for _, without := range took[2:] {
		parts = append(parts, took[1]-without)
	}
	t.parts = append(t.parts, parts)
}

func (t *tiny) charts(title string) []plot.Chart {
	line := func(name string, took []time.Duration) plot.Series {
		l := plot.Series{Name: name}
		for i, members := range t.members {
			l.Points = append(l.Points, plot.Point{X: float64(members), Y: 1 / took[i].Seconds()})
		}
		return l
	}
	alone := line("1 ÷ time of one alone", t.alone)
	alone.Dashed = true
	return []plot.Chart{{Title: title, X: plot.Axis{Label: "group size"}, Y: plot.Axis{Label: "messages a second"},
		Series: []plot.Series{line("one after the other", t.stream), alone}}}
}

// bars shows where the time of one message goes, in groups of 2, 4, 8 and 16.
func (t *tiny) bars() plot.Bars {
	b := plot.Bars{Title: "Where the time of one message goes", Y: plot.Axis{Label: "time", Unit: "s"}}
	for i, part := range costParts {
		series := plot.BarSeries{Name: part.name}
		for j, members := range t.members {
			if members&(members-1) == 0 {
				series.Values = append(series.Values, t.parts[j][i].Seconds())
			}
		}
		b.Series = append(b.Series, series)
	}
	for _, members := range t.members {
		if members&(members-1) == 0 {
			b.Groups = append(b.Groups, fmt.Sprint(members, " members"))
		}
	}
	return b
}

func (t *tiny) table() *figure.Table {
	table := &figure.Table{Columns: []string{"group", "messages a second", "each", "one alone"}}
	for _, part := range costParts {
		table.Columns = append(table.Columns, part.name)
	}
	for i, members := range t.members {
		row := []string{fmt.Sprint(members), fmt.Sprintf("%.0f", 1/t.stream[i].Seconds()), micro(t.stream[i]), micro(t.alone[i])}
		for _, part := range t.parts[i] {
			row = append(row, micro(part))
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

func micro(d time.Duration) string { return fmt.Sprintf("%.2f µs", float64(d)/1e3) }

// at is the index of a group size.
func (t *tiny) at(members int) int { return members - t.members[0] }

func (t *tiny) claims() []figure.Claim {
	few, many := t.at(2), t.at(16)
	falls := ratio(t.stream[many], t.stream[few])
	var doublings []time.Duration
	for members := 4; members <= 16; members *= 2 {
		doublings = append(doublings, t.alone[t.at(members)]-t.alone[t.at(members/2)])
	}
	const hops = 4 // ⌈log₂ 16⌉
	way := ratio(t.alone[many], hops*t.alone[few])
	return []figure.Claim{
		claim("15 receivers instead of 1 cost the rate little: a factor of 3 at most", falls <= 3, "%.0f and %.0f messages a second: %.2f ×",
			1/t.stream[few].Seconds(), 1/t.stream[many].Seconds(), falls),
		claim("each doubling of the group adds about the same: the time grows with the logarithm",
			ratio(doublings[2], doublings[0]) < 1.25 && ratio(doublings[0], doublings[2]) < 1.25, "from 2 to 4 members %s, to 8 %s, to 16 %s",
			micro(doublings[0]), micro(doublings[1]), micro(doublings[2])),
		claim("a message is everywhere after ⌈log₂ n⌉ hops, the rest is waiting for acknowledgements: a third at most", way >= 1 && way <= 1.33,
			"16 members: %s, %.2f × 4 hops of %s; buses %s, wires %s, memory %s, hosts %s", micro(t.alone[many]), way, micro(t.alone[few]),
			micro(t.parts[many][2]), micro(t.parts[many][4]), micro(t.parts[many][3]), micro(t.parts[many][0]+t.parts[many][1])),
	}
}
