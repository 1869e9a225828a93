package pingpong

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/weft-fabric/weft/provider/ibv"
	"github.com/weft-fabric/weft/provider/ibv/devices"
	"github.com/weft-fabric/weft/verbs"
)

// mtu is the path MTU that ibv_rc_pingpong takes unless it is told otherwise: 1024 bytes.
const mtu = 3

// announce is what this end says of its queue pair to a peer that is near an address, or that has said where it is.
func announce(mine ibv.Endpoint, at netip.Addr) line {
	l := line{lid: mine.LID, pair: mine.Pair, psn: mine.PSN}
	if mine.Ethernet {
		l.gid = at.As16()
	}
	return l
}

// firstGID is the address that a client announces before it knows its peer's: the one by which it has called, if that is one
// of its GIDs, otherwise the first.
func firstGID(mine ibv.Endpoint, called netip.Addr) netip.Addr {
	for _, g := range mine.GIDs {
		if g.Address == called {
			return called
		}
	}
	if len(mine.GIDs) == 0 {
		return netip.Addr{}
	}
	return mine.GIDs[0].Address
}

// peerOf makes an address to connect to of what the peer says. Our own GID that the connection will use is returned too: it
// must be the one that the peer knows.
func peerOf(mine ibv.Endpoint, theirs line) (peer verbs.Address, own netip.Addr, err error) {
	e := ibv.Endpoint{Ethernet: mine.Ethernet, MTU: mtu, Reads: 1, LID: theirs.lid, Pair: theirs.pair, PSN: theirs.psn}
	if !mine.Ethernet {
		return e.Address(), netip.Addr{}, nil
	}
	if theirs.gid == [16]byte{} {
		return "", own, errors.New("the peer says no GID, which RoCE needs: start ibv_rc_pingpong with -g INDEX; show_gids, or ibv_devinfo -v, lists them")
	}
	their := ibv.GID{Address: netip.AddrFrom16(theirs.gid).Unmap()}
	their.Bits = bitsOf(mine, their.Address)
	local, _, err := devices.Match(gids(mine.GIDs), gids([]ibv.GID{their}))
	if err != nil {
		return "", own, fmt.Errorf("the peer's GID is %v: %w", their.Address, err)
	}
	e.GIDs = []ibv.GID{their}
	return e.Address(), netip.AddrFrom16(local.Raw).Unmap(), nil
}

// bitsOf takes the peer's subnet for one of ours, if it is in one.
func bitsOf(mine ibv.Endpoint, their netip.Addr) uint8 {
	for _, g := range mine.GIDs {
		if netip.PrefixFrom(g.Address, int(g.Bits)).Contains(their) {
			return g.Bits
		}
	}
	return 0
}

func gids(list []ibv.GID) (out []devices.GID) {
	for _, g := range list {
		out = append(out, devices.GID{Raw: g.Address.As16(), Kind: devices.KindRoCEv2, Prefix: int(g.Bits)})
	}
	return out
}
