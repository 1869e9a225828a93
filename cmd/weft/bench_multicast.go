package main

import (
	"fmt"
	"io"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/bench/delivery"
	"github.com/weft-fabric/weft/bench/multicast"
)

func newBenchMulticast() *cobra.Command {
	o := multicast.Options{Version: version}
	var only string
	var mute bool
	cmd := &cobra.Command{
		Use:   "multicast",
		Short: "Measure weft multicast beside MPI, udpcast, BitTorrent and TCP",
		Long: `Sends one object to 3, 7 and 15 hosts by weft multicast and by what people use
instead, and prints what each takes as a ratio, beside what it must be.

The hosts are network namespaces of this machine with links of 200 Mbit/s, or of
100 where its cores are too slow for that, so it needs root, and Linux. Open
MPI, MPICH, udpcast and aria2 take part if they are installed; 'make
bench-multicast' sees to that, and builds weft. Every setting of theirs is tried
once with 32 MiB; the best of each kind takes part in rounds, in which everybody
delivers 256 MiB once; ratios are taken within a round. What arrives is checked.
Everybody begins with idle cores, and with memory that has just been used: after
a pause a virtual machine may have given its away.

Times are from the first byte to the last one at the last receiver; what a start
takes is printed beside. Processor time is of all processes: during the delivery
where a contestant tells it (weft, MPI), and from start to end; without what the
kernel does in softirqs.

Beside stand rows of what nobody can beat: one plain TCP copy against udpcast,
the link alone against MPI. Where a bound is missed because of them, it says so.

It ends within 40 minutes, on slow cores within 55, and wants a quiet machine.
Then groups of 64 to 10,000 nodes are simulated, for some minutes more. Ctrl-C
takes everything down.

Exit status 0 if every bound is met. 1 if one is missed or something could not
be measured: each is a line on standard error, and the results are printed, kept
and drawn all the same. 2 for wrong usage, 130 after Ctrl-C.`,
		Example: `  weft bench multicast --out multicast.json --plot multicast.html
  weft bench multicast --only '256 MiB to 3 receivers' --rounds 2
  weft bench multicast --quick --only receivers`,
		Args: noMore,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Only, err = regexp.Compile("(?i)" + only); err != nil {
				return usageError{fmt.Errorf("--only %q: %w", only, err)}
			}
			o.Partial, o.Shown, o.Said = only != "" || o.Quick, cmd.OutOrStdout(), cmd.ErrOrStderr()
			if mute {
				o.Said = io.Discard
			}
			if err := o.Validate(); err != nil {
				return usageError{err}
			}
			return multicast.Run(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Out, "out", "", "keep the results in `FILE`.json; the run that is there is printed beside")
	f.StringVar(&o.Plot, "plot", "", "draw them in `FILE`.svg or FILE.html")
	f.StringVar(&only, "only", "", "measure only what matches `REGEXP`; not kept")
	f.BoolVar(&o.Quick, "quick", false, "32 MiB, few settings of the others, nothing simulated; not kept")
	f.IntVar(&o.Pairs, "pairs", 7, "`N` pairs that each contest on one host takes")
	f.IntVar(&o.Rounds, "rounds", 5, "`N` rounds on links")
	f.BoolVar(&o.JSON, "json", false, "print the record as one JSON object, not as a table")
	f.BoolVarP(&mute, "quiet", "q", false, "do not say how far it is")
	return cmd
}

// newBenchPlay is for weft bench itself: it starts this program again on the hosts that it makes.
func newBenchPlay() *cobra.Command {
	return &cobra.Command{
		Use:    "play ROLE...",
		Short:  "Play a role in a measurement",
		Hidden: true,
		RunE:   func(_ *cobra.Command, args []string) error { return delivery.Play(args) },
	}
}
