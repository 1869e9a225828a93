// Package here runs what every example is: a half that serves, and one that asks, among the processes of this host.
package here

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/here"
)

// Run runs f with a node, until it returns; its context ends when somebody interrupts the program.
func Run(f func(ctx context.Context, n *ripc.Node) error) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	n, err := here.Open(here.Config{Directory: os.Getenv("WEFT_HOST_DIR")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	return f(ctx, n.Node)
}
