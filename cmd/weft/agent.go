package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// agentOptions is what the command line of weft agent says, or its configuration file.
type agentOptions struct {
	config    string
	root      string
	name      string
	listen    string
	advertise string
	keys      []string
	noPlain   bool
	noShm     bool
	device    string
	grace     time.Duration
	sweep     time.Duration
	metrics   string
	log       string
	asJSON    bool
	child     bool
}

func newAgent() *cobra.Command {
	var o agentOptions
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Take what is pushed to this host: the daemon of a host",
		Long: `Waits for 'weft push' and does what it says: receives, checks, passes on to
other hosts, and writes, below --root and nowhere else. Only certificates with
the role "pusher" are listened to; an agent's own has the role "agent" and names
its services, agent/NAME.

What has arrived of a push that did not end well stays below ROOT/.weft, and a
later push of the same files goes on from there; after --sweep it is removed.

SIGTERM and Ctrl-C end the agent: it takes no new pushes, gives those under way
--grace to end, keeps what has arrived of the others, and tells their pushers.

Settings may stand in a TOML file, by the names of the flags; what the command
line says counts more. contrib/weft-agent.service is a unit for systemd.`,
		Example: `  weft agent --root /srv/data --keys /etc/weft/node1.pem
  weft agent --config /etc/weft/agent.toml --log json

  # /etc/weft/agent.toml
  root = "/srv/data"
  keys = ["/etc/weft/node1.pem"]
  metrics = "127.0.0.1:7471"
  grace = "30s"`,
		Args: noMore,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.flags(cmd.Flags())
	return cmd
}

func (o *agentOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.config, "config", "", "TOML `FILE` with what the command line does not say")
	f.StringVar(&o.root, "root", "", "`DIR` below which everything happens; it must be there")
	f.StringVar(&o.name, "name", "", "have the service agent/`NAME` only (all that the certificate names)")
	f.StringVar(&o.listen, "listen", "0.0.0.0:7470", "`ADDRESS` where pushers and other agents reach this one, for control and data")
	f.StringVar(&o.advertise, "advertise", "", "`ADDRESS` that others dial instead, as host or host:port")
	f.StringSliceVar(&o.keys, "keys", nil, "PEM `FILES` that say who this host is, from 'weft keys'; they are read again when they change")
	f.BoolVar(&o.noPlain, "no-plain", false, "take no data that is not encrypted, whatever the pusher wants")
	f.BoolVar(&o.noShm, "no-shm", false, "no shared memory with other processes of this host")
	f.StringVar(&o.device, "device", "", "RDMA device `NAME`: mlx5_0, or mlx5_0:1 with its port; or by WEFT_DEVICE (the best)")
	f.DurationVar(&o.grace, "grace", 0, "`TIME` that pushes under way have to end when the agent is stopped")
	f.DurationVar(&o.sweep, "sweep", 24*time.Hour, "`TIME` after which a partial that nobody came back for is removed")
	f.StringVar(&o.metrics, "metrics", "", "tell Prometheus at http://`ADDRESS`/metrics what happens")
	f.StringVar(&o.log, "log", "text", "`FORM` of the log on standard error: text or json")
	f.BoolVar(&o.asJSON, "json", false, "print a JSON object when pushers are served")
	f.BoolVar(&o.child, "child", false, "end with standard input")
	_ = f.MarkHidden("child") // it is there
}

// maxGrace and maxSweep are what nobody means.
const (
	maxGrace = 24 * time.Hour
	minSweep = time.Minute
	maxSweep = 365 * 24 * time.Hour
)

// check finds what is missing or makes no sense.
func (o *agentOptions) check() error {
	switch {
	case o.root == "":
		return errors.New("--root is missing: the directory below which everything happens")
	case len(o.keys) == 0:
		return errors.New("--keys is missing: who is this host? 'weft keys make' makes what it needs")
	case o.log != "text" && o.log != "json":
		return fmt.Errorf("--log %q: there are text and json", o.log)
	case o.grace < 0 || o.grace > maxGrace:
		return fmt.Errorf("--grace %v: from 0s to %v", o.grace, maxGrace)
	case o.sweep < minSweep || o.sweep > maxSweep:
		return fmt.Errorf("--sweep %v: from %v to %v", o.sweep, minSweep, maxSweep)
	}
	if o.device != "" {
		if p := newProvider("ibv", o.device); p.missing() != nil {
			return fmt.Errorf("--device: %w", p.noRDMA)
		}
	}
	return (&place{listen: o.listen}).checkListen()
}
