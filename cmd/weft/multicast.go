package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/bench/perftest"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// multicastOptions are the flags of weft multicast, as they were given.
type multicastOptions struct {
	serve, members            string
	local                     int
	keep, child, plain        bool
	choice                    choiceFlags
	size, block, algorithm    string
	racks, wait, rate         string
	stripes, credits, repeat  int
	offload                   bool
	seed                      uint64
	timeout, peerTimeout      time.Duration
	asJSON, mute, everyMember bool
}

func newMulticast() *cobra.Command {
	o := &multicastOptions{}
	cmd := &cobra.Command{
		Use:   "multicast",
		Short: "Send a message to many processes at the speed of one copy (RDMC)",
		Long: `Sends a message from this process, the root, to all other members of a group,
compares its contents everywhere, and measures: the time from the submission at
the root to the completion at the last member, the rate at which each member
receives, the skew between the first receiver and the last.

Efficiency is the best possible time over the measured one. The best schedule
takes k + ⌈log₂ n⌉ − 1 steps for k blocks to n members, and a step takes as long
as a block of one plain copy: to member 1 alone, the fastest of up to three that
are timed first, or over links of --rate, which limits nothing by itself. On one
host all members share its cores, and the best is also not below a plain copy
for each receiver, by all cores at once; no time is expected there.

What is not said of --algorithm auto, --block, --stripes and --credits is chosen
by a cost model: the root and member 1 measure the latency, the cost of a block
and the rate, unless --rate says it, with at most a sixteenth of the message at
a time. Over TCP between hosts no block is chosen that takes more than 1.4 ms,
or 60 KiB: larger ones wait for each other. On links where such blocks are less
than 1 MiB members sleep between them, unless --wait says polling.

Times are by the clock that all members of one host read; across hosts by the
root's, when a member's report comes.

With --provider sim the same code runs in the simulator, in virtual time, with
thousands of members and messages larger than memory.

If a member dies, every other names it and fails. Ctrl-C ends all.`,
		Example: `  weft multicast --local 8 --size 256MB
  weft multicast --local 4 --provider tcp --algorithm chain --repeat 5 --json
  weft multicast --local 1000 --provider sim --rate 40gbit
  weft multicast --serve 0.0.0.0 --plain       on other hosts, and on this one:
  weft multicast --members host1,host2:7471 --plain --size 1GiB`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.addFlags(cmd)
	return cmd
}

func (o *multicastOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&o.local, "local", 0, "`N` members here: this process and more of its kind")
	f.StringVar(&o.members, "members", "", "`LIST` of where the others wait: ADDR,ADDR; port 7471 if none")
	f.StringVar(&o.serve, "serve", "", "wait as a member at `ADDR`: host, host:port, unix:/path, unix:@name")
	f.Lookup("serve").NoOptDefVal = perfAddress
	f.BoolVar(&o.keep, "keep", false, "with --serve: wait for the next root after the first")
	f.StringVar(&o.size, "size", "256MB", "`BYTES` of a message: 0, 64KiB, 256MB")
	f.StringVar(&o.block, "block", "auto", "`BYTES` of a block")
	f.StringVar(&o.algorithm, "algorithm", "pipeline", "`NAME`: auto, "+strings.Join(algorithmNames(), ", "))
	f.StringVar(&o.racks, "racks", "", "`LIST` of how many members each rack has: 4,4,8, or 8x64")
	f.IntVar(&o.stripes, "stripes", 0, "`N` schedules that take turns, to hide latency (chosen)")
	f.IntVar(&o.credits, "credits", 0, "`N` receives posted ahead (chosen)")
	f.BoolVar(&o.offload, "offload", false, "have the NIC relay by itself, if it can")
	f.IntVar(&o.repeat, "repeat", 0, "`N` runs, after one that warms up if N is above 1 (3; sim: 1)")
	f.StringVar(&o.wait, "wait", "hybrid", "`HOW` members wait: polling, sleeping, hybrid")
	f.StringVar(&o.choice.provider, "provider", "", "`NAME`: "+strings.Join(multicastProviders(), ", ")+"; or by WEFT_PROVIDER (auto)")
	f.StringVar(&o.choice.device, "device", "", "RDMA device `NAME`: mlx5_0, or mlx5_0:1 with its port; or by WEFT_DEVICE")
	f.StringVar(&o.rate, "rate", "", "`RATE` of the links, 200mbit or 40gbit: what efficiency is against; in the simulator also what they have (100gbit)")
	f.Uint64Var(&o.seed, "seed", 0, "`N` that contents, and the simulator's chance, depend on")
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "`TIME` until all members must have come")
	f.DurationVar(&o.peerTimeout, "peer-timeout", 5*time.Second, "give a silent member up after `TIME`")
	f.BoolVar(&o.plain, "plain", false, "allow other hosts, without encryption")
	f.BoolVar(&o.asJSON, "json", false, "print one JSON object; with --serve one event a line")
	f.BoolVarP(&o.mute, "quiet", "q", false, "no progress line")
	f.BoolVarP(&o.everyMember, "verbose", "v", false, "when each member was done")
	f.BoolVar(&o.child, "child", false, "end when standard input ends")
	_ = f.MarkHidden("child")
	for flag, words := range map[string][]string{"provider": multicastProviders(), "algorithm": append(algorithmNames(), autoAlgorithm), "wait": perftest.Waits} {
		// It fails only for a flag that does not exist.
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}

// autoAlgorithm is the value of --algorithm that leaves the choice to the root.
const autoAlgorithm = "auto"

// multicastProviders are the values of --provider. Within one process there is only the simulator.
func multicastProviders() (names []string) {
	for _, name := range providerNames() {
		if name != "inproc" {
			names = append(names, name)
		}
	}
	return append(names, "sim")
}

func algorithmNames() (names []string) {
	for _, a := range schedule.Algorithms() {
		names = append(names, a.String())
	}
	return names
}

// run chooses the role.
func (o *multicastOptions) run(cmd *cobra.Command, args []string) error {
	s, err := o.settings(cmd, args)
	if err != nil {
		return usageError{err}
	}
	if err := s.provider.missing(); err != nil {
		return err
	}
	switch {
	case o.serve != "":
		return isUsage(s.serve(cmd.Context()))
	case s.simulated:
		return s.shown(cmd.Context(), s.simulate)
	case o.local > 0:
		return s.shown(cmd.Context(), s.leadChildren)
	}
	return s.shown(cmd.Context(), func(ctx context.Context, show *castShow) error { return s.lead(ctx, show, s.members) })
}
