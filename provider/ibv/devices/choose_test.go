package devices

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// rack is a machine with three NICs: two of one speed, and a fast one that has two ports of which one is down.
func rack(t *testing.T) []Device {
	f := newTree(t)
	f.device("mlx5_0", "eth0", active, slow)
	f.gid("mlx5_0", 3, "::ffff:10.0.0.5", "RoCE v2", "eth0")
	f.device("mlx5_1", "eth1", active, slow)
	f.gid("mlx5_1", 3, "::ffff:10.0.1.5", "RoCE v2", "eth1")
	f.device("mlx5_2", "eth2", "1: DOWN", fast)
	f.port("mlx5_2", 2, "InfiniBand", active, fast)
	f.write("class/infiniband/mlx5_2/device/net/ib0/dev_port", "1")
	f.write("class/infiniband/mlx5_2/ports/2/gids/0", "fe80::1234")
	return f.list("eth0 10.0.0.5/24", "eth1 10.0.1.5/24", "eth2 10.0.2.5/24", "ib0 10.1.0.5/16")
}

func TestChoose(t *testing.T) {
	list := rack(t)
	for _, c := range []struct {
		want string
		near neighbourhood
		port string
		why  string
	}{
		{"", neighbourhood{}, "mlx5_2:2", "it is the fastest usable port"},
		{"", near("10.0.1.77", ""), "mlx5_1:1", "it is the way to the other side"},
		{"", near("10.0.1.5", ""), "mlx5_1:1", "it is the way to the other side"},
		{"", near("10.77.0.1", "eth1"), "mlx5_1:1", "it is the way to the other side"},
		{"", near("10.1.7.7", ""), "mlx5_2:2", "it is the way to the other side"},
		{"", near("10.77.0.1", "ib0"), "mlx5_2:2", "it is the way to the other side"},
		{"", near("192.168.0.1", "wlan0"), "mlx5_2:2", "it is the fastest"},
		{"mlx5_1", near("10.0.0.7", "eth0"), "mlx5_1:1", "it is the only usable port of what was asked for"},
		{"mlx5_2", neighbourhood{}, "mlx5_2:2", "it is the only usable port of what was asked for"},
		{"mlx5_0:1", near("10.0.1.77", "eth1"), "mlx5_0:1", "it was asked for"},
	} {
		got, err := choose(list, c.want, c.near)
		if err != nil || got.String() != c.port || !strings.HasPrefix(got.Why, c.why) {
			t.Errorf("%q near %v: %v because %q, %v, want %s because %q", c.want, c.near, got, got.Why, err, c.port, c.why)
		}
	}
	slices.Reverse(list)
	if got, err := choose(list[1:], "", neighbourhood{}); err != nil || got.String() != "mlx5_0:1" {
		t.Errorf("of two that are alike: %v, %v", got, err)
	}
	if got, err := choose(list[2:], "", neighbourhood{}); err != nil || got.Why != "it is the only usable port" {
		t.Errorf("of one: %v, %v", got, err)
	}
}

func near(address, link string) neighbourhood {
	return neighbourhood{netip.MustParseAddr(address), link}
}

