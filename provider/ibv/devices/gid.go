package devices

import (
	"fmt"
	"net/netip"
)

// Kind is how packets from and to a GID travel. Ends of different kinds do not meet.
type Kind uint8

// The kinds of GID.
const (
	KindInfiniBand Kind = iota + 1
	KindRoCEv1          // in Ethernet frames of their own: not routed, and not used by Weft
	KindRoCEv2          // in UDP
)

// String names the kind as vendors do.
func (k Kind) String() string {
	switch k {
	case KindInfiniBand:
		return "InfiniBand"
	case KindRoCEv1:
		return "RoCE v1"
	case KindRoCEv2:
		return "RoCE v2"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// GID is one address of a port. Raw, Kind and Prefix are what a peer has to know of it; the rest has a meaning on its
// own machine only.
type GID struct {
	Raw    [16]byte
	Kind   Kind
	Prefix int    // length of its subnet's prefix in bits; 0: unknown
	Index  int    // in the table of its port
	Link   string // name of the network interface that has the address; empty on InfiniBand
	MTU    int    // of that interface, in bytes; 0: it cannot be seen from here
	// Local says that the interface is in this network namespace and has the address. A GID that is not local belongs to
	// another container, or to nobody, and cannot be used.
	Local bool
}

// IP returns the IP address that a GID of RoCE stands for, and no address for one of InfiniBand.
func (g GID) IP() netip.Addr {
	if g.Kind == KindInfiniBand {
		return netip.Addr{}
	}
	return netip.AddrFrom16(g.Raw).Unmap()
}

// String shows the IP address, or the 16 bytes of an InfiniBand GID in the same way.
func (g GID) String() string { return g.address().String() }

// address is the GID as an address, whatever its kind.
func (g GID) address() netip.Addr { return netip.AddrFrom16(g.Raw).Unmap() }

// subnet is what a GID can reach without a router. It has the GID itself in it, whatever the prefix says.
func (g GID) subnet() netip.Prefix {
	address := g.address()
	if p, err := address.Prefix(g.Prefix); err == nil && g.Prefix > 0 {
		return p
	}
	return netip.PrefixFrom(address, address.BitLen())
}

// reachable reports whether a peer could send to the GID. Every machine has 127.0.0.1, so it names none.
func (g GID) reachable() bool {
	ip := g.IP()
	return g.Kind == KindInfiniBand || g.Kind == KindRoCEv2 && (ip.IsGlobalUnicast() || ip.IsLinkLocalUnicast())
}

// Families of addresses, the preferred one first. Addresses of different families do not meet.
const (
	familyIPv4 = iota
	familyIPv6
	familyLinkLocal
	familyInfiniBand
)

var familyNames = [...]string{"IPv4", "IPv6", "link-local IPv6", "InfiniBand"}

func (g GID) family() int {
	switch ip := g.IP(); {
	case !ip.IsValid():
		return familyInfiniBand
	case ip.Is4():
		return familyIPv4
	case ip.IsLinkLocalUnicast():
		return familyLinkLocal
	}
	return familyIPv6
}
