package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/ripc/find"
)

// maxReason is how many bytes are told of what gRPC says.
const maxReason = 300

// errDropped: the directory no longer has a claim.
var errDropped = fmt.Errorf("%w: its lease ran out, or somebody deleted it from the directory; claim it again", find.ErrLost)

// errBusy: others changed what a claim depends on, every time.
var errBusy = errors.New("others keep changing the directory: try again")

// errStays: a holder goes on renewing its lease, although its service is wanted.
var errStays = errors.New("its holder does not let go, and is not dead: stop it")

// explain says of an error of etcd's client what was done and where, and what it means if it is one that happens.
func (d *Directory) explain(ctx context.Context, err error, doing string, args ...any) error {
	if err == nil {
		return nil
	}
	doing = fmt.Sprintf(doing, args...)
	where := strings.Join(d.config.Endpoints, ", ")
	switch {
	case d.ctx.Err() != nil:
		return fmt.Errorf("%s: %w", doing, find.ErrClosed)
	case errors.Is(context.Cause(ctx), context.Canceled):
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	case errors.Is(err, errStays):
		return fmt.Errorf("%s: %w", doing, err)
	case unreachable(err):
		return fmt.Errorf("%s: no answer from the directory at %s: %w%s; is etcd running there, and has it a majority?",
			doing, where, err, d.reason(err))
	}
	return fmt.Errorf("%s: the directory at %s: %w", doing, where, err)
}

// reason is what was overheard, if that says more than the error.
func (d *Directory) reason(err error) string {
	text, _ := d.trouble.Load().(string)
	if text == "" || strings.Contains(err.Error(), text) {
		return ""
	}
	return " (" + printable.Clean(text, maxReason) + ")"
}

// overhear notes why a call got no answer. The client waits for a connection until the context ends, and then tells
// only that.
func (d *Directory) overhear(ctx context.Context, method string, request, reply any, connection *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	err := invoke(ctx, method, request, reply, connection, options...)
	d.trouble.Store(status.Convert(err).Message()) // empty if there is none
	return err
}

// unreachable reports whether nobody answered. The client gives errors of gRPC, of its own, and of contexts.
func unreachable(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || clientv3.IsConnCanceled(err) {
		return true
	}
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.DeadlineExceeded
}
