package devices

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRouteToLoopback(t *testing.T) {
	route, err := RouteTo(netip.MustParseAddr("::ffff:127.0.0.1"), netip.Addr{})
	if err != nil || route.Link != "lo" || !route.Local || route.Source != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("%+v, %v", route, err)
	}
}

func TestRouteFromASource(t *testing.T) {
	source := netip.MustParseAddr("127.0.0.7")
	if route, err := RouteTo(netip.MustParseAddr("127.0.0.1"), source); err != nil || route.Source != source {
		t.Errorf("%+v, %v", route, err)
	}
}

// What this machine has not cannot be the source of a packet.
func TestNoRoute(t *testing.T) {
	for _, to := range []string{"255.255.255.255", "198.51.100.1"} {
		if route, err := RouteTo(netip.MustParseAddr(to), netip.MustParseAddr("203.0.113.77")); !errors.Is(err, ErrRoute) {
			t.Errorf("to %s: %+v, %v", to, route, err)
		}
	}
	if _, err := RouteTo(netip.Addr{}, netip.Addr{}); err == nil {
		t.Error("a route to nowhere")
	}
}

func TestReach(t *testing.T) {
	by := func(route Route, err error) func(to, source netip.Addr) (Route, error) {
		return func(netip.Addr, netip.Addr) (Route, error) { return route, err }
	}
	for _, c := range []struct {
		local, remote string
		route         Route
		err           error
		says          string // empty: it is reached
	}{
		{"10.0.0.1/24", "10.0.0.2/24", Route{}, ErrRoute, ""}, // nobody is asked
		{"10.0.0.1/24", "10.0.1.2/24", Route{Link: "eth2"}, nil, ""},
		{"10.0.0.1/24", "10.0.1.2/24", Route{Link: "lo", Local: true}, nil, ""},
		{"10.0.0.1/24", "10.0.1.2/24", Route{Link: "eth0"}, nil,
			"the route to 10.0.1.2 leaves by eth0, not by eth2, whose RDMA device is used: put both into one subnet, or add a route (ip route add 10.0.1.0/24 via ROUTER dev eth2)"},
		{"10.0.0.1/24", "10.0.1.2/24", Route{}, ErrRoute, "no route: put both into one subnet, or add a route (ip route add 10.0.1.0/24"},
		{"ib:fe80::1/64", "ib:fec0::1/64", Route{}, nil, "InfiniBand fe80::/64 is here, fec0::/64 is there: plug both ports into one subnet"},
	} {
		local, remote := gids(c.local)[0], gids(c.remote)[0]
		local.Link = "eth2"
		err := reach(local, remote, by(c.route, c.err))
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s to %s: %v", c.local, c.remote, err)
		case c.says != "" && (!errors.Is(err, ErrSubnet) || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s to %s: %v, want %q", c.local, c.remote, err, c.says)
		}
	}
}

func FuzzParseRoute(f *testing.F) {
	answer := routeQuestion(netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"))
	order.PutUint16(answer[4:], unix.RTM_NEWROUTE)
	answer[messageHeader+7] = unix.RTN_UNICAST
	f.Add(answer)
	f.Add(appendAttribute(answer, unix.RTA_OIF, []byte{1, 0, 0, 0}))
	f.Add(appendAttribute(answer, unix.RTA_PREFSRC, []byte{10, 0, 0, 3}))
	f.Add(answer[:20])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, index, err := parseRoute(b); err != nil && (r != Route{} || index != 0) {
			t.Errorf("%+v with %v", r, err)
		}
	})
}
