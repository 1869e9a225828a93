// Package advertise finds the address by which others reach a listener that waits at all addresses of its host: what it listens on,
// "0.0.0.0:7471", they cannot dial. It is one, chosen as etcd does: of several, those who dial would have to try in turn what does not
// lead there from everywhere, or leads to another host, as the bridges of containers do.
package advertise

import (
	"net"
	"net/netip"
)

// Address is what others dial to reach a listener that was told to listen somewhere and is bound, both as package net has it. That is
// where it is bound, unless that is every address of the host. Then it is the one of the interface of the default route; if there is
// none, the first of an interface that is up; and loopback if nothing else is there. It has IPv4 if it can, or IPv6 if that was
// listened on by "::".
func Address(listen, bound string) string {
	if !IsEverywhere(bound) {
		return bound
	}
	asked, _, _ := net.SplitHostPort(listen)
	_, port, _ := net.SplitHostPort(bound)
	return net.JoinHostPort(own(asked == "::").String(), port)
}

// IsEverywhere reports whether an address, host:port, stands for all those of a host.
func IsEverywhere(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "" || ip != nil && ip.IsUnspecified())
}

// own is the address of this host that others most likely know.
func own(is6 bool) netip.Addr {
	for _, from := range []func() []netip.Addr{byDefaultRoute, ofInterfaces} {
		if a, found := best(from(), is6); found {
			return a
		}
	}
	if is6 {
		return netip.IPv6Loopback()
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// best is the first that others can dial, of the family that is wanted if there is one. Addresses of one link only are no good: who
// dials would have to say by which of its interfaces.
func best(addresses []netip.Addr, is6 bool) (found netip.Addr, ok bool) {
	for _, a := range addresses {
		if a = a.Unmap(); !a.IsGlobalUnicast() {
			continue
		}
		if a.Is6() == is6 {
			return a, true
		}
		if !ok {
			found, ok = a, true
		}
	}
	return found, ok
}

// byDefaultRoute are the addresses from which this host would send to others far away. Nothing is sent; the others do not exist
// (RFC 5737, RFC 3849).
func byDefaultRoute() (list []netip.Addr) {
	for _, far := range []string{"198.51.100.1:9", "[2001:db8::1]:9"} {
		conn, err := net.Dial("udp", far)
		if err != nil {
			continue // there is no such route
		}
		if a, ok := conn.LocalAddr().(*net.UDPAddr); ok {
			list = append(list, a.AddrPort().Addr())
		}
		_ = conn.Close() // nothing was sent
	}
	return list
}

// ofInterfaces are the addresses of interfaces that are up and connected.
func ofInterfaces() (list []netip.Addr) {
	all, _ := net.Interfaces() // who does not know them has none
	for _, i := range all {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagRunning == 0 {
			continue
		}
		addresses, _ := i.Addrs()
		for _, a := range addresses {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				list = append(list, prefix.Addr())
			}
		}
	}
	return list
}
