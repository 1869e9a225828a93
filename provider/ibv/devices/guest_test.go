package devices

import (
	"net/netip"
	"os"
	"testing"
)

// What the kernel really shows is as the fake trees have it.
func TestGuestDevices(t *testing.T) {
	name := os.Getenv("WEFT_ROCE")
	if name == "" {
		t.Skip("it needs an RDMA device: make test-roce runs this in a virtual machine that has one")
	}
	list, err := Machine{}.List()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Choose(list, name, netip.Addr{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Device.Driver != "rxe" || c.Device.GUID == "" || c.Port.Mbps == 0 || c.Port.LinkLayer != Ethernet || c.Port.Link.MTU == 0 {
		t.Errorf("%+v", c)
	}
	for _, g := range c.GIDs {
		if !g.IP().IsValid() || g.Prefix == 0 || g.Link != c.Port.Link.Name || g.MTU != c.Port.Link.MTU {
			t.Errorf("%+v", g)
		}
	}
	first := c.GIDs[0]
	near := first.IP().Next() // a neighbour in the subnet
	if again, err := Choose(list, "", near); err != nil || again.String() != c.String() {
		t.Errorf("near %v: %v, %v", near, again, err)
	}
	if route, err := RouteTo(near, first.IP()); err != nil || route.Link != first.Link || route.Local {
		t.Errorf("to %v: %+v, %v", near, route, err)
	}
	if err := Reach(first, GID{Raw: netip.MustParseAddr("203.0.113.7").As16(), Kind: KindRoCEv2, Prefix: 24}); err == nil {
		t.Error("a peer behind no router is reached")
	}
}
