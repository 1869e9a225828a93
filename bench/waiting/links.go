package waiting

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"strings"

	"github.com/weft-fabric/weft/rig/links/network"
)

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
		endPolitely(server)
		if err := server.Start(); err != nil {
			return nil, errors.Join(err, l.close())
		}
		l.servers, l.addresses = append(l.servers, server), append(l.addresses, address)
	}
	return l, nil
}

// root is the command of the root. It waits for members that are not there yet.
func (l *links) root(ctx context.Context, p *place, s setting) *exec.Cmd {
	root := l.network.Command(ctx, 0, p.weft, append(s.arguments(s.size.slow), "--provider", p.lane, "--plain", "--rate", p.rate,
		"--members", strings.Join(l.addresses, ","))...)
	endPolitely(root)
	return root
}

func (l *links) close() error {
	l.stop()
	for _, server := range l.servers {
		_ = server.Wait() // it was told to end
	}
	return l.network.Close()
}
