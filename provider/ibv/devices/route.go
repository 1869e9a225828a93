package devices

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Route is the way that the kernel's tables give for a packet.
type Route struct {
	Source netip.Addr // address that a packet bears as its sender's
	Link   string     // interface that it leaves by
	Local  bool       // it does not leave: the destination is this machine
}

// ErrRoute is what RouteTo fails with if the tables know no way.
var ErrRoute = errors.New("no route")

// RouteTo asks the kernel which way a packet from source, or from wherever the kernel likes if that is the zero Addr,
// takes to an address. Nothing is sent. The rules for sources (ip rule) are heeded, as they are common on machines with
// several NICs.
func RouteTo(to, source netip.Addr) (Route, error) {
	answer, err := askKernel(routeQuestion(to.Unmap(), source.Unmap()))
	if err != nil {
		return Route{}, fmt.Errorf("%w to %v: %w", ErrRoute, to, err)
	}
	route, index, err := parseRoute(answer)
	if err != nil {
		return Route{}, fmt.Errorf("%w to %v: %w", ErrRoute, to, err)
	}
	if !route.Source.IsValid() {
		route.Source = source // the kernel does not repeat it
	}
	if i, err := net.InterfaceByIndex(index); err == nil {
		route.Link = i.Name
	}
	return route, nil
}

// routeQuestion is a request for one route.
func routeQuestion(to, source netip.Addr) []byte {
	route := make([]byte, unix.SizeofRtMsg)
	route[0] = unix.AF_INET
	if to.Is6() {
		route[0] = unix.AF_INET6
	}
	route[1], route[2] = byte(to.BitLen()), byte(max(0, source.BitLen()))
	b := appendAttribute(question(unix.RTM_GETROUTE, route), unix.RTA_DST, to.AsSlice())
	if source.IsValid() {
		b = appendAttribute(b, unix.RTA_SRC, source.AsSlice())
	}
	return b
}

// parseRoute reads an answer: a route, with the index of its interface.
func parseRoute(b []byte) (r Route, index int, err error) {
	route, attributes, err := parseAnswer(b, unix.RTM_NEWROUTE, unix.SizeofRtMsg)
	if err != nil {
		return Route{}, 0, err
	}
	switch kind := route[7]; kind {
	case unix.RTN_UNICAST, unix.RTN_LOCAL:
		r.Local = kind == unix.RTN_LOCAL
	default:
		return Route{}, 0, unix.ENETUNREACH // a route that says there is none
	}
	if value := findAttribute(attributes, unix.RTA_OIF); len(value) == 4 {
		index = int(order.Uint32(value))
	}
	r.Source, _ = netip.AddrFromSlice(findAttribute(attributes, unix.RTA_PREFSRC))
	return r, index, nil
}
