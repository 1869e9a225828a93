package main

import (
	"fmt"
	"io"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/bench/push"
)

func newBenchPush() *cobra.Command {
	o := push.Options{Version: version}
	only, mute := "", false
	cmd := &cobra.Command{
		Use:   "push",
		Short: "Compare weft push with rsync, BitTorrent and udpcast",
		Long: `Measures weft push, from its beginning to its end, beside weft multicast, which
only moves bytes, and beside rsync, BitTorrent (aria2) and udpcast, over links
of 200 Mbit/s between hosts that are made for it; with an agent that is killed
half-way, with a link at half the rate, and once more when there is nothing to
do. Then how long it takes until the first byte of 20 GiB is delivered, what a
relay takes of the processors, and how long it takes until 64 agents of this
machine have their first byte.

It needs root, an hour or two, 10 GB of memory and 22 GB of disk, where TMPDIR
says. Who is not installed is a row that failed. Ctrl-C takes everything down.

Exit status 0 if every bound is met. 1 if one is missed or something could not
be measured: each is a line on standard error, and the results are printed and
kept all the same. 2 for wrong usage, 130 after Ctrl-C.`,
		Example: `  weft bench push --out push.json
  weft bench push --quick --rounds 1 --pairs 1
  weft bench push --only 'CPU'`,
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
			return push.Run(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Out, "out", "", "keep the results in `FILE`.json; the run that is there is printed beside")
	f.StringVar(&only, "only", "", "measure only what matches `REGEXP`; not kept")
	f.BoolVar(&o.Quick, "quick", false, "smaller files, fewer agents, few settings of the others; not kept")
	f.IntVar(&o.Pairs, "pairs", 7, "`N` pairs that each contest on one host takes")
	f.IntVar(&o.Rounds, "rounds", 5, "`N` rounds on links")
	f.BoolVar(&o.JSON, "json", false, "print the record as one JSON object, not as a table")
	f.BoolVarP(&mute, "quiet", "q", false, "do not say how far it is")
	return cmd
}
