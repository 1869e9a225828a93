package cast

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/connect/mesh"
	"github.com/weft-fabric/weft/rdmc/muster"
)

// listen opens a listener for the other members, at the address by which the root and this member reach each other.
func (m *member) listen(ctx context.Context, local net.Addr) (err error) {
	at := fmt.Sprintf("unix:@weft-multicast-%d-%s", os.Getpid(), rand.Text())
	if tcp, ok := local.(*net.TCPAddr); ok {
		at = net.JoinHostPort(tcp.IP.String(), "0")
	}
	m.listener, err = connect.Listen(ctx, at, m.Options)
	return err
}

// address is where the member waits for the others.
func (m *member) address() string {
	if m.listener == nil {
		return ""
	}
	return m.listener.Address()
}

// meet meets the other members.
func (m *member) meet(ctx context.Context, addresses []string) (err error) {
	if len(addresses) != len(m.job.Members) {
		return fmt.Errorf("the root told %d addresses of %d members", len(addresses), len(m.job.Members))
	}
	m.mesh, err = mesh.Join(ctx, mesh.Config{Name: fmt.Sprint("multicast ", m.job.Seed), Self: m.rank, Members: addresses,
		Names: m.job.Members, Listener: m.listener, Options: m.Options})
	return err
}

// form makes the groups, and connects them.
func (m *member) form(ctx context.Context) (err error) {
	var plans []muster.Plan
	for i, config := range m.node.configs() {
		plan := muster.Plan{Config: config, Made: m.node.made}
		if i == plainCopy {
			plan.Ranks = []int{0, 1}
		}
		plans = append(plans, plan)
	}
	m.groups, err = muster.Create(ctx, m.mesh, m.node.loop, m.node.domain, plans)
	return err
}

// leave has the groups say goodbye, for which they have a moment.
func (m *member) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), goodbyeTime)
	defer cancel()
	groups := m.groups
	m.groups = nil
	return muster.Close(ctx, groups)
}
