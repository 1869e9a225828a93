package ibv

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/weft-fabric/weft/verbs/driver"
)

// Endpoint is what a queue pair's address says: all that a peer needs to send packets to it. Programs that meet others than Weft, by an
// exchange of their own, translate with [ParseAddress] and [Endpoint.Address].
type Endpoint struct {
	Ethernet bool   // RoCE: GIDs are IP addresses. Otherwise InfiniBand
	MTU      uint8  // largest path MTU: 1 is 256 bytes, 5 is 4096
	Reads    uint8  // Reads and atomics that the queue pair serves at a time
	LID      uint16 // InfiniBand
	Pair     uint32 // number, 24 bits
	PSN      uint32 // number of its first packet, 24 bits
	Name     uint64 // of this incarnation of the queue pair, for presence; 0: its peer is no Weft
	Watch    uint16 // TCP port where its presence can be asked for, at its GID's address; 0: nowhere
	GIDs     []GID  // where its port can be reached
}

// GID is an address of a port. On Ethernet it is an IP address of its network interface.
type GID struct {
	Address netip.Addr
	Bits    uint8 // length of the network's prefix; 0: unknown
}

// Bounds of an endpoint.
const (
	maxGIDs      = 16
	endpointSize = 28 // without GIDs
	gidSize      = 17
	bits24       = 1<<24 - 1
	magic        = "ibv\x01"
)

// Address encodes the endpoint.
func (e Endpoint) Address() driver.Address {
	b := append(make([]byte, 0, driver.MaxAddress), magic...)
	kind := byte(0)
	if e.Ethernet {
		kind = 1
	}
	b = append(b, kind, e.MTU, e.Reads, byte(len(e.GIDs)))
	b = binary.BigEndian.AppendUint16(b, e.LID)
	b = binary.BigEndian.AppendUint16(b, e.Watch)
	b = binary.BigEndian.AppendUint32(b, e.Pair)
	b = binary.BigEndian.AppendUint32(b, e.PSN)
	b = binary.BigEndian.AppendUint64(b, e.Name)
	for _, g := range e.GIDs {
		raw := g.Address.As16()
		b = append(append(b, raw[:]...), g.Bits)
	}
	return driver.Address(b)
}

// ParseAddress decodes an address, and checks all that can be checked without asking the device.
func ParseAddress(a driver.Address) (Endpoint, error) {
	b := []byte(a)
	if len(b) < endpointSize || string(b[:4]) != magic {
		return Endpoint{}, fmt.Errorf("the peer's address is not one of an RDMA queue pair: %w", driver.ErrArgument)
	}
	e := Endpoint{Ethernet: b[4] == 1, MTU: b[5], Reads: b[6], LID: binary.BigEndian.Uint16(b[8:]), Watch: binary.BigEndian.Uint16(b[10:]),
		Pair: binary.BigEndian.Uint32(b[12:]), PSN: binary.BigEndian.Uint32(b[16:]), Name: binary.BigEndian.Uint64(b[20:])}
	count := int(b[7])
	switch {
	case b[4] > 1 || e.MTU < 1 || e.MTU > 5 || e.Reads < 1 || e.Pair > bits24 || e.PSN > bits24:
		return Endpoint{}, fmt.Errorf("the peer's address has numbers out of range: %w", driver.ErrArgument)
	case count > maxGIDs || len(b) != endpointSize+count*gidSize || e.Ethernet && count == 0:
		return Endpoint{}, fmt.Errorf("the peer's address has %d bytes for %d GIDs: %w", len(b), count, driver.ErrArgument)
	}
	for b = b[endpointSize:]; len(b) > 0; b = b[gidSize:] {
		e.GIDs = append(e.GIDs, GID{netip.AddrFrom16([16]byte(b[:16])).Unmap(), b[16]})
	}
	return e, nil
}
