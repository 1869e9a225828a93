package paper

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/internal/plot"
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// figure10a is overlapping groups on a network that is not oversubscribed.
func figure10a() Scenario {
	s := Scenario{Name: "fig10a", Title: "Aggregate bandwidth of concurrent multicasts on Fractus", Section: "5.2.2, figure 10a",
		Claim: "with concurrent senders the aggregate is close to what the NICs can carry, for large messages"}
	s.Run = func(ctx context.Context, o Options) (*figure.Figure, error) {
		out, err := o.overlap(ctx, overlap{experiment: experiment{node: rated(fractus)}})
		if err != nil {
			return nil, err
		}
		f := s.figure("All members, half of them, or one send to all others, in as many groups of the same members, on NICs of 100 Gbit/s. " +
			"Bytes are counted once, however many receive them.")
		out.show(f)
		f.Claims = flatClaims(out)
		return f, nil
	}
	return s
}

// figure10b is the same where racks have uplinks no faster than one NIC.
func figure10b() Scenario {
	s := Scenario{Name: "fig10b", Title: "Aggregate bandwidth of concurrent multicasts on Apt", Section: "5.2.2, figure 10b",
		Claim: "large groups are limited to about 16 Gbit/s by the network between racks, whoever sends"}
	s.Run = func(ctx context.Context, o Options) (*figure.Figure, error) {
		out, err := o.overlap(ctx, overlap{aware: true, experiment: experiment{node: rated(apt), racks: aptRacks, fabric: sim.Config{Uplink: aptUplink}}})
		if err != nil {
			return nil, err
		}
		f := s.figure(fmt.Sprintf("The same on NICs of 56 Gbit/s in %d racks, where members are dealt to nodes by chance as by Apt's batch system. "+
			"Each rack's uplink has the rate of one NIC, so that with four nodes in a rack about 16 Gbit/s are left for each, as the paper saw it. "+
			"Beyond the paper: a pattern that knows the racks.", aptRacks))
		out.show(f)
		f.Claims = oversubscribedClaims(out)
		return f, nil
	}
	return s
}

// The network of Apt (section 5.1), as far as the paper tells: "degrades to about 16 Gb/s per link when heavily loaded".
const (
	apt       = 56e9
	aptRacks  = 4
	aptUplink = 56e9
	aptLoaded = 16e9
)

// overlap is what differs between the two networks.
type overlap struct {
	experiment
	aware bool // one sender also by a pattern that knows racks
}

// load is one line of the figure: who sends what.
type load struct {
	name     string
	size     uint64
	block    int
	messages int
	senders  func(members int) int
	pattern  schedule.Algorithm
}

// loads are the lines, the large messages first, and of each size: all senders, half of them, one.
func (v overlap) loads() (all []load) {
	for _, m := range streams {
		for _, who := range []struct {
			name string
			of   func(members int) int
		}{{"all send", func(n int) int { return n }}, {"half send", func(n int) int { return n / 2 }}, {"one sends", func(int) int { return 1 }}} {
			all = append(all, load{m.name + ", " + who.name, m.size, m.block, m.messages, who.of, schedule.Pipeline})
		}
	}
	if v.aware {
		one := all[2]
		one.name, one.pattern = "100 MB, one sends, racks known", schedule.RackStripes
		all = append(all, one)
	}
	return all
}

// streams are the messages of figures 10 and 11: what is small is sent often, so that a rate can be told.
var streams = []struct {
	name     string
	size     uint64
	block    int
	messages int
}{{"100 MB", 100e6, mib, 1}, {"1 MB", 1e6, 128 * kib, 6}, {"10 KB", 10e3, 10e3, 30}}

// overlapped is the bandwidth of each load in each group, in bits a second.
type overlapped struct {
	loads     []load
	members   []int
	bandwidth [][]float64 // by load and members
}

func (o Options) overlap(ctx context.Context, v overlap) (*overlapped, error) {
	out := &overlapped{loads: v.loads(), members: []int{3, 4, 6, 8, 10, 12, 16}}
	if o.Short {
		out.members = []int{3, 8, 16}
	}
	var list []crowd
	for _, l := range out.loads {
		for _, members := range out.members {
			c := crowd{experiment: v.experiment, senders: l.senders(members), messages: l.messages, scatter: v.racks > 0}
			c.members, c.size, c.block, c.algorithm = members, l.size, l.block, l.pattern
			if l.pattern.Racks() {
				c.stripes = max(2, members/c.racks) // each has another leader in a rack
			}
			list = append(list, c)
		}
	}
	took, err := o.crowds(ctx, list)
	if err != nil {
		return nil, err
	}
	for i := range out.loads {
		var line []float64
		for j := range out.members {
			at := i*len(out.members) + j
			line = append(line, list[at].bandwidth(took[at]))
		}
		out.bandwidth = append(out.bandwidth, line)
	}
	return out, nil
}

// show draws the lines and prints them.
func (v *overlapped) show(f *figure.Figure) {
	chart := plot.Chart{Title: f.Title, X: plot.Axis{Label: "group size"}, Y: plot.Axis{Label: "aggregate bandwidth", Unit: "bits/s"}}
	f.Table = &figure.Table{Columns: []string{"senders"}}
	for _, members := range v.members {
		f.Table.Columns = append(f.Table.Columns, fmt.Sprint(members, " members"))
	}
	for i, l := range v.loads {
		line, row := plot.Series{Name: l.name}, []string{l.name}
		for j, members := range v.members {
			line.Points = append(line.Points, plot.Point{X: float64(members), Y: v.bandwidth[i][j]})
			row = append(row, fmt.Sprintf("%.1f Gbit/s", v.bandwidth[i][j]/1e9))
		}
		chart.Series, f.Table.Rows = append(chart.Series, line), append(f.Table.Rows, row)
	}
	f.Charts = []plot.Chart{chart}
}
