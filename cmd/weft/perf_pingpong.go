package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/bench/perftest"
	"github.com/weft-fabric/weft/bench/pingpong"
	"github.com/weft-fabric/weft/internal/units"
	"github.com/weft-fabric/weft/loop"
)

// dialTime bounds the call of a foreign server.
const dialTime = 10 * time.Second

// meetForeigner plays with a program that is not weft.
func (o *perfOptions) meetForeigner(cmd *cobra.Command, args []string) error {
	s, err := o.foreignSettings(cmd, args)
	if err != nil {
		return usageError{err}
	}
	if err := s.provider.missing(); err != nil {
		return err
	}
	if o.serve != "" {
		return servePingPong(cmd.Context(), s)
	}
	return s.measured(cmd.Context(), func(ctx context.Context, m *meter) error { return callPingPong(ctx, s, m) })
}

// foreignSettings checks the flags.
func (o *perfOptions) foreignSettings(cmd *cobra.Command, args []string) (*perfSettings, error) {
	if o.serve == perfAddress {
		o.serve = "127.0.0.1"
		if len(args) == 1 {
			o.serve, args = args[0], nil // "--serve ADDRESS", without the equals sign
		}
	}
	if err := o.checkForeign(cmd, args); err != nil {
		return nil, err
	}
	s := &perfSettings{timeout: o.peerTimeout, once: o.once, asJSON: o.asJSON, mute: o.mute, out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr()}
	var err error
	if s.provider, err = o.foreignChoice(); err != nil {
		return nil, err
	}
	if s.plan, err = o.foreignPlan(cmd); err != nil {
		return nil, err
	}
	s.address, err = withPort(o.serve+o.connect, o.port)
	if err == nil && o.serve != "" && !o.plain && beyondHost(s.address) {
		err = fmt.Errorf("--serve %s: other hosts could reach it, and nothing is encrypted: add --plain to allow it", s.address)
	}
	return s, err
}

func (o *perfOptions) checkForeign(cmd *cobra.Command, args []string) error {
	if o.peer != "pingpong" {
		return fmt.Errorf("--peer %q: there is pingpong", o.peer)
	}
	if err := atMostOne(cmd, []string{"serve", "connect"}); err != nil {
		return err
	}
	for _, flag := range strings.Fields("local child all measure depth list quiet-every pairs threads duration warm-up batch pin") {
		if cmd.Flags().Changed(flag) {
			return fmt.Errorf("--%s means nothing to --peer pingpong: leave it out", flag)
		}
	}
	switch {
	case len(args) > 0 && (len(args) > 1 || args[0] != "send"):
		return fmt.Errorf("operation %q: --peer pingpong knows send only", args[0])
	case o.serve == "" && o.connect == "":
		return fmt.Errorf("is ibv_rc_pingpong the client or the server? Say --serve to wait for it, or --connect HOST")
	case o.once && o.serve == "":
		return fmt.Errorf("--once is for --serve")
	case o.peerTimeout < minPeerTimeout || o.peerTimeout > maxPeerTimeout:
		return fmt.Errorf("--peer-timeout %v: it is between %v and %v", o.peerTimeout, minPeerTimeout, maxPeerTimeout)
	}
	return nil
}

// foreignChoice is the provider: there is only one that others have too.
func (o *perfOptions) foreignChoice() (provider, error) {
	p, err := o.choice.choose()
	if err != nil || p.lane == "ibv" {
		return p, err
	}
	if p.lane != "auto" {
		return p, fmt.Errorf("provider %s: --peer pingpong is met by provider ibv only", p.lane)
	}
	return newProvider("ibv", p.device), nil
}

