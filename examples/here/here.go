// Package here opens a node for the examples: on a software NIC, among the processes of this host, with nothing to configure. It
// also runs what every example is: a half that serves, and one that asks.
package here

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find/host"
	"github.com/weft-fabric/weft/verbs"
)

// Node is a node with what it stands on.
type Node struct {
	*ripc.Node
	resolver *host.Resolver
	device   *verbs.Device
}

// Open opens one. Its messages go through shared memory.
func Open() (n *Node, err error) {
	n = &Node{}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	nic, err := soft.New(soft.Config{Lanes: soft.AllLanes})
	if err != nil {
		return n, err
	}
	if n.device, err = verbs.Open(nic); err != nil {
		return n, err
	}
	if n.resolver, err = host.Open(host.Config{Dir: os.Getenv("WEFT_HOST_DIR")}); err != nil {
		return n, err
	}
	n.Node, err = ripc.Open(ripc.Config{Device: n.device, Resolver: n.resolver})
	return n, err
}

// Close closes everything.
func (n *Node) Close() (failed error) {
	if n.Node != nil {
		failed = n.Node.Close()
	}
	if n.resolver != nil {
		failed = errors.Join(failed, n.resolver.Close())
	}
	if n.device != nil {
		failed = errors.Join(failed, n.device.Close())
	}
	return failed
}

// Run runs f with a node, until it returns; its context ends when somebody interrupts the program.
func Run(f func(ctx context.Context, n *ripc.Node) error) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	n, err := Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	return f(ctx, n.Node)
}
