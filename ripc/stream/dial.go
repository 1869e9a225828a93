package stream

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/weft-fabric/weft/ripc"
)

// Dial connects with a service by its name.
func Dial(ctx context.Context, node *ripc.Node, name string) (*Conn, error) {
	return dial(ctx, node, Addr{ID: ripc.Name(name), Name: name})
}

// DialID connects with a service by its ID.
func DialID(ctx context.Context, node *ripc.Node, to ripc.ID) (*Conn, error) {
	return dial(ctx, node, Addr{ID: to})
}

func dial(ctx context.Context, node *ripc.Node, to Addr) (*Conn, error) {
	c := newConn(node, Addr{ID: node.ID()}, to)
	err := ctx.Err()
	if err == nil {
		err = c.line.Open(to.ID, []byte(hello))
	}
	if err == nil {
		err = c.line.Await(ctx, &c.ready)
	}
	if err == nil {
		err = c.refusal()
	}
	if err != nil {
		c.giveUp()
		return nil, &net.OpError{Op: "dial", Net: network, Addr: to, Err: explain(to, err)}
	}
	return c, nil
}

// explain says what an error means for who dials.
func explain(to Addr, err error) error {
	switch {
	case errors.Is(err, ripc.ErrNoLine):
		return fmt.Errorf("%s is no listener of package stream: %w", to, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s did not answer in time: %w", to, err)
	}
	return err
}

// refusal is why the connection was not accepted.
func (c *Conn) refusal() (err error) {
	if failed := c.line.Do(func() { err = c.why }); failed != nil {
		return failed
	}
	return err
}

// giveUp is Close, but waits for nobody: if the service accepts the connection all the same, it is told then.
func (c *Conn) giveUp() {
	c.closing.Do(func() {
		c.handle.Closed()
		_ = c.line.Do(c.close) // after the node's Close there is nothing to end
	})
}

// Dialer dials services for libraries that bring a way of dialling of their own.
type Dialer struct{ Node *ripc.Node }

// Dial connects with a service by its name, as grpc.WithContextDialer wants it.
func (d Dialer) Dial(ctx context.Context, name string) (net.Conn, error) {
	c, err := Dial(ctx, d.Node, name)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// DialContext connects with a service by its name, as http.Transport and redis.Options want it. They have names with ports, which
// are left out; the network is, too.
func (d Dialer) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	return d.Dial(ctx, address)
}
