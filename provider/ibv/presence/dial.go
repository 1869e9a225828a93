package presence

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// outcome is how an attempt to watch over an office ended.
type outcome int

const (
	isGone      outcome = iota // nobody is there, or not who was
	unreachable                // who knows
	cutOff                     // hung up before it greeted, perhaps on one visitor too many
)

var errNoPort = errors.New("the peer did not say where its office is")

// dial calls an office. A host that does not answer is given as long as one that falls silent later.
func dial(ctx context.Context, at netip.AddrPort, keepAlive time.Duration) (net.Conn, error) {
	if !at.IsValid() || at.Port() == 0 {
		return nil, errNoPort
	}
	dialer := net.Dialer{Timeout: keepAlive, KeepAliveConfig: probes(keepAlive)}
	conn, err := dialer.DialContext(ctx, "tcp", at.String())
	if err != nil {
		return nil, err
	}
	limitSilence(conn, keepAlive)
	return conn, nil
}

// dialOutcome judges a call that did not get through. Only a host that is there refuses; and who was let in and thrown
// out in the same moment hears of a reset.
func dialOutcome(err error) outcome {
	switch {
	case errors.Is(err, unix.ECONNREFUSED):
		return isGone
	case errors.Is(err, unix.ECONNRESET):
		return cutOff
	}
	return unreachable
}

// greetingOutcome judges a connection that did not come to a greeting. If the process died, the next call is refused. Our
// own end is closed if who writes noticed it first.
func greetingOutcome(err error) outcome {
	if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, net.ErrClosed) {
		return cutOff
	}
	return isGone
}
