package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/bench/perftest"
	"github.com/weft-fabric/weft/bench/pingpong"
	"github.com/weft-fabric/weft/connect"
)

// perfAddress is where a server waits if nothing else is said; perfPort is that of an address that has none.
const (
	perfAddress = "127.0.0.1:7471"
	perfPort    = 7471
)

// How long a silent peer may be waited for.
const (
	minPeerTimeout = 10 * time.Millisecond
	maxPeerTimeout = time.Hour
)

// perfOptions are the flags of weft perf, as they were given.
type perfOptions struct {
	serve, connect           string
	local, once, child       bool
	choice                   choiceFlags
	peer, size, wait         string
	port                     uint16
	measure, pin             string
	all, plain, asJSON, mute bool
	peerTimeout              time.Duration
	plan                     perftest.Plan
}

func newPerf() *cobra.Command {
	o := &perfOptions{}
	cmd := &cobra.Command{
		Use:   "perf [operation…]",
		Short: "Measure latency, bandwidth and message rate between two processes",
		Long: `Measures verbs between a client and a server: write, read, send, writeimm,
fetch-add, compare-swap, or atomic for the last two; without a name write. What
perftest is for libibverbs. Lanes are measured as they are without TLS.

Latency of write, send and writeimm is half of a ping-pong; of read and the
atomics it is from post to completion. Write polls memory for the answer, so its
latency needs --wait polling; the others wait for completions. Bandwidth keeps
--depth messages under way on a pair, but at most 256 MiB on all, or 2 on each;
for the message rate raise --list and --quiet-every. After it the target's bytes
are compared: "verified".

With --peer pingpong it plays with ibv_rc_pingpong of libibverbs, as its client
or server; --size (4KiB) and --iterations (1000) are the same on both sides.

Ctrl-C ends the row and prints what was measured until then (exit status 130;
SIGTERM does the same, 143); a second one ends at once.`,
		Example: `  weft perf --local                    both sides here, over shared memory
  weft perf --local --provider tcp send --size 8
  weft perf --local --size 8 --measure bandwidth --list 32 --quiet-every 64
  weft perf --serve                    in one window, and in another:
  weft perf --connect 127.0.0.1 read --all
  weft perf --connect HOST --peer pingpong     with ibv_rc_pingpong -g INDEX`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.addFlags(cmd)
	return cmd
}

func (o *perfOptions) addFlags(cmd *cobra.Command) {
	f, p := cmd.Flags(), &o.plan
	f.StringVar(&o.serve, "serve", "", "wait for clients at `ADDR`: host, host:port, unix:/path, unix:@name")
	f.Lookup("serve").NoOptDefVal = perfAddress
	f.StringVar(&o.connect, "connect", "", "measure with the server at `ADDR`; port 7471 if it has none")
	f.BoolVar(&o.local, "local", false, "measure with a server that is started here for it")
	f.BoolVar(&o.once, "once", false, "with --serve: end after one client")
	f.StringVar(&o.peer, "peer", "", "whom to meet, if not weft: `NAME`: pingpong")
	f.Uint16Var(&o.port, "port", pingpong.DefaultPort, "with --peer: TCP port of an address that has none")
	o.choice.add(cmd)
	f.StringVar(&o.size, "size", "8,4KiB,1MiB", "`BYTES` of a message: 8, 1KiB..1MiB")
	f.BoolVar(&o.all, "all", false, "all sizes from 1 B to 64 MiB")
	f.StringVar(&o.measure, "measure", "both", "`WHAT`: latency, bandwidth or both")
	f.IntVar(&p.Depth, "depth", 128, "bandwidth: `N` requests under way on a pair")
	f.IntVar(&p.List, "list", 1, "bandwidth: `N` requests at a time, at most --depth")
	f.IntVar(&p.QuietEvery, "quiet-every", 1, "bandwidth: one completion for `N`, at most --depth")
	f.IntVar(&p.Pairs, "pairs", 0, "`N` queue pairs, divided among the threads (one each)")
	f.IntVar(&p.Threads, "threads", 1, "`N` threads a side, each with its completion queue")
	f.Int64Var(&p.Iterations, "iterations", 0, "`N` messages a thread and row, instead of --duration")
	f.DurationVar(&p.Duration, "duration", 500*time.Millisecond, "`TIME` that a row of the table is measured")
	f.DurationVar(&p.WarmUp, "warm-up", 50*time.Millisecond, "`TIME` before that; at least one message")
	f.IntVar(&p.Batch, "batch", 0, "latency: `N` messages a sample (as many as take 1 µs)")
	f.StringVar(&o.wait, "wait", "polling", "`HOW` to wait: polling, sleeping, hybrid; write: polling")
	f.StringVar(&o.pin, "pin", "", "bind threads to `CORES`: 0,1 or 0-3; the client's first")
	f.DurationVar(&o.peerTimeout, "peer-timeout", 5*time.Second, "give a silent peer up after `TIME`; the longer of both")
	f.BoolVar(&o.plain, "plain", false, "allow other hosts, without encryption")
	f.BoolVar(&o.asJSON, "json", false, "print one JSON object; with --serve one event a line")
	f.BoolVarP(&o.mute, "quiet", "q", false, "no progress line")
	f.BoolVar(&o.child, "child", false, "end when standard input ends")
	_ = f.MarkHidden("child")
	o.addCompletions(cmd)
}

func (o *perfOptions) addCompletions(cmd *cobra.Command) {
	cmd.ValidArgs = append([]string{"atomic"}, perftest.Operations...)
	for flag, words := range map[string][]string{"peer": {"pingpong"}, "wait": perftest.Waits, "measure": append([]string{"both"}, perftest.Measures...)} {
		// It fails only for a flag that does not exist.
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}

// run chooses the role.
func (o *perfOptions) run(cmd *cobra.Command, args []string) error {
	if o.peer != "" {
		return o.meetForeigner(cmd, args)
	}
	set, err := o.settings(cmd, args)
	if err != nil {
		return usageError{err}
	}
	if err := set.provider.missing(); err != nil {
		return err
	}
	switch {
	case o.serve != "":
		return isUsage(serve(cmd.Context(), set))
	case o.connect != "":
		return set.measured(cmd.Context(), func(ctx context.Context, m *meter) error { return dialServer(ctx, set, m, o.connect, false) })
	case set.provider.lane == "inproc":
		return set.measured(cmd.Context(), func(ctx context.Context, m *meter) error { return measureInProcess(ctx, set, m) })
	}
	return set.measured(cmd.Context(), func(ctx context.Context, m *meter) error { return measureWithChild(ctx, set, m) })
}

// isUsage makes a usage error of what only the command line can have caused.
func isUsage(err error) error {
	if errors.Is(err, perftest.ErrPlan) || errors.Is(err, connect.ErrArgument) {
		return usageError{err}
	}
	return err
}

// checkRole sees that there is one role and that it fits the rest.
func (o *perfOptions) checkRole(cmd *cobra.Command, lane string) error {
	changed := cmd.Flags().Changed
	for _, group := range []string{"serve connect local", "size all", "iterations duration"} {
		if err := atMostOne(cmd, strings.Fields(group)); err != nil {
			return err
		}
	}
	switch {
	case changed("serve") && o.serve == "", changed("connect") && o.connect == "":
		return fmt.Errorf("an address is empty: write host:port, unix:/path or unix:@name")
	case o.serve == "" && o.connect == "" && !o.local:
		return fmt.Errorf("whom to measure with? Say --local, or --serve on one side and --connect ADDRESS on the other")
	case lane == "inproc" && !o.local:
		return fmt.Errorf("provider inproc is within one process: it needs --local")
	case o.peerTimeout < minPeerTimeout || o.peerTimeout > maxPeerTimeout:
		return fmt.Errorf("--peer-timeout %v: it is between %v and %v", o.peerTimeout, minPeerTimeout, maxPeerTimeout)
	case changed("port"):
		return fmt.Errorf("--port is for --peer: here it stands in the address")
	case o.once && o.serve == "":
		return fmt.Errorf("--once is for --serve")
	case !o.plain && beyondHost(o.serve):
		return fmt.Errorf("--serve %s: other hosts could reach it, and nothing is encrypted: add --plain to allow it", o.serve)
	}
	if o.serve == "" {
		return nil
	}
	for _, flag := range strings.Fields("size all measure depth list quiet-every pairs threads iterations duration warm-up batch wait") {
		if changed(flag) {
			return fmt.Errorf("--%s is said by the client, not with --serve", flag)
		}
	}
	return nil
}

// atMostOne refuses flags that exclude each other.
func atMostOne(cmd *cobra.Command, flags []string) error {
	given := ""
	for _, flag := range flags {
		switch {
		case !cmd.Flags().Changed(flag):
		case given != "":
			return fmt.Errorf("--%s and --%s exclude each other: leave one out", given, flag)
		default:
			given = flag
		}
	}
	return nil
}

// beyondHost reports whether other hosts can reach an address. Names are left to package connect.
func beyondHost(address string) bool {
	at, err := netip.ParseAddrPort(address)
	return err == nil && !at.Addr().IsLoopback() || strings.HasPrefix(address, ":") // all of this host's
}
