package waiting

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/rig/links/network"
)

// place is where the members are.
type place struct {
	name   string // for people
	lane   string // that joins them
	weft   string
	rate   string // of the links, or nearly: without it weft would measure one copy first
	limits *links // nil: this host
}

// sampleLimit is how long a sample may take. It is not expected to take seconds.
const sampleLimit = time.Minute

// measure takes one sample.
func (p *place) measure(ctx context.Context, s setting) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleLimit)
	defer cancel()
	if p.limits != nil {
		return take(p.limits.root(ctx, p, s), p.lane)
	}
	root := exec.CommandContext(ctx, p.weft, append(s.arguments(s.size.repeats), "--provider", p.lane, "--rate", p.rate,
		"--local", strconv.Itoa(members))...)
	root.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	root.Cancel = func() error { return root.Process.Signal(syscall.SIGTERM) } // it ends its children
	return take(root, p.lane)
}

// linkRate is that of limited links: members that poll leave the machine enough to fill them.
const linkRate = "400mbit"

// places are those that this machine has, and what is missing.
func places(ctx context.Context, weft string) (all []*place, missing error) {
	for _, lane := range []string{"shm", "tcp"} {
		all = append(all, &place{name: lane, lane: lane, weft: weft, rate: "100gbit"})
	}
	limits, err := newLinks(ctx, weft)
	if err != nil {
		return all, err
	}
	return append(all, &place{name: linkRate + " links", lane: "tcp", weft: weft, rate: linkRate, limits: limits}), nil
}

// links is hosts with limited links, and the members that wait there.
type links struct {
	network   *network.Network
	servers   []*exec.Cmd
	addresses []string
	stop      context.CancelFunc // ends the servers
}

func newLinks(ctx context.Context, weft string) (*links, error) {
	n, err := network.Up(network.Config{Racks: []int{members}, Rate: linkRate})
	if err != nil {
		return nil, err
	}
	l := &links{network: n}
	ctx, l.stop = context.WithCancel(ctx)
	for host := 1; host < members; host++ {
		address := net.JoinHostPort(n.Address(host), "7471")
		server := n.Command(ctx, host, weft, "multicast", "--plain", "--json", "--keep", "--serve", address)
		server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) }
		if err := server.Start(); err != nil {
			return nil, errors.Join(err, l.close())
		}
		l.servers, l.addresses = append(l.servers, server), append(l.addresses, address)
	}
	return l, nil
}

// root is the command of the root. It waits for members that are not there yet.
func (l *links) root(ctx context.Context, p *place, s setting) *exec.Cmd {
	return l.network.Command(ctx, 0, p.weft, append(s.arguments(s.size.slow), "--provider", p.lane, "--plain", "--rate", p.rate,
		"--members", strings.Join(l.addresses, ","))...)
}

func (l *links) close() error {
	l.stop()
	for _, server := range l.servers {
		_ = server.Wait() // it was told to end
	}
	return l.network.Close()
}
