package devices

import (
	"errors"
	"fmt"
	"net/netip"
)

// ErrSubnet is what Reach fails with.
var ErrSubnet = errors.New("peer on another subnet")

// Reach reports whether packets come from a local to a remote GID that Match has chosen: because both are in one
// subnet, or because the kernel's tables have a route that leaves by the local GID's interface. It asks only for the way
// there; the peer asks for the way back.
func Reach(local, remote GID) error { return reach(local, remote, RouteTo) }

func reach(local, remote GID, routeTo func(to, source netip.Addr) (Route, error)) error {
	if (pair{local, remote}).sameSubnet() {
		return nil
	}
	if local.Kind == KindInfiniBand {
		return fmt.Errorf("%w: InfiniBand %v is here, %v is there: plug both ports into one subnet", ErrSubnet, local.subnet(), remote.subnet())
	}
	route, err := routeTo(remote.IP(), local.IP())
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w: put both into one subnet, or add a route (ip route add %v via ROUTER dev %s)",
			ErrSubnet, err, remote.subnet(), local.Link)
	case route.Local || route.Link == local.Link:
		return nil
	}
	return fmt.Errorf("%w: the route to %v leaves by %s, not by %s, whose RDMA device is used: "+
		"put both into one subnet, or add a route (ip route add %v via ROUTER dev %s)",
		ErrSubnet, remote, route.Link, local.Link, remote.subnet(), local.Link)
}
