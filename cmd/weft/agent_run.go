package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/agent"
	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/member"
	pushway "github.com/weft-fabric/weft/push/way"
	"github.com/weft-fabric/weft/ripc/metrics"
)

// goMemory is what the Go heap may take: with the memory for blocks, which is outside of it, and what messages take, that is below 256 MiB.
const goMemory = 80 << 20

// boundMemory bounds the Go heap. Most of the time it is far from the limit, and to collect it every few megabytes, as Go would, takes a tenth of the
// processor time of many agents of a host.
func boundMemory() {
	debug.SetMemoryLimit(goMemory)
	debug.SetGCPercent(heapGrowth)
}

// heapGrowth is by how much the heap may grow, in percent, until it is collected.
const heapGrowth = 400

// blocksOfAgent is set by tests: see agent.Config.
var blocksOfAgent func(member.Blocks) member.Blocks

// agentFarewell is how long the last answers of an agent may take to go out.
const agentFarewell = 2 * time.Second

func (o *agentOptions) run(cmd *cobra.Command) error {
	if o.config != "" {
		file, err := readAgentFile(o.config)
		if err != nil {
			return usageError{err}
		}
		o.fill(cmd.Flags(), file)
	}
	if err := o.check(); err != nil {
		return usageError{err}
	}
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	if o.child {
		go runUntilEnd(cmd.InOrStdin(), stop)
	}
	boundMemory()
	return o.serve(ctx, cmd.OutOrStdout(), o.logger(cmd.ErrOrStderr()))
}

// logger is where an agent says what happens.
func (o *agentOptions) logger(errs io.Writer) *slog.Logger {
	if o.log == "json" {
		return slog.New(slog.NewJSONHandler(errs, nil))
	}
	return slog.New(slog.NewTextHandler(errs, nil))
}

// serve has an agent run until ctx ends. That it was told to end is no failure.
func (o *agentOptions) serve(ctx context.Context, out io.Writer, log *slog.Logger) (err error) {
	ring, err := o.keyring(log)
	if err != nil {
		return err
	}
	at, err := pushway.Open(pushway.Config{Listen: o.listen, Advertise: o.advertise, Keys: ring, Hardware: usableHardware(o.device), NoShared: o.noShm, Log: log})
	if err != nil {
		return (&place{listen: o.listen}).explainListen(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.NewCollector(at.Node(), nil))
	closeMetrics, err := serveMetrics(o.metrics, registry, log)
	if err != nil {
		return errors.Join(err, at.Close())
	}
	err = agent.Run(ctx, agent.Config{Blocks: blocksOfAgent, Place: at, Keys: ring, Root: o.root, Name: o.name, Version: version, PlainAllowed: !o.noPlain, Grace: o.grace,
		PartialAge: o.sweep, Ready: func() { o.ready(out, at.Address(), log) }, Stopping: func() { notify(log, "STOPPING=1") }, Log: log, Registry: registry})
	ending, cancel := context.WithTimeout(context.Background(), agentFarewell)
	defer cancel()
	if late := at.Shutdown(ending); late != nil && ctx.Err() == nil {
		err = errors.Join(err, late)
	}
	return errors.Join(err, closeMetrics())
}

// agentEvent is what weft agent tells programs.
type agentEvent struct {
	Event   string `json:"event"` // ready
	Address string `json:"address"`
}

// ready tells everybody that pushers are served.
func (o *agentOptions) ready(out io.Writer, address string, log *slog.Logger) {
	log.Info("pushers are served", "address", address)
	if o.asJSON {
		_ = json.NewEncoder(out).Encode(agentEvent{"ready", address}) // who does not listen is served all the same
	}
	notify(log, "READY=1")
}

// keyring is who this host is.
func (o *agentOptions) keyring(log *slog.Logger) (*keys.Keyring, error) {
	ring, err := keys.Open(keys.Config{Files: o.keys, Log: log})
	if err != nil {
		return nil, fmt.Errorf("--keys: %s", strings.TrimPrefix(err.Error(), "open keys: "))
	}
	if id := ring.Identity(); id.Role == control.RolePusher {
		return nil, fmt.Errorf("--keys %s: %s is a %s; an agent has a certificate of its own, with the role %s", o.keys[0], id.Name, id.Role, control.RoleAgent)
	}
	return ring, nil
}

// notify tells systemd how this process is, if it was started by it.
func notify(log *slog.Logger, state string) {
	at := os.Getenv("NOTIFY_SOCKET")
	if at == "" {
		return
	}
	if err := sendDatagram(at, state); err != nil {
		log.Warn("systemd was not told", "state", state, "error", err)
	}
}

// sendDatagram sends one to a Unix socket; package net knows those without a file by the same @.
func sendDatagram(at, text string) error {
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: at, Net: "unixgram"})
	if err != nil {
		return err
	}
	_, err = io.WriteString(c, text)
	return errors.Join(err, c.Close())
}
