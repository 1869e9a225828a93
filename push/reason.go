package push

import (
	"context"
	"errors"
	"net"
	"os"

	"github.com/weft-fabric/weft/ripc"
)

// tooLate is the reason of those who say nothing at all.
const tooLate = "it does not answer in time"

// reasonOf is why a host could not be reached, without what differs from host to host, such as its address: hosts with the same reason are
// told together.
func reasonOf(err error) string {
	var unknown *net.DNSError
	var system *os.SyscallError
	var operation *net.OpError
	switch {
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return "its name is not known"
	case errors.As(err, &unknown):
		return "its name was not found: " + unknown.Err
	case errors.As(err, &system):
		return system.Err.Error()
	case errors.As(err, &operation) && operation.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return tooLate
	case errors.Is(err, ripc.ErrLost):
		return "the connection with its agent broke"
	}
	return err.Error()
}
