// Package here opens a node with as little to say as possible: on a software NIC, among the processes of this user on this host, or
// wherever a resolver finds services. Who has a NIC, or wants to share a device or a resolver, opens the parts alone.
//
//	node, err := here.Open(here.Config{})
//
// A process keeps its services by a lease that it renews. On a host that is a second: whoever is stopped for about so long, by a debugger for
// instance, can lose them to another process that registers their names. One that is to be stopped has a longer one, by
// Config.Resolver and host.Config.Lease. With other resolvers it is lan.Config.Lease, a second, or etcd.Config.TTL, five; a table
// (static) has none.
package here

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/find/host"
	"github.com/weft-fabric/weft/verbs"
)

// Config describes a node. The zero Config is among the processes of this user on this host.
type Config struct {
	Directory string        // in which the services of this host meet; empty: the user's own
	Resolver  find.Resolver // who finds services instead; it is the node's from now on, also if Open fails
	Listen    string        // address and port that processes of other hosts dial: see package ripc, "Between hosts"; empty: only this host's do
	Keys      *keys.Keyring // who this process is, and whom it talks to
	Plain     bool          // talk to anybody, who reaches Listen or is called, without Keys
	Waiting   loop.Waiting  // how to wait when there is nothing to do: loop.Polling() takes a core, and is for those who have some to spare; zero: spin, then sleep
	Window    int           // messages of one process that a service gets before it releases some, about: see package ripc; 0: 64
	Log       *slog.Logger  // nil: only what nobody should miss is logged, a handler's panic for one, not its errors, by slog.Default()
}

// Node is a node with what it stands on.
type Node struct {
	*ripc.Node
	resolver find.Resolver
	device   *verbs.Device
}

// Open opens a node.
func Open(c Config) (n *Node, err error) {
	n = &Node{resolver: c.Resolver}
	if err := n.open(&c); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func (n *Node) open(c *Config) error {
	if n.resolver == nil {
		resolver, err := host.Open(host.Config{Dir: c.Directory, Log: c.Log})
		if err != nil {
			return err // n.resolver stays nil: what is here is a nil of some type
		}
		n.resolver = resolver
	}
	nic, err := c.newNIC()
	if err != nil {
		return err
	}
	if n.device, err = verbs.Open(nic); err != nil {
		return err
	}
	config := ripc.Config{Device: n.device, Resolver: n.resolver, Keys: c.Keys, Plain: c.Plain, Waiting: c.Waiting,
		Window: c.Window, Log: c.Log}
	if c.Listen != "" {
		config.Listen = []string{c.Listen}
	}
	n.Node, err = ripc.Open(config)
	return err
}

// newNIC opens a software NIC that awaits peers at the host of Listen, or on this host. Its port is another one: the node has that.
func (c *Config) newNIC() (*soft.Device, error) {
	config := soft.Config{Name: "ripc", Lanes: soft.AllLanes, Plain: c.Plain, Log: c.Log}
	if c.Listen != "" {
		name, _, err := net.SplitHostPort(c.Listen)
		if err != nil {
			return nil, fmt.Errorf("open a node: Listen: %w", err)
		}
		config.Listen = net.JoinHostPort(name, "0")
	}
	if c.Keys != nil {
		config.TLS = c.Keys.TLS()
	}
	return soft.New(config)
}

// Shutdown ends the node well, as ripc.Node.Shutdown does, and closes it.
func (n *Node) Shutdown(ctx context.Context) error {
	return errors.Join(n.Node.Shutdown(ctx), n.Close())
}

// Close closes the node at once, and what it stands on. A second Close does nothing.
func (n *Node) Close() (failed error) {
	if n.Node != nil {
		failed = n.Node.Close()
	}
	if n.resolver != nil {
		failed = errors.Join(failed, n.resolver.Close())
		n.resolver = nil
	}
	if n.device != nil {
		failed = errors.Join(failed, n.device.Close())
	}
	return failed
}
