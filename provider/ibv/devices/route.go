package devices

import (
	"encoding/binary"
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

// The layout of what is said to the kernel: a header, a route, and attributes at multiples of four bytes.
const (
	attributesAt    = unix.SizeofNlMsghdr + unix.SizeofRtMsg
	attributeHeader = unix.SizeofRtAttr
	maxAnswer       = 8192 // bytes
)

var order = binary.NativeEndian

// routeQuestion is a request for one route (RTM_GETROUTE).
func routeQuestion(to, source netip.Addr) []byte {
	b := make([]byte, attributesAt)
	order.PutUint16(b[4:], unix.RTM_GETROUTE)
	order.PutUint16(b[6:], unix.NLM_F_REQUEST)
	b[unix.SizeofNlMsghdr] = unix.AF_INET
	if to.Is6() {
		b[unix.SizeofNlMsghdr] = unix.AF_INET6
	}
	b[unix.SizeofNlMsghdr+1] = byte(to.BitLen())
	b = appendAttribute(b, unix.RTA_DST, to.AsSlice())
	if source.IsValid() {
		b[unix.SizeofNlMsghdr+2] = byte(source.BitLen())
		b = appendAttribute(b, unix.RTA_SRC, source.AsSlice())
	}
	order.PutUint32(b, uint32(len(b)))
	return b
}

func appendAttribute(b []byte, kind uint16, value []byte) []byte {
	b = order.AppendUint16(b, uint16(attributeHeader+len(value)))
	b = order.AppendUint16(b, kind)
	return append(b, value...) // addresses have four or sixteen bytes: the next attribute is aligned
}

// askKernel carries a question to the kernel and its answer back.
func askKernel(question []byte) ([]byte, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Sendto(fd, question, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	answer := make([]byte, maxAnswer)
	n, _, err := unix.Recvfrom(fd, answer, unix.MSG_DONTWAIT) // the kernel answers before Sendto returns
	return answer[:max(0, n)], err
}

var errAnswer = errors.New("the kernel's answer is not understood")

// parseRoute reads an answer: a route, with the index of its interface, or an error.
func parseRoute(b []byte) (r Route, index int, err error) {
	if len(b) < unix.SizeofNlMsghdr+4 {
		return Route{}, 0, errAnswer
	}
	said, body := order.Uint16(b[4:]), b[unix.SizeofNlMsghdr:]
	switch failed := -int32(order.Uint32(body)); {
	case said == unix.NLMSG_ERROR && failed > 0:
		return Route{}, 0, unix.Errno(failed)
	case said != unix.RTM_NEWROUTE || len(b) < attributesAt:
		return Route{}, 0, errAnswer
	}
	switch kind := body[7]; kind {
	case unix.RTN_UNICAST, unix.RTN_LOCAL:
		r.Local = kind == unix.RTN_LOCAL
	default:
		return Route{}, 0, unix.ENETUNREACH // a route that says there is none
	}
	return parseAttributes(r, b[attributesAt:])
}

// parseAttributes adds to a route what stands behind it.
func parseAttributes(r Route, b []byte) (_ Route, index int, err error) {
	for len(b) >= attributeHeader {
		size, kind := int(order.Uint16(b)), order.Uint16(b[2:])
		if size < attributeHeader || size > len(b) {
			return Route{}, 0, errAnswer
		}
		value := b[attributeHeader:size]
		switch {
		case kind == unix.RTA_OIF && len(value) == 4:
			index = int(order.Uint32(value))
		case kind == unix.RTA_PREFSRC:
			r.Source, _ = netip.AddrFromSlice(value)
		}
		b = b[min(len(b), (size+3)&^3):]
	}
	return r, index, nil
}