func TestAround(t *testing.T) {
	for text, want := range map[string]neighbourhood{"127.0.0.1": {}, "::": {}, "fe80::1%eth7": {link: "eth7"}} {
		if got := around(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
	if got := around(netip.Addr{}); got != (neighbourhood{}) {
		t.Errorf("around nothing: %+v", got)
	}
	address := netip.MustParseAddr("198.51.100.7")
	if got := around(address); got.address != address {
		t.Errorf("%+v", got)
	}
}

func TestChooseOrdersGIDs(t *testing.T) {
	f := newTree(t)
	f.device("mlx5_0", "eth0", active, slow)
	f.gid("mlx5_0", 0, "fe80::1", "IB/RoCE v1", "eth0")
	f.gid("mlx5_0", 1, "fe80::1", "RoCE v2", "eth0")
	f.gid("mlx5_0", 2, "2001:db8::1", "RoCE v2", "eth0")
	f.gid("mlx5_0", 3, "::ffff:10.0.0.1", "RoCE v2", "eth0")
	f.gid("mlx5_0", 4, "::ffff:10.7.0.1", "RoCE v2", "eth0.7")
	f.gid("mlx5_0", 5, "::ffff:10.8.0.1", "RoCE v2", "eth9")   // of another container
	f.gid("mlx5_0", 256, "::ffff:10.0.0.2", "RoCE v2", "eth0") // beyond what a queue pair can name
	list := f.list("eth0 10.0.0.2/24 fe80::1/64 2001:db8::1/64 10.0.0.1/24", "eth0.7 10.7.0.1/24")
	for _, c := range []struct {
		near neighbourhood
		want string
	}{
		{neighbourhood{}, "[10.0.0.1 10.7.0.1 2001:db8::1 fe80::1]"},
		{near("10.7.0.9", ""), "[10.7.0.1 10.0.0.1 2001:db8::1 fe80::1]"},
		{near("2001:db8::9", ""), "[2001:db8::1 10.0.0.1 10.7.0.1 fe80::1]"},
		{near("10.99.0.1", "eth0.7"), "[10.7.0.1 10.0.0.1 2001:db8::1 fe80::1]"},
	} {
		got, err := choose(list, "", c.near)
		if err != nil || fmt.Sprint(got.GIDs) != c.want {
			t.Errorf("near %v: %v, %v, want %s", c.near, got.GIDs, err, c.want)
		}
	}
	if got, err := Choose(list, "mlx5_0", netip.Addr{}); err != nil || got.String() != "mlx5_0:1" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestManyGIDs(t *testing.T) {
	f := newTree(t)
	f.device("mlx5_0", "eth0", active, slow)
	link := "eth0"
	for i := range MaxGIDs + 5 {
		f.gid("mlx5_0", i, fmt.Sprintf("::ffff:10.0.%d.1", i), "RoCE v2", "eth0")
		link += fmt.Sprintf(" 10.0.%d.1/24", i)
	}
	got, err := choose(f.list(link), "", near("10.0.18.9", ""))
	if err != nil || len(got.GIDs) != MaxGIDs || got.GIDs[0].String() != "10.0.18.1" {
		t.Errorf("%d GIDs, %v", len(got.GIDs), err)
	}
}

func TestRefusals(t *testing.T) {
	f := newTree(t)
	f.device("down", "eth1", "1: DOWN", slow)
	f.device("bare", "eth2", active, slow)
	f.gid("bare", 0, "fe80::2", "IB/RoCE v1", "eth2")
	f.gid("bare", 1, "fe80::2", "RoCE v2", "eth2")
	f.device("loop", "lo", active, slow)
	f.gid("loop", 0, "::ffff:127.0.0.1", "RoCE v2", "lo")
	f.device("old", "eth3", active, slow)
	f.gid("old", 0, "::ffff:10.0.0.3", "IB/RoCE v1", "eth3")
	f.device("far", "eth4", active, slow)
	f.gid("far", 0, "fe80::4", "RoCE v2", "eth4")
	f.gid("far", 1, "::ffff:10.0.0.4", "RoCE v2", "eth4")
	f.device("gone", "eth5", active, slow)
	f.gid("gone", 0, "fe80::5", "RoCE v2", "eth5")
	f.device("iwarp", "eth6", active, slow)
	f.write("class/infiniband/iwarp/node_type", "4: RNIC")
	f.device("ib", "ib0", "2: INIT", fast)
	f.port("ib", 1, "InfiniBand", "2: INIT", fast)
	f.write("class/infiniband/nofile/node_type", "1: CA")
	f.port("nofile", 1, "Ethernet", active, fast)
	f.write("class/infiniband/noport/node_type", "1: CA")
	list := f.list("eth1", "eth2", "eth3 10.0.0.3/24", "eth4 172.17.0.2/16", "eth6", "lo 127.0.0.1/8")
	for _, c := range []struct {
		want   string
		reason error
		says   string
	}{
		{"mlx5_0:x", ErrSyntax, `"mlx5_0:x" is no RDMA device: write it as mlx5_0, or with a port as mlx5_0:1`},
		{"mlx5_0:0", ErrSyntax, "write it as"},
		{":1", ErrSyntax, "write it as"},
		{"mlx5_0:1:1", ErrSyntax, "write it as"},
		{"../rxe0", ErrSyntax, "write it as"},
		{"a b", ErrSyntax, "write it as"},
		{strings.Repeat("x", 64), ErrSyntax, "write it as"},
		{"mlx9_9", ErrUnknownDevice, "there is no RDMA device mlx9_9: there are bare, down, far, gone, ib, iwarp, loop, nofile, noport, old"},
		{"down:2", ErrUnknownPort, "down has no port 2: its only port is 1"},
		{"noport", ErrUnknownPort, "noport has no port: reload its driver"},
		{"down", ErrPortDown, "down:1 is DOWN (the wire: LinkUp): ip link set eth1 up, or plug in its cable"},
		{"ib", ErrPortDown, "ib:1 is INIT (the wire: LinkUp): it waits for a subnet manager"},
		{"bare", ErrNoGID, "bare:1 has no RoCE v2 GID with an IP address that peers could reach: give its interface one (ip addr add ADDRESS/24 dev eth2); rdma link"},
		{"loop", ErrNoGID, "loop:1 has no RoCE v2 GID with an IP address that peers could reach"},
		{"old", ErrOnlyRoCEv1, "old:1 has RoCE v1 only: switch it to RoCE v2"},
		{"far", ErrNamespace, "far:1 has GIDs only of an interface (eth4) that is not in this network namespace: run with the host's network"},
		{"gone", ErrNamespace, "gone:1 has GIDs only of an interface (eth5)"},
		{"iwarp", ErrTransport, `iwarp is no InfiniBand or RoCE device (its type is "RNIC")`},
		{"nofile", ErrNoFile, "nofile has no file below /dev/infiniband: load the kernel module (modprobe ib_uverbs)"},
		{"", ErrNoGID, "no RDMA port can be used: bare:1 has no RoCE v2 GID"},
	} {
		got, err := Choose(list, c.want, netip.Addr{})
		if !errors.Is(err, c.reason) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, %v, want %q", c.want, got, err, c.says)
		}
	}
	if _, err := Choose(nil, "mlx5_0", netip.Addr{}); !errors.Is(err, ErrNoDevice) {
		t.Errorf("without a device: %v", err)
	}
}

func TestManyRefusals(t *testing.T) {
	var list []Device
	for i := range 20 {
		list = append(list, Device{Name: fmt.Sprint("d", i), Type: "CA", File: "x", Ports: []Port{{Number: 1}}})
	}
	if _, err := Choose(list, "", netip.Addr{}); !errors.Is(err, ErrPortDown) || !strings.HasSuffix(err.Error(), "; and 12 more") {
		t.Error(err)
	}
}