// foreignPlan is the game as perf's own reports say it.
func (o *perfOptions) foreignPlan(cmd *cobra.Command) (perftest.Plan, error) {
	p := perftest.Plan{Operations: []perftest.Operation{perftest.Send}, Measures: []perftest.Measure{perftest.Latency},
		Sizes: []units.Size{pingpong.DefaultSize}, Depth: 1, List: 1, QuietEvery: 1, Pairs: 1, Threads: 1, Iterations: pingpong.DefaultRounds}
	if cmd.Flags().Changed("size") {
		size, err := units.ParseSize(o.size)
		if err != nil {
			return p, fmt.Errorf("--size: %w", err)
		}
		p.Sizes = []units.Size{size}
	}
	if cmd.Flags().Changed("iterations") {
		p.Iterations = o.plan.Iterations
	}
	if p.Iterations < 1 || p.Iterations > maxRounds {
		return p, fmt.Errorf("--iterations %d %w: it is between 1 and %d", p.Iterations, perftest.ErrPlan, maxRounds)
	}
	if err := p.Wait.UnmarshalText([]byte(o.wait)); err != nil {
		return p, fmt.Errorf("--wait: %w", err)
	}
	return p, p.Validate()
}

// maxRounds is as far as ibv_rc_pingpong can count.
const maxRounds = 1<<31 - 1

// withPort adds the port to an address that has none.
func withPort(address string, port uint16) (string, error) {
	if host, number, err := net.SplitHostPort(address); err == nil {
		if _, err := strconv.ParseUint(number, 10, 16); err != nil || host == "" {
			return "", fmt.Errorf("%q is no address: write host or host:port, 0.0.0.0 for all", address)
		}
		return address, nil
	}
	host := strings.Trim(address, "[]")
	if host == "" || strings.ContainsAny(host, "/@ ") || strings.Contains(host, ":") && net.ParseIP(host) == nil {
		return "", fmt.Errorf("%q is no address: write host or host:port", address)
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port))), nil
}

// callPingPong plays with a server.
func callPingPong(ctx context.Context, s *perfSettings, m *meter) error {
	conn, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "tcp", s.address)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("nobody listens there; start ibv_rc_pingpong first: %w", err)
	}
	if err != nil {
		return err
	}
	return errors.Join(playPingPong(ctx, s, m, conn, true), conn.Close())
}

// servePingPong plays with clients, one after the other.
func servePingPong(ctx context.Context, s *perfSettings) (err error) {
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	defer func() { _ = listener.Close() }() // ctx may have closed it
	say := &serverTalk{out: s.out, asJSON: s.asJSON}
	at := listener.Addr().String()
	say.tell(serverEvent{Event: "listening", Address: at, Providers: []string{"ibv"}}, "listening on %s for ibv_rc_pingpong; Ctrl-C ends it\n", at)
	for {
		conn, err := listener.Accept()
		if err != nil {
			return errors.Join(ctx.Err(), err)
		}
		err = s.measured(ctx, func(ctx context.Context, m *meter) error {
			return errors.Join(playPingPong(ctx, s, m, conn, false), conn.Close())
		})
		switch {
		case s.once || ctx.Err() != nil || say.failed() != nil:
			return errors.Join(err, say.failed())
		case err != nil:
			s.say(err.Error())
		}
	}
}

// playPingPong plays one game.
func playPingPong(ctx context.Context, s *perfSettings, m *meter, conn net.Conn, client bool) (err error) {
	l, err := laneNamed("ibv")
	if err != nil {
		return err
	}
	var reason lastReason
	d := s.device(s.timeout, &reason)
	d.way = conn
	device, err := l.open(d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	m.meet(l, device.port, "ibv_rc_pingpong at "+conn.RemoteAddr().String(), s.timeout)
	game := pingpong.Game{Client: client, Size: int(s.plan.Sizes[0]), Rounds: int(s.plan.Iterations), Silence: s.timeout, Waiting: waitings[s.plan.Wait]}
	result, err := game.Play(ctx, device.Device, conn)
	if err == nil || result.Partial {
		m.begin(0, result.Run)
		m.add(result)
	}
	return reason.explain(err)
}

// waitings are the ways to wait, as the loop has them.
var waitings = map[perftest.Wait]loop.Waiting{perftest.Polling: loop.Polling(), perftest.Sleeping: loop.Sleeping(), perftest.Hybrid: loop.Hybrid(loop.DefaultSpin)}
