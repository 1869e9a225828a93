package push

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/ripc"
)

// tooLate is the reason of those who say nothing at all.
const tooLate = "it does not answer in time"

// lateName is the reason of those who could not even be asked.
const lateName = "its name could not be looked up in time"

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
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused: no agent listens there"
	case errors.As(err, &system):
		return system.Err.Error()
	case errors.As(err, &operation) && operation.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return tooLate
	case errors.Is(err, ripc.ErrLost):
		return "the connection with its agent broke"
	}
	return err.Error()
}

// refusalOf is what is wrong with the certificates of two ends, and what to do about it; it is the same for all hosts of which it is true.
func refusalOf(err error) string {
	switch {
	case errors.Is(err, keys.ErrExpired):
		return "the certificate of its agent is not valid now: make a new one with 'weft keys renew', and bring it there"
	case isOneOf(err, keys.ErrUntrusted, keys.ErrNoIdentity):
		return "the certificate of its agent is not from the authority of --keys: both have to be made by 'weft keys make' in one directory"
	case errors.Is(err, ripc.ErrUnreachable): // it has ended the handshake
		return "its agent does not accept the certificate of --keys, and has logged why: both have to be made by 'weft keys make' in one directory"
	}
	return "the certificate of its agent is for a host of another name: name the host so, or make one for this name with 'weft keys make DIR HOST --push'"
}
