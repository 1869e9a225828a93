package devices

import (
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func (r reader) port(number int) Port {
	at := func(name string) string { return r.text(fmt.Sprintf("ports/%d/%s", number, name)) }
	p := Port{
		Number:    number,
		State:     meaning(at("state")),
		Physical:  meaning(at("phys_state")),
		LinkLayer: LinkLayer(at("link_layer")),
		Mbps:      parseRate(at("rate")),
		LID:       parseLID(at("lid")),
	}
	for _, n := range r.numbers(fmt.Sprintf("ports/%d/gids", number), 0, maxEntries) {
		if g, set := r.gid(p, n); set {
			p.GIDs = append(p.GIDs, g)
		}
	}
	p.Link = r.link(p)
	return p
}

// gid reads one entry of a port's table. Most are not set: then the address is zero, and asking for more fails.
func (r reader) gid(p Port, index int) (GID, bool) {
	at := func(name string) string { return r.text(fmt.Sprintf("ports/%d/%s/%d", p.Number, name, index)) }
	raw, err := parseGID(at("gids"))
	if err != nil || raw == [16]byte{} {
		return GID{}, false
	}
	g := GID{Raw: raw, Index: index}
	if p.LinkLayer == InfiniBand {
		g.Kind, g.Prefix, g.Local = KindInfiniBand, 64, true
		return g, true
	}
	g.Kind, g.Link = kindOf(at("gid_attrs/types")), at("gid_attrs/ndevs")
	link := r.linkNamed(g.Link)
	g.MTU = link.MTU
	if address, has := link.has(g.IP()); has {
		g.Prefix, g.Local = address.Bits(), true
	}
	return g, g.Kind != 0
}

// linkNamed returns an interface, or one that has only the name if it cannot be seen from here.
func (r reader) linkNamed(name string) Link {
	for _, l := range r.links {
		if l.Name == name {
			return l
		}
	}
	return Link{Name: name}
}

// link finds the interface of a port: the one that its GIDs name, or the one that Soft-RoCE stands on, or the one that
// the same hardware shows (so it is with IP over InfiniBand).
func (r reader) link(p Port) Link {
	for _, g := range p.GIDs {
		if g.Link != "" {
			return r.linkNamed(g.Link)
		}
	}
	if name := r.text("parent"); name != "" {
		return r.linkNamed(name)
	}
	entries, _ := os.ReadDir(filepath.Join(r.folder, "device/net"))
	for _, e := range entries {
		if r.text(filepath.Join("device/net", e.Name(), "dev_port")) == strconv.Itoa(p.Number-1) {
			return r.linkNamed(e.Name())
		}
	}
	return Link{}
}

// meaning is the word in "4: ACTIVE".
func meaning(text string) string {
	_, word, found := strings.Cut(text, ": ")
	if !found {
		return text
	}
	return word
}

// parseRate reads "100 Gb/sec (4X EDR)".
func parseRate(text string) (mbps int) {
	number, _, found := strings.Cut(text, " Gb/sec")
	if !found {
		return 0
	}
	gigabits, err := strconv.ParseFloat(number, 64)
	if err != nil || !(gigabits > 0) || gigabits > math.MaxInt32 {
		return 0
	}
	return int(gigabits * 1000)
}

// parseLID reads "0x1f".
func parseLID(text string) uint16 {
	lid, err := strconv.ParseUint(text, 0, 16)
	if err != nil {
		return 0
	}
	return uint16(lid)
}

// parseGID reads eight groups of four hexadecimal digits.
func parseGID(text string) ([16]byte, error) {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return [16]byte{}, err
	}
	if !address.Is6() || address.Zone() != "" {
		return [16]byte{}, fmt.Errorf("%q is no GID", text)
	}
	return address.As16(), nil
}

// kindOf reads the type of an Ethernet port's GID.
func kindOf(text string) Kind {
	switch text {
	case "RoCE v2":
		return KindRoCEv2
	case "IB/RoCE v1", "RoCE v1":
		return KindRoCEv1
	}
	return 0
}
