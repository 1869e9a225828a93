package soft

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// TestWhoCalls: of two ends one calls, whoever asks; and it is never one that the other cannot dial while there is a choice.
func TestWhoCalls(t *testing.T) {
	const here, far, file = "127.0.0.1:1", "10.0.0.1:1", "unix:/a"
	for _, c := range []struct {
		first, second string // of two, the first has the smaller name
		callsFirst    bool
	}{
		{here, far, true}, {far, here, false},
		{file, far, true}, {far, file, false},
		{"", far, true}, {far, "", false},
		{"[::1]:1", far, true}, {far, "localhost:1", false},
		{far, far, true}, {here, here, true}, {here, file, true}, {"", "", true},
	} {
		first, second := address{lifeName: lifeName{1, 1, 1}, tcp: c.first}, address{lifeName: lifeName{2, 1, 1}, tcp: c.second}
		if first.calls(second) != c.callsFirst || second.calls(first) == c.callsFirst {
			t.Errorf("%q and %q: the first calls: %t, the second: %t", c.first, c.second, first.calls(second), second.calls(first))
		}
	}
}

// beyond is an address of this host that is not loopback.
func beyond(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	ok(t, err)
	for _, a := range all {
		if n, isIP := a.(*net.IPNet); isIP && n.IP.IsGlobalUnicast() {
			return net.JoinHostPort(n.IP.String(), "0")
		}
	}
	t.Skip("this host has no address but loopback")
	return ""
}

// TestOneThatNobodyCanDialDials: whichever of the two has the smaller name.
func TestOneThatNobodyCanDialDials(t *testing.T) {
	const nobody = "127.0.0.1:1"
	listen := beyond(t)
	for seen := map[bool]bool{}; len(seen) < 2; {
		a := newHostWith(t, Config{Name: "hidden", Lanes: TCP, Advertise: nobody})
		b := newHostWith(t, Config{Name: "open", Lanes: TCP, Listen: listen, Plain: true})
		seen[lifeName{device: a.device.identity}.before(lifeName{device: b.device.identity})] = true
		join(a, a.pair(), b, b.pair())
	}
}

// TestNeitherCanBeDialled: both hear so at once, and what to do.
func TestNeitherCanBeDialled(t *testing.T) {
	for _, lanes := range []Lanes{TCP, AllLanes} {
		h := newHostWith(t, Config{Lanes: lanes})
		q := h.pair()
		peer := address{host: process.host + 1, process: 1, lifeName: lifeName{1, 1, 1}, shm: process.user, tcp: "127.0.0.1:1"}
		err := q.Connect(1, driver.Address(peer.String()))
		if !errors.Is(err, driver.ErrArgument) || !strings.Contains(err.Error(), "must listen on an address of its host") {
			t.Errorf("%v: %v", lanes, err)
		}
		peer.tcp = "unix:/no/such/file" // both hosts may see a file
		ok(t, q.Connect(2, driver.Address(peer.String())))
	}
}
