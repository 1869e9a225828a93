package ibv

import (
	"fmt"
	"net/netip"

	"github.com/weft-fabric/weft/provider/ibv/devices"
	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/verbs/driver"
)

// pathTo says how the peer is reached, and where its host is.
func (q *queuePair) pathTo(e Endpoint) (native.Path, netip.Addr, error) {
	d := q.queue.device
	if e.Ethernet != d.port.Ethernet {
		return native.Path{}, netip.Addr{}, fmt.Errorf("one end has Ethernet, the other InfiniBand: they cannot reach each other: %w", driver.ErrArgument)
	}
	p := native.Path{LID: e.LID, Pair: e.Pair, PSN: e.PSN, LocalPSN: q.psn, Port: q.port(), MTU: min(e.MTU, uint8(d.port.MTU)),
		Reads: min(e.Reads, uint8(d.reads)), Timeout: d.timeout, Retries: retries, RNRRetries: rnrForever, MinRNRTimer: rnrTimer, HopLimit: hopLimit}
	if !e.Ethernet {
		return p, netip.Addr{}, nil
	}
	local, remote, err := devices.Match(d.gids(), matchable(e.GIDs))
	if err == nil && !d.has(local) {
		err = fmt.Errorf("the address %v was taken away since the device was opened: give it back, or open the device again", local)
	}
	if err == nil {
		err = devices.Reach(local, remote)
	}
	if err != nil {
		return native.Path{}, netip.Addr{}, fmt.Errorf("%v: %w: %w", d.choice, err, driver.ErrArgument)
	}
	q.from = local
	d.path.Store(&Path{gidAddress(local), gidAddress(remote)})
	p.Global, p.GID, p.GIDIndex = true, remote.Raw, uint8(local.Index)
	return p, dialable(local, remote), nil
}

// dialable is where the host of a GID can be called. A link-local address means nothing without the interface that leads to it.
func dialable(local, remote devices.GID) netip.Addr {
	if ip := remote.IP(); ip.Is6() && ip.IsLinkLocalUnicast() {
		return ip.WithZone(local.Link)
	}
	return remote.IP()
}

// How a queue pair treats a peer that is there and has no receive ready: the device asks for ever, every 0.64 ms, and look ends it after
// ReceiverWait. The architecture's own limit ends at seven times, which is far too short or, with longer pauses, far too slow.
const (
	rnrForever = 7
	rnrTimer   = 12
	hopLimit   = 64
)

// gids are those of the port that an address has room for.
func (d *Device) gids() []devices.GID { return d.choice.GIDs[:min(len(d.choice.GIDs), maxGIDs)] }

// matchable makes a peer's GIDs comparable with our own.
func matchable(list []GID) []devices.GID {
	out := make([]devices.GID, len(list))
	for i, g := range list {
		out[i] = devices.GID{Raw: g.Address.As16(), Kind: devices.KindRoCEv2, Prefix: int(g.Bits)}
	}
	return out
}

func gidAddress(g devices.GID) netip.Addr { return netip.AddrFrom16(g.Raw).Unmap() }
