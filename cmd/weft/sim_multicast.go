package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/bench/figure"
)

// simMulticastOptions are the flags of weft sim multicast, as they are written.
type simMulticastOptions struct {
	nodes, size, blocks, rate, racks string
	algorithms, slow                 []string
	oversubscribe                    float64
	message, latency                 time.Duration
	stripes, credits                 int
	offload                          bool
	seed                             uint64
	plot                             string
	asJSON, mute, verbose            bool
}

func newSimMulticast() *cobra.Command {
	o := &simMulticastOptions{}
	cmd := &cobra.Command{
		Use:   "multicast",
		Short: "Compare ways to send one message to a group, of up to 10,000 nodes",
		Long: `One message from a root to all other nodes of a group, in virtual time, by the
real group code: for each algorithm, or for each of lists of nodes, sizes and
blocks, a row with its time, and beside it

  × bound  k + ⌈log₂ n⌉ − 1 steps of a block for k blocks and n nodes: no
           pattern of unicasts takes fewer (RDMC, section 4.3)
  × copy   the time of the message once on one link
  skew     between the first and the last receiver
  crossed  blocks that went from one rack to another; k · (racks − 1) at least
  s/c      stripes and credits; ~ if members keep a pace: each sends a block in
           the time that one takes on its link, and no faster

--algorithm is a list, all, or auto: the cost model chooses algorithm, block,
stripes and credits, the best that go with what is said of them. Of what is not
said for an algorithm the model chooses the best for it. In lists, 2..512 stands
for 2, 4, 8 and so on.

Racks have a link to the others whose rate --oversubscribe says: all its nodes'
rates together, divided by that. If racks differ, all have that of the smallest.
--slow 3@50% leaves node 3 half its rate, --slow 0-1@50% the link between two;
node 0 is the root. The cost model counts on links that are not slow.`,
		Example: `  weft sim multicast --nodes 512 --size 256MB --rate 40gbit
  weft sim multicast --nodes 2..512 --algorithm pipeline,chain --plot scale.svg
  weft sim multicast --racks 8x8 --oversubscribe 4 --blocks 1MiB --size 256MiB
  weft sim multicast --nodes 64 --slow 3@50% --algorithm auto --json`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.addFlags(cmd)
	return cmd
}

func (o *simMulticastOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.nodes, "nodes", "", "`LIST` of how many there are, with the root: 8,64 or 2..512 (64, or those of --racks)")
	f.StringVar(&o.size, "size", "256MB", "`LIST` of the bytes of a message: 8MB,256MB")
	f.StringVar(&o.blocks, "blocks", "auto", "`LIST` of the bytes of a block: 1MiB or 64KiB..16MiB; auto: the best of each algorithm")
	f.StringSliceVar(&o.algorithms, "algorithm", []string{"all"}, "`LIST`: all, auto, "+strings.Join(algorithmNames(), ", "))
	f.StringVar(&o.rate, "rate", "100gbit", "`RATE` of each node's link, each way: 40gbit")
	f.StringVar(&o.racks, "racks", "", "`RACKS` and their nodes: 8x64, or 4,4,8")
	f.Float64Var(&o.oversubscribe, "oversubscribe", 0, "`N`: the nodes of a rack, the smallest, together have N times the rate of its uplink (it is never a bottleneck)")
	f.StringSliceVar(&o.slow, "slow", nil, "`LIST` of nodes and links that are slow: 3@50%,0-1@10%")
	f.DurationVar(&o.message, "message", 0, "`TIME` that each message takes its NIC, beside its bytes: 5us (7ns)")
	f.DurationVar(&o.latency, "latency", 0, "`TIME` of a small message from one host to another: 3us (1.135us)")
	f.IntVar(&o.stripes, "stripes", 0, "`N` schedules that take turns, to hide latency (by the model)")
	f.IntVar(&o.credits, "credits", 0, "`N` receives posted ahead (by the model)")
	f.BoolVar(&o.offload, "offload", false, "have NICs relay by themselves")
	f.Uint64Var(&o.seed, "seed", 0, "`N` that contents and chance depend on")
	f.StringVar(&o.plot, "plot", "", "draw it, to `FILE`.svg or FILE.html, or into a directory")
	f.BoolVar(&o.asJSON, "json", false, "print one JSON object")
	f.BoolVarP(&o.mute, "quiet", "q", false, "no progress line, no word of files that were written")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "steps, events, real time, memory; in JSON when each node was done")
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("algorithm", cobra.FixedCompletions(append([]string{"all", "auto"}, algorithmNames()...), cobra.ShellCompDirectiveNoFileComp))
}

func (o *simMulticastOptions) run(cmd *cobra.Command, args []string) error {
	if err := noMore(cmd, args); err != nil {
		return err
	}
	plan, err := o.plan(cmd)
	if err := errors.Join(err, checkPlot(cmd, o.plot)); err != nil {
		return usageError{err}
	}
	cases, omitted, err := plan.Cases()
	if err == nil && o.plot != "" {
		err = asPlot(o.plot, plan.Drawable(cases))
	}
	if err != nil {
		return usageError{err}
	}
	show := newSweepShow(cmd, o, plan)
	show.omitted = omitted
	return o.shown(cmd.Context(), show, len(cases), func(ctx context.Context) error { return show.runAll(ctx, cases) })
}

// shown does the work and prints what comes of it, also if it is interrupted.
func (o *simMulticastOptions) shown(ctx context.Context, show *sweepShow, cases int, work func(context.Context) error) error {
	show.far.all = cases
	show.head()
	show.progress.start()
	defer context.AfterFunc(ctx, show.progress.giveWay)()
	err := work(ctx)
	show.progress.stop()
	err = orStopped(ctx, err, fmt.Sprintf("%d of %d were simulated", len(show.rows), cases), o.plot)
	err = errors.Join(err, show.finish(err))
	if err != nil || o.plot == "" {
		return err
	}
	if err := figure.Draw(o.plot, "A simulated multicast", show.plan.About(), show.plan.Figure(show.rows)); err != nil {
		return err
	}
	return wrote(show.errs, o.mute, o.plot)
}
