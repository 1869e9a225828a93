package push

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/ripc"
)

// Two hosts that fail alike have the same text, whatever their addresses are.
func TestReasonsHaveNoAddresses(t *testing.T) {
	dial := func(err error) error {
		return fmt.Errorf("hello: %w", errors.Join(ripc.ErrUnreachable, &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{Port: 7470}, Err: err}))
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), "connection refused: no agent listens there"},
		{dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), "no route to host"},
		{dial(&net.DNSError{Err: "no such host", Name: "node1", IsNotFound: true}), "its name is not known"},
		{dial(&net.DNSError{Err: "server misbehaving", Name: "node1"}), "its name was not found: server misbehaving"},
		{dial(os.ErrDeadlineExceeded), "it does not answer in time"},
		{fmt.Errorf("call: %w", errors.Join(ripc.ErrUnreachable, context.DeadlineExceeded)), "it does not answer in time"},
		{fmt.Errorf("open: call service agent/node1: %w: the peer is gone", ripc.ErrLost), "the connection with its agent broke"},
	} {
		if got := troubleOf(c.err); got.Class != control.Unreachable || got.Text != c.want {
			t.Errorf("%v: %+v, want %q", c.err, got, c.want)
		}
		if got := silent(c.err); got.Text != strings.TrimSuffix("does not answer any more: "+c.want, ": it does not answer in time") {
			t.Errorf("%+v", got)
		}
	}
	for says, err := range map[string]error{
		"weft keys renew":          keys.ErrExpired,
		"authority of --keys":      keys.ErrUntrusted,
		"does not accept":          ripc.ErrUnreachable,
		"a host of another name: ": errors.New("not listed"),
	} {
		err = fmt.Errorf("hello: node1:7470: %w: %w", ripc.ErrForbidden, err)
		if got := troubleOf(err); got.Class != control.Authorization || !strings.Contains(got.Text, says) || strings.Contains(got.Text, "node1") {
			t.Errorf("%v: %+v, want %q", err, got, says)
		}
	}
	if got := troubleOf(errors.New("odd")); got.Class != control.Other || got.Text != "odd" {
		t.Errorf("%+v", got)
	}
}

// Who has not answered in time may have a name that nobody knows, or that nobody could look up.
func TestNamesThatAreLate(t *testing.T) {
	late := fmt.Errorf("hello: %w", errors.Join(ripc.ErrUnreachable, context.DeadlineExceeded))
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, c := range []struct {
		err, found error
		want       string
	}{
		{late, nil, "it does not answer in time"},
		{late, &net.DNSError{Err: "no such host", IsNotFound: true}, "its name is not known"},
		{late, &net.DNSError{Err: "i/o timeout", IsTimeout: true}, lateName},
		{errors.Join(ripc.ErrUnreachable, refused), &net.DNSError{IsNotFound: true}, "connection refused: no agent listens there"},
	} {
		err := orItsName(t.Context(), "node1:7470", c.err, func(_ context.Context, name string) ([]string, error) {
			if name != "node1" {
				t.Errorf("%q is looked up", name)
			}
			return nil, c.found
		})
		if got := troubleOf(err); got.Class != control.Unreachable || got.Text != c.want {
			t.Errorf("%v, %v: %+v, want %q", c.err, c.found, got, c.want)
		}
	}
}
