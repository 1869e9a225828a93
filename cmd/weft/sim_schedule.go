package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/bench/figure"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Limits of a schedule that is shown.
const (
	maxShownMembers = figure.MaxRows
	maxShownSends   = 200_000 // a few megabytes of text
)

// scheduleOptions are the flags of weft sim schedule.
type scheduleOptions struct {
	nodes, blocks, stripes int
	algorithm, racks, plot string
	asJSON, mute           bool
}

func newSimSchedule() *cobra.Command {
	o := &scheduleOptions{}
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "Show who sends which block to whom, step by step",
		Long: `Prints the schedule of a group: in each step who sends which block to whom,
and what each member then has. In a step a member sends at most one block and
receives at most one. Member 0 is the root, which has all blocks at the start.

Figure 3 of the RDMC paper is --nodes 8 --blocks 3 --algorithm tree,pipeline.
With --plot it is drawn: a row for each member, a column for each step, an arrow
for each block. Where racks are known, what crosses from one to another is
counted, for every algorithm.`,
		Example: `  weft sim schedule --nodes 8
  weft sim schedule --nodes 8 --algorithm tree,pipeline --plot figure3.svg
  weft sim schedule --racks 2x4 --blocks 4 --algorithm all --plot racks.html`,
		Args: noMore,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.IntVar(&o.nodes, "nodes", 8, "`N` members, with the root; or as many as --racks has")
	f.IntVar(&o.blocks, "blocks", 3, "`N` blocks of the message")
	f.StringVar(&o.algorithm, "algorithm", "pipeline", "`NAMES`, or all: "+strings.Join(algorithmNames(), ", "))
	f.StringVar(&o.racks, "racks", "", "`LIST` of how many members each rack has: 4,4,8, or 2x4")
	f.IntVar(&o.stripes, "stripes", 0, "`N` schedules that take turns, block by block (1)")
	f.StringVar(&o.plot, "plot", "", "draw it, to `FILE`.svg or FILE.html, or each into a directory")
	f.BoolVar(&o.asJSON, "json", false, "print one JSON object")
	f.BoolVarP(&o.mute, "quiet", "q", false, "no word of files that were written")
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("algorithm", cobra.FixedCompletions(append(algorithmNames(), "all"), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *scheduleOptions) run(cmd *cobra.Command) error {
	views, err := o.views(cmd)
	var figures []*figure.Figure
	if err == nil && o.plot != "" {
		figures = figuresOf(views)
		err = asPlot(o.plot, drawable(figures))
	}
	if err != nil {
		return usageError{err}
	}
	if o.plot != "" {
		if err := figure.Draw(o.plot, "Schedules", nil, figures...); err != nil {
			return err
		}
		if err := wrote(cmd.ErrOrStderr(), o.mute, o.plot); err != nil {
			return err
		}
	}
	if o.asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(schedulesReport{Version: version, Nodes: o.nodes, Blocks: o.blocks, Racks: views[0].racks, Schedules: views})
	}
	for i, v := range views {
		if err := v.print(cmd.OutOrStdout(), i > 0); err != nil {
			return err
		}
	}
	return nil
}

// views computes all that was asked for.
func (o *scheduleOptions) views(cmd *cobra.Command) (views []*scheduleView, err error) {
	racks, err := o.rackOf(cmd)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(o.checkSizes(), notZero(cmd, "it is 1", "stripes"), checkPlot(cmd, o.plot)); err != nil {
		return nil, err
	}
	algorithms, err := o.algorithms(racks != nil)
	if err != nil {
		return nil, err
	}
	for _, a := range algorithms {
		v, err := newScheduleView(schedule.Config{Algorithm: a, Members: o.nodes, Stripes: o.stripes}, racks, o.blocks)
		if err != nil {
			return nil, err
		}
		views = append(views, v)
	}
	return views, nil
}

// rackOf is the rack of each member, or nil; --nodes need not be said beside.
func (o *scheduleOptions) rackOf(cmd *cobra.Command) (racks []int, err error) {
	sizes, err := parseRacks(o.racks)
	if err != nil {
		return nil, fmt.Errorf("--racks %q: %w", o.racks, err)
	}
	for rack, size := range sizes {
		if len(racks)+size > maxShownMembers {
			return nil, fmt.Errorf("--racks %s: up to %d members can be shown", o.racks, maxShownMembers)
		}
		racks = append(racks, slices.Repeat([]int{rack}, size)...)
	}
	switch {
	case racks == nil:
		return nil, nil
	case !cmd.Flags().Changed("nodes"):
		o.nodes = len(racks)
	case o.nodes != len(racks):
		return nil, fmt.Errorf("--racks %s has %d members, and --nodes says %d: leave one of them out", o.racks, len(racks), o.nodes)
	}
	return racks, nil
}

func (o *scheduleOptions) checkSizes() error {
	switch {
	case o.nodes < 2 || o.nodes > maxShownMembers:
		return fmt.Errorf("--nodes %d: 2 to %d can be shown", o.nodes, maxShownMembers)
	case o.blocks < 1:
		return fmt.Errorf("--blocks %d: a message has 1 block at least", o.blocks)
	case o.stripes > o.blocks:
		return fmt.Errorf("--stripes %d: %s cannot go by more schedules than there are blocks", o.stripes, counted(o.blocks, "block"))
	case o.blocks > maxShownSends/(o.nodes-1):
		return fmt.Errorf("--blocks %d to %d members are more than %d transfers, too many to look at: up to --blocks %d can be shown",
			o.blocks, o.nodes, maxShownSends, maxShownSends/(o.nodes-1))
	}
	return nil
}

// algorithms reads the list. All are those that can do with what is known.
func (o *scheduleOptions) algorithms(racks bool) (list []schedule.Algorithm, err error) {
	if o.algorithm == "all" {
		return slices.DeleteFunc(schedule.Algorithms(), func(a schedule.Algorithm) bool { return a.Racks() && !racks }), nil
	}
	for name := range strings.SplitSeq(o.algorithm, ",") {
		a, err := schedule.ParseAlgorithm(strings.TrimSpace(name))
		switch {
		case err != nil:
			return nil, fmt.Errorf("--algorithm: %w", err)
		case a.Racks() && !racks:
			return nil, fmt.Errorf("--algorithm %v needs --racks: how many members are in each", a)
		case slices.Contains(list, a):
			return nil, fmt.Errorf("--algorithm: %v is named twice", a)
		}
		list = append(list, a)
	}
	return list, nil
}

// figuresOf are the drawings of all.
func figuresOf(views []*scheduleView) (figures []*figure.Figure) {
	for _, v := range views {
		figures = append(figures, v.figure())
	}
	return figures
}

// drawable says which of them is too large for a drawing.
func drawable(figures []*figure.Figure) error {
	for _, f := range figures {
		if err := f.Steps[0].Validate(); err != nil {
			return err
		}
	}
	return nil
}
