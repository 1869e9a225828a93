package devices

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// describe shows everything of a GID.
func describe(g GID) string {
	local := ""
	if g.Local {
		local = " local"
	}
	return fmt.Sprintf("%d %v/%d %v %s %d%s", g.Index, g, g.Prefix, g.Kind, g.Link, g.MTU, local)
}

// gids makes a list out of "10.0.0.1/24 …"; those that begin with ib: are InfiniBand's.
func gids(text string) (list []GID) {
	for i, word := range strings.Fields(text) {
		kind := KindRoCEv2
		word, infiniband := strings.CutPrefix(word, "ib:")
		if infiniband {
			kind = KindInfiniBand
		}
		p := netip.MustParsePrefix(word)
		list = append(list, GID{Raw: p.Addr().As16(), Kind: kind, Prefix: p.Bits(), Index: i, Local: true})
	}
	return list
}

func TestMatch(t *testing.T) {
	for _, c := range []struct{ local, remote, want string }{
		{"10.0.0.1/24", "10.0.0.2/24", "10.0.0.1 10.0.0.2"},
		{"10.0.0.1/24 fe80::1/64", "fe80::2/64 10.0.0.2/24", "10.0.0.1 10.0.0.2"},
		// One subnet before IPv4.
		{"10.0.0.1/24 2001:db8::1/64", "10.0.1.2/24 2001:db8::2/64", "2001:db8::1 2001:db8::2"},
		{"::2/64 10.0.0.1/24", "::3/64 10.0.0.2/24", "10.0.0.1 10.0.0.2"},
		// Through a router: IPv4 before IPv6 before link-local.
		{"10.0.0.1/24 2001:db8::1/64", "10.0.1.2/24 2001:db8:1::2/64", "10.0.0.1 10.0.1.2"},
		{"fe80::1/64 2001:db8::1/64", "fe80::2/64 2001:db8:1::2/64", "2001:db8::1 2001:db8:1::2"},
		{"fe80::1/64 10.0.0.1/24", "fe80::2/64 2001:db8:1::2/64", "fe80::1 fe80::2"},
		// Both have to see the other in their subnet.
		{"10.0.0.1/16 192.168.0.1/24", "10.0.1.1/24 192.168.0.2/24", "192.168.0.1 192.168.0.2"},
		// By bytes.
		{"10.0.0.9/24 10.0.0.1/24", "10.0.0.5/24 10.0.0.3/24", "10.0.0.1 10.0.0.3"},
		// On one device.
		{"10.0.0.1/24 10.0.0.2/24", "10.0.0.1/24 10.0.0.2/24", "10.0.0.1 10.0.0.1"},
		{"10.0.0.1/0", "10.0.0.1/0", "10.0.0.1 10.0.0.1"},
		{"ib:fe80::1/64 ib:fe80:1::1/64", "ib:fe80::2/64 ib:fe80:1::2/64", "fe80::1 fe80::2"},
	} {
		l, r, err := Match(gids(c.local), gids(c.remote))
		if got := fmt.Sprint(l, " ", r); err != nil || got != c.want {
			t.Errorf("%s and %s: %s, %v, want %s", c.local, c.remote, got, err, c.want)
		}
	}
}

func TestNoMatch(t *testing.T) {
	v1 := gids("10.0.0.2/24")
	v1[0].Kind = KindRoCEv1
	for _, c := range []struct {
		local, remote []GID
		says          string
	}{
		{gids("10.0.0.1/24 10.0.0.2/24"), gids("2001:db8::1/64"), "this end has RoCE v2 over IPv4, its peer has RoCE v2 over IPv6: give both an address of one family"},
		{gids("ib:fe80::1/64"), gids("fe80::1/64 10.0.0.1/24"), "this end has InfiniBand, its peer has RoCE v2 over link-local IPv6 and RoCE v2 over IPv4"},
		{gids("10.0.0.1/24"), v1, "its peer has RoCE v1 over IPv4"},
		{v1, v1, "this end has RoCE v1 over IPv4"},
		{gids("10.0.0.1/24"), gids("127.0.0.1/8"), "its peer has RoCE v2 over an address that no peer reaches"},
		{gids("10.0.0.1/24"), gids("224.0.0.1/4"), "its peer has RoCE v2 over an address that no peer reaches"},
		{nil, v1, "this end has no GID"},
		{v1, nil, "the peer has no GID"},
		{[]GID{{}}, []GID{{}}, "kind 0"},
	} {
		if _, _, err := Match(c.local, c.remote); !errors.Is(err, ErrNoMatch) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("want %q: %v", c.says, err)
		}
	}
	if _, _, err := Match(make([]GID, MaxGIDs+1), v1); err == nil || !strings.Contains(err.Error(), "17 and 1 GIDs are offered") {
		t.Errorf("too many: %v", err)
	}
}

// drawGIDs draws a list of few addresses that are alike, so that ties are common, with any prefix a peer might send.
func drawGIDs(t *rapid.T, name string) []GID {
	bytes := rapid.SampledFrom(strings.Fields("10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 10.0.1.1 10.0.1.2 " +
		"2001:db8::1 2001:db8::2 2001:db8::3 2001:db8::4 2001:db8:1::1 fe80::1 fe80::2 fe80::3 fe80::4"))
	one := rapid.Custom(func(t *rapid.T) GID {
		return GID{
			Raw:    netip.MustParseAddr(bytes.Draw(t, "address")).As16(),
			Kind:   rapid.SampledFrom([]Kind{0, KindInfiniBand, KindRoCEv1, KindRoCEv2, KindRoCEv2, KindRoCEv2}).Draw(t, "kind"),
			Prefix: rapid.SampledFrom([]int{-1, 0, 8, 16, 24, 32, 64, 128, 200}).Draw(t, "prefix"),
			Index:  rapid.IntRange(0, 9).Draw(t, "index"),
		}
	})
	return rapid.SliceOfN(one, 0, 8).Draw(t, name)
}

// Whoever computes it, the two ends are the same.
func TestMatchIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawGIDs(t, "a"), drawGIDs(t, "b")
		l, r, err := Match(a, b)
		peerL, peerR, peerErr := Match(b, a)
		if (err == nil) != (peerErr == nil) {
			t.Fatalf("%v here, %v there", err, peerErr)
		}
		if l.Raw != peerR.Raw || r.Raw != peerL.Raw || l.Kind != peerR.Kind || r.Kind != peerL.Kind {
			t.Fatalf("%v and %v here, %v and %v there", l, r, peerL, peerR)
		}
		if err == nil && (l.Kind != r.Kind || l.family() != r.family()) {
			t.Fatalf("%v and %v do not fit", describe(l), describe(r))
		}
	})
}
