package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

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

// errNobody: all servers refuse to be connected to.
var errNobody = errors.New("nobody listens there")

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
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	case errors.Is(err, errStays):
		return fmt.Errorf("%s: %w", doing, err)
	case unreachable(err):
		why := whyLate(ctx, err)
		reason := d.reason(why)
		return fmt.Errorf("%s: no answer from the directory at %s: %w%s; %s", doing, where, why, reason, advice(reason))
	}
	return fmt.Errorf("%s: the directory at %s: %w", doing, where, err)
}

// whyLate is an error, or why its context has ended if that has: the client says only that it has.
func whyLate(ctx context.Context, err error) error {
	if deadline, ok := ctx.Deadline(); ok && isLate(err) && time.Until(deadline) < again {
		<-ctx.Done() // the client's timer was first
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// lateError is why a context has ended that a call was given: the directory took too long.
type lateError struct{ limit time.Duration }

func (e lateError) Error() string { return fmt.Sprintf("none came within %v", e.limit) }

// Is makes it a context.DeadlineExceeded.
func (e lateError) Is(target error) bool { return target == context.DeadlineExceeded }

// reason is what was overheard, if that says more than the error.
func (d *Directory) reason(err error) string {
	text, _ := d.trouble.Load().(string)
	if _, said, ok := strings.Cut(text, `desc = "`); ok { // the rest is about how gRPC works
		text = strings.TrimPrefix(strings.TrimSuffix(said, `"`), "transport: ")
	}
	if text == "" || strings.Contains(err.Error(), text) || strings.HasPrefix(text, context.DeadlineExceeded.Error()) {
		return ""
	}
	return " (" + printable.Clean(text, maxReason) + ")"
}

// advice is what to look at, after what was overheard: a server that takes no TLS, or no other, runs well.
func advice(reason string) string {
	if strings.Contains(reason, "handshake failed") || strings.Contains(reason, "error reading server preface") {
		return "do both ends speak TLS, and does each know the other's authority?"
	}
	return "is etcd running there, and has it a majority?"
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

// knock spares whoever opens the directory the wait for servers that are not there. A call that does not wait for a connection fails
// when each server was tried, and says why one of them could not be connected to; the next call takes the next one. If all refused, that
// is all there is to know. Later they are waited for: they may be restarted.
func (d *Directory) knock(ctx context.Context, method string, request, reply any, connection *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if d.opened.Load() {
		return invoke(ctx, method, request, reply, connection, options...)
	}
	eager := slices.Concat(options, []grpc.CallOption{grpc.WaitForReady(false)})
	for range d.config.Endpoints {
		switch err := invoke(ctx, method, request, reply, connection, eager...); {
		case status.Code(err) != codes.Unavailable:
			return err
		case !strings.Contains(err.Error(), syscall.ECONNREFUSED.Error()):
			return invoke(ctx, method, request, reply, connection, options...)
		}
	}
	return errNobody // which the client does not try again
}

// unreachable reports whether nobody answered. The client gives errors of gRPC, of its own, and of contexts.
func unreachable(err error) bool {
	return isLate(err) || errors.Is(err, errNobody) || clientv3.IsConnCanceled(err) || status.Code(err) == codes.Unavailable
}

// isLate reports whether the time was up.
func isLate(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded
}
