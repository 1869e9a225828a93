package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/control"
)

// pushOptions are the flags of weft push, and of the commands that ask about one, as they were given.
type pushOptions struct {
	hosts, exclude           []string
	nobody                   []string // of exclude: they leave out no host
	local, port, fanout      int
	keep                     bool
	keys                     []string
	choice                   choiceFlags
	plain                    bool
	connect, stall, deadline time.Duration
	racks, algorithm, block  string
	rate, bandwidth          string
	force, preserve          bool
	checksum, dryRun         bool
	expect, failedHosts      string
	file                     string
	asJSON, mute, verbose    bool
}

func newPush() *cobra.Command { return newPushWith(&pushOptions{}) }

func newPushWith(o *pushOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "push SRC... DEST -w HOSTS",
		Short: "Put files and trees on many hosts, at the speed of one copy",
		Long: `Puts files and directories on many hosts at once, in hardly more time than one
copy takes: hosts pass blocks on to each other (RDMC). Every block is checked
before it is passed on, every file is complete before it gets its name. A host
on which 'weft agent' runs is all that it takes, and a certificate with the role
"pusher" here: 'weft keys make DIR HOST... --push' makes both sides'.

HOSTS are names with ranges, and ports if they are not 7470: node[01-64],
db1:7471. ^FILE reads them from a file, - from standard input. DEST is a path
within the root of each agent, or one below it if it does not begin with a
slash. A directory SRC comes to DEST/SRC, and with a slash behind it, its
contents to DEST. One file SRC becomes DEST, unless DEST is a directory or ends
in a slash. What is there already and identical is not sent; what is different
needs -f. Nothing is ever deleted, and pipes, sockets and devices are left out.

What failed is told by the exit status: 0 every host has verified it, 1 other,
2 usage, 3 source missing or changed, 4 no host reached, 5 some hosts failed,
6 integrity, 7 authentication, 8 preflight (space, permission, something else is
there), 9 deadline or stall, 130 interrupted. Say it again, and only what is
missing is sent; --failed-hosts FILE has the hosts for -w ^FILE.

Ctrl-C shows what every host does; a second one within a second stops. The
environment may have any flag: PUSH_BWLIMIT=100MB, PUSH_KEYS=pusher.pem. So may
push.toml in ~/.config/weft or /etc/weft: bwlimit = "100MB".`,
		Example: `  weft push --local 8                          try it: 256 MiB to 8 agents here
  weft push model.bin -w 'node[01-64]' models/ --keys pusher.pem
  weft push tree/ -w ^hosts -x node07 /srv/data/tree -f --failed-hosts failed
  weft push image.tar -w db1,db2:7471 images/ --bwlimit 400mbit -n`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.addTargets(cmd)
	o.addTransfer(cmd)
	f := cmd.Flags()
	f.BoolVarP(&o.force, "force", "f", false, "replace files that are different")
	f.BoolVarP(&o.dryRun, "dry-run", "n", false, "plan, and ask all hosts whether they could; change nothing")
	f.StringVar(&o.expect, "expect", "", "`HASH` that the content must have: sha256: and 64 hexadecimal digits")
	f.StringVar(&o.failedHosts, "failed-hosts", "", "write the hosts that do not have it to `FILE`, one a line")
	f.BoolVar(&o.keep, "keep", false, "with --local: leave what was made")
	return cmd
}

// addTargets adds the flags that say which hosts, and who asks.
func (o *pushOptions) addTargets(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVarP(&o.hosts, "hosts", "w", nil, "`HOSTS`: node[01-64],db1:7471, ^FILE, or - for standard input; may be repeated")
	f.Func("hosts-file", "`FILE` with hosts, the same as -w ^FILE", func(file string) error { return f.Set("hosts", "^"+file) })
	f.StringArrayVarP(&o.exclude, "exclude", "x", nil, "`HOSTS` that are left out")
	f.IntVar(&o.port, "port", control.DefaultPort, "`PORT` of agents that have no other")
	f.StringSliceVar(&o.keys, "keys", nil, "PEM `FILES` that say who pushes (pusher.pem in ~/.config/weft or /etc/weft)")
	f.StringVar(&o.file, "config", "", "TOML `FILE` with flags that are not said here (push.toml in ~/.config/weft or /etc/weft)")
	f.IntVar(&o.fanout, "fanout", 32, "`N` hosts that are called at a time")
	f.DurationVar(&o.connect, "connect-timeout", 10*time.Second, "`TIME` for a host to answer")
	f.DurationVar(&o.stall, "stall-timeout", time.Minute, "`TIME` without any progress before it is given up")
	f.DurationVar(&o.deadline, "deadline", 0, "`TIME` for everything (none)")
	f.BoolVarP(&o.preserve, "preserve", "p", false, "owners, setuid and setgid too, where the agent is root")
	f.BoolVar(&o.checksum, "checksum", false, "read everything: believe no time of a file, and no cache of hashes")
	f.BoolVar(&o.asJSON, "json", false, "print one JSON object a line for each event")
	f.BoolVarP(&o.mute, "quiet", "q", false, "print errors only")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "every host, and the log")
}

// addTransfer adds the flags that say how the bytes travel, or only among agents that are started for it.
func (o *pushOptions) addTransfer(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&o.local, "local", 0, "start `N` agents here, in temporary folders")
	f.StringVar(&o.bandwidth, "bwlimit", "", "`RATE` at which each host sends at most: 100MB or 800mbit (all it can)")
	f.StringVar(&o.rate, "rate", "", "`RATE` of the links, 10gbit, if it need not be measured")
	f.StringVar(&o.racks, "racks", "", "`FILE` with lines \"rack: hosts\", or a regular expression over names whose first group is the rack")
	f.StringVar(&o.algorithm, "algorithm", push.Auto, "`NAME`: auto, "+strings.Join(algorithmNames(), ", "))
	f.StringVarP(&o.block, "block", "s", push.Auto, "`BYTES` of a block: auto, or 16KiB to 4MiB")
	f.StringVar(&o.choice.provider, "provider", "", "`NAME` of the way of the bytes: "+strings.Join(pushWays, ", ")+"; or by WEFT_PROVIDER (auto)")
	f.StringVar(&o.choice.device, "device", "", "RDMA device `NAME`: mlx5_0, or mlx5_0:1 with its port; or by WEFT_DEVICE")
	f.BoolVar(&o.plain, "plain", false, "do not encrypt blocks on TCP; each is checked all the same")
	for flag, words := range map[string][]string{"provider": pushWays, "algorithm": append(algorithmNames(), push.Auto)} {
		// It fails only for a flag that does not exist.
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}

// pushWays are the values of --provider.
var pushWays = []string{push.Auto, "ibv", "shm", "tcp"}

func (o *pushOptions) run(cmd *cobra.Command, args []string) error {
	s, err := o.settings(cmd, args)
	if err != nil {
		return usageError{err}
	}
	return s.withAgents(cmd.Context(), func(ctx context.Context) error { return s.push(ctx) })
}
