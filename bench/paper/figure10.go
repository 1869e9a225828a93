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
		out, err := o.bandwidths(ctx, overlap(experiment{node: rated(fractus)}), o.groupSizes())
		if err != nil {
			return nil, err
		}
		f := s.figure("All members, half of them, or one send to all others, in as many groups of the same members, on NICs of 100 Gbit/s. " +
			"Bytes are counted once, however many receive them.")
		f.Charts, f.Table, f.Claims = []plot.Chart{out.chart(s.Title, 0, len(out.lines))}, out.table(), flatClaims(out)
		return f, nil
	}
	return s
}

// figure10b is the same where racks have uplinks no faster than one NIC.
func figure10b() Scenario {
	s := Scenario{Name: "fig10b", Title: "Aggregate bandwidth of concurrent multicasts on Apt", Section: "5.2.2, figure 10b",
		Claim: "large groups are limited to about 16 Gbit/s by the network between racks, whoever sends"}
	s.Run = func(ctx context.Context, o Options) (*figure.Figure, error) {
		on := experiment{node: rated(apt), racks: aptRacks, fabric: sim.Config{Uplink: aptUplink}}
		out, err := o.bandwidths(ctx, append(overlap(on), aware(on)), o.groupSizes())
		if err != nil {
			return nil, err
		}
		f := s.figure(fmt.Sprintf("The same on NICs of 56 Gbit/s in %d racks, where members are dealt to nodes by chance as by Apt's batch system. "+
			"Each rack's uplink has the rate of one NIC, so that with four nodes in a rack about 16 Gbit/s are left for each, as the paper saw it. "+
			"Beyond the paper: a pattern that knows the racks.", aptRacks))
		f.Charts, f.Table, f.Claims = []plot.Chart{out.chart(s.Title, 0, len(out.lines))}, out.table(), oversubscribedClaims(out)
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

// overlap is the lines of figure 10 on a network: of each size all senders, half of them, one.
func overlap(on experiment) (lines []line) {
	for _, messages := range streams {
		for _, who := range []struct {
			name string
			of   func(members int) int
		}{{"all send", func(n int) int { return n }}, {"half send", func(n int) int { return n / 2 }}, {"one sends", func(int) int { return 1 }}} {
			lines = append(lines, line{name: messages.name + ", " + who.name, of: func(n int) crowd {
				return messages.in(crowd{experiment: on, senders: who.of(n), scatter: on.racks > 0})
			}})
		}
	}
	return lines
}

// aware is one sender of a large message by a pattern that knows racks, each stripe with another leader in a rack.
func aware(on experiment) line {
	return line{name: "100 MB, one sends, racks known", dashed: true, of: func(n int) crowd {
		on.algorithm, on.stripes = schedule.RackStripes, max(2, n/on.racks)
		return streams[0].in(crowd{experiment: on, scatter: true})
	}}
}

// groupSizes are those of figures 10 to 12.
func (o Options) groupSizes() []int {
	if o.Short {
		return []int{3, 8, 16}
	}
	return []int{3, 4, 6, 8, 12, 16}
}
