package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/bench/cast"
	"github.com/weft-fabric/weft/bench/sweep"
	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// plan reads what is written in words. What is wrong beyond that, the plan's Cases say.
func (o *simMulticastOptions) plan(cmd *cobra.Command) (*sweep.Plan, error) {
	p := &sweep.Plan{Offload: o.offload, Stripes: o.stripes, Credits: o.credits, Seed: o.seed,
		Fabric: cast.Fabric{Message: o.message, Latency: o.latency}}
	rate, err := units.ParseRate(o.rate)
	if err != nil {
		return nil, fmt.Errorf("--rate: %w", err)
	}
	p.Rate = float64(rate)
	if err := o.checkZeros(cmd); err != nil {
		return nil, err
	}
	for _, fill := range []func(*cobra.Command, *sweep.Plan) error{o.fillNodes, o.fillSizes, o.fillAlgorithms, o.fillSlow} {
		if err := fill(cmd, p); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// checkZeros refuses zeros that would mean that nothing was said.
func (o *simMulticastOptions) checkZeros(cmd *cobra.Command) error {
	usual := cast.Fabric{}
	return cmp.Or(notZero(cmd, "it is chosen", "stripes", "credits"),
		notZero(cmd, fmt.Sprintf("it is %v", usual.PerMessage()), "message"),
		notZero(cmd, fmt.Sprintf("it is %v; the least is %v, which the hosts take", usual.OneWay(), cast.LeastLatency()), "latency"))
}

// fillNodes reads how many nodes there are, and where.
func (o *simMulticastOptions) fillNodes(cmd *cobra.Command, p *sweep.Plan) (err error) {
	if p.Fabric.Racks, err = parseRacks(o.racks); err != nil {
		return fmt.Errorf("--racks %q: %w", o.racks, err)
	}
	racked := 0
	for _, n := range p.Fabric.Racks {
		racked += n
	}
	switch {
	case racked > 0 && !fitsGroup(racked):
		return fmt.Errorf("--racks %s: a group of %d makes no sense: it has 2 to %d", o.racks, racked, sweep.MaxNodes)
	case o.nodes == "" && racked > 0:
		p.Nodes = []int{racked}
	case o.nodes == "" && !cmd.Flags().Changed("nodes"):
		p.Nodes = []int{64}
	default:
		if p.Nodes, err = parseNodes(o.nodes); err != nil {
			return fmt.Errorf("--nodes %q: %w", o.nodes, err)
		}
	}
	if racked > 0 && (len(p.Nodes) > 1 || p.Nodes[0] != racked) {
		return fmt.Errorf("--nodes %s --racks %s: the racks have %d nodes, with the root: leave --nodes out, or make them fit", o.nodes, o.racks, racked)
	}
	return o.fillUplink(cmd, p)
}

// fillUplink computes what racks have to the others.
func (o *simMulticastOptions) fillUplink(cmd *cobra.Command, p *sweep.Plan) error {
	const most = 1e6
	switch {
	case !cmd.Flags().Changed("oversubscribe"):
		return nil
	case len(p.Fabric.Racks) < 2:
		return fmt.Errorf("--oversubscribe %v is about links between racks: say --racks, two or more", o.oversubscribe)
	case !(o.oversubscribe >= 1 && o.oversubscribe <= most):
		return fmt.Errorf("--oversubscribe %v: it is between 1 and %.0f", o.oversubscribe, most)
	}
	p.Fabric.Uplink = cast.Oversubscribed(p.Fabric.Racks, p.Rate, o.oversubscribe)
	return nil
}

// parseNodes reads numbers with commas between them, and ranges.
func parseNodes(text string) (nodes []int, err error) {
	sizes, err := units.ParseSizes(text)
	if err != nil || strings.Trim(text, "0123456789., ") != "" {
		return nil, fmt.Errorf("write how many nodes there are, 2 to %d: 512, or 8,64, or 2..512", sweep.MaxNodes)
	}
	for _, n := range sizes {
		if !fitsGroup(int(n)) {
			return nil, fmt.Errorf("a group of %d makes no sense: it has 2 to %d", int(n), sweep.MaxNodes)
		}
		nodes = append(nodes, int(n))
	}
	return nodes, nil
}

func fitsGroup(nodes int) bool { return nodes >= 2 && nodes <= sweep.MaxNodes }

func (o *simMulticastOptions) fillSizes(_ *cobra.Command, p *sweep.Plan) error {
	sizes, err := units.ParseSizes(o.size)
	if err != nil {
		return fmt.Errorf("--size: %w", err)
	}
	for _, size := range sizes {
		p.Sizes = append(p.Sizes, uint64(size))
	}
	if o.blocks == "auto" {
		p.Blocks = []int{0}
		return nil
	}
	blocks, err := units.ParseSizes(o.blocks)
	if err != nil {
		return fmt.Errorf("--blocks: %w; or write auto", err)
	}
	for _, block := range blocks {
		if block < cast.MinBlock || block > sweep.MaxBlock {
			return fmt.Errorf("--blocks: one of %v: it is between %v and %v", block, units.Size(cast.MinBlock), units.Size(sweep.MaxBlock))
		}
		p.Blocks = append(p.Blocks, int(block))
	}
	return nil
}

func (o *simMulticastOptions) fillAlgorithms(_ *cobra.Command, p *sweep.Plan) error {
	for _, word := range o.algorithms {
		switch word = strings.TrimSpace(word); word {
		case "all":
			p.All = true
			p.Algorithms = append(p.Algorithms, sweep.All(p.Fabric.Racks)...)
		case "auto":
			p.Auto = true
		default:
			algorithm, err := schedule.ParseAlgorithm(word)
			if err != nil {
				return fmt.Errorf("--algorithm: %w, all, auto", err)
			}
			if err := o.checkRacks(algorithm, p.Fabric.Racks); err != nil {
				return err
			}
			p.Algorithms = append(p.Algorithms, algorithm)
		}
	}
	if len(o.algorithms) == 0 {
		return errors.New("--algorithm: which? Name one or more, all, or auto")
	}
	slices.Sort(p.Algorithms)
	p.Algorithms = slices.Compact(p.Algorithms)
	return nil
}

// checkRacks refuses an algorithm that was named and has not the racks that it needs.
func (o *simMulticastOptions) checkRacks(algorithm schedule.Algorithm, racks []int) error {
	switch {
	case !algorithm.Racks() || sweep.TwoLevels(racks):
		return nil
	case len(racks) == 0:
		return fmt.Errorf("--algorithm %v needs --racks: how many there are, and how many nodes in each, as 8x64", algorithm)
	}
	return fmt.Errorf("--algorithm %v with --racks %s: it needs two racks at least, and two nodes in one of them", algorithm, o.racks)
}

func (o *simMulticastOptions) fillSlow(_ *cobra.Command, p *sweep.Plan) error {
	for _, text := range o.slow {
		slow, ok := parseSlow(strings.TrimSpace(text))
		if !ok {
			return fmt.Errorf("--slow %q: write a node, or two with a link, and what is left of the rate, above 0 and up to 100: 3@50%% or 0-1@50%%", text)
		}
		p.Fabric.Slow = append(p.Fabric.Slow, slow)
	}
	return nil
}

// parseSlow reads one thing that is slow.
func parseSlow(text string) (slow cast.Slow, ok bool) {
	what, share, at := strings.Cut(text, "@")
	share, percent := strings.CutSuffix(share, "%")
	from, to, link := strings.Cut(what, "-")
	node, err := strconv.Atoi(from)
	slow = cast.Slow{Node: node, To: -1}
	if link && err == nil {
		slow.To, err = strconv.Atoi(to)
	}
	left, wrong := strconv.ParseFloat(share, 64)
	slow.Factor = left / 100
	return slow, at && percent && err == nil && wrong == nil && node >= 0 && link == (slow.To >= 0) && left > 0 && left <= 100
}
