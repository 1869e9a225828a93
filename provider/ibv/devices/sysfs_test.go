package devices

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestNoRDMA(t *testing.T) {
	if list := newTree(t).list(); len(list) != 0 {
		t.Errorf("devices out of nothing: %+v", list)
	}
}

func TestThisMachine(t *testing.T) {
	if _, err := (Machine{}).List(); err != nil {
		t.Error(err)
	}
}

func TestHardware(t *testing.T) {
	f := newTree(t)
	f.device("mlx5_0", "eth2", active, fast)
	f.gid("mlx5_0", 0, "fe80::1", "IB/RoCE v1", "eth2")
	f.gid("mlx5_0", 1, "fe80::1", "RoCE v2", "eth2")
	f.gid("mlx5_0", 3, "::ffff:10.0.0.5", "RoCE v2", "eth2")
	f.gid("mlx5_0", 12, "2001:db8::5", "RoCE v2", "eth2.7")
	f.gid("mlx5_0", 13, "::ffff:10.9.9.9", "a kind of the future", "eth2")
	list := f.list("lo 127.0.0.1/8", "eth2 10.0.0.5/24 fe80::1/64")
	if len(list) != 1 || len(list[0].Ports) != 1 {
		t.Fatalf("%+v", list)
	}
	p := list[0].Ports[0]
	p.GIDs, p.Link.Addresses = nil, nil
	d := list[0]
	d.Ports = nil
	if want := (Device{Name: "mlx5_0", Driver: "mlx5_core", Type: "CA", GUID: "0c42:a103:0065:1a2e", Firmware: "16.35.2000",
		File: "/dev/infiniband/uverbs-mlx5_0"}); !reflect.DeepEqual(d, want) {
		t.Errorf("%+v", d)
	}
	if want := (Port{Number: 1, State: Active, Physical: "LinkUp", LinkLayer: Ethernet, Mbps: 100_000, Link: Link{Name: "eth2", MTU: 1500}}); !reflect.DeepEqual(p, want) {
		t.Errorf("%+v", p)
	}
	var got []string
	for _, g := range list[0].Ports[0].GIDs {
		got = append(got, describe(g))
	}
	if want := "0 fe80::1/64 RoCE v1 eth2 1500 local, 1 fe80::1/64 RoCE v2 eth2 1500 local, " +
		"3 10.0.0.5/24 RoCE v2 eth2 1500 local, 12 2001:db8::5/0 RoCE v2 eth2.7 0"; strings.Join(got, ", ") != want {
		t.Errorf("%s", got)
	}
}

// A device of InfiniBand has no interfaces in its table, but may carry IP beside it.
func TestInfiniBand(t *testing.T) {
	f := newTree(t)
	f.device("mlx5_1", "ib0", active, fast)
	f.port("mlx5_1", 1, "InfiniBand", active, "200 Gb/sec (4X HDR)")
	f.write("class/infiniband/mlx5_1/ports/1/lid", "0x1f")
	f.write("class/infiniband/mlx5_1/ports/1/gids/1", zeroGID)
	f.gid("mlx5_1", 0, "fe80::c42:a103:65:1a2e", "IB/RoCE v1", "")
	p := f.list("ib0 10.1.0.5/16")[0].Ports[0]
	if p.LID != 0x1f || p.Link.Name != "ib0" || len(p.Link.Addresses) != 1 || len(p.GIDs) != 1 {
		t.Fatalf("%+v", p)
	}
	if g := p.GIDs[0]; g.Kind != KindInfiniBand || g.IP().IsValid() || g.Prefix != 64 || !g.Local {
		t.Errorf("%+v", g)
	}
}

func TestSoftRoCE(t *testing.T) {
	f := newTree(t)
	f.write("class/infiniband/rxe0/parent", "d0")
	f.write("class/infiniband/rxe0/node_type", "1: CA")
	f.write("class/infiniband/rxe0/fw_ver", "")
	f.port("rxe0", 1, "Ethernet", "1: DOWN", "2.5 Gb/sec (1X SDR)")
	d := f.list("d0 10.9.0.1/24")[0]
	if d.Driver != "rxe" || d.Firmware != "" || d.File != "" || d.Ports[0].Link.Name != "d0" || d.Ports[0].Mbps != 2500 {
		t.Errorf("%+v", d)
	}
}

// What is not there, not readable or not sensible is left out, and never more than that.
func TestBrokenTree(t *testing.T) {
	f := newTree(t)
	f.write("class/infiniband/a/ports/x/state", active)
	f.write("class/infiniband/a/ports/01/state", active)
	f.write("class/infiniband/a/ports/0/state", active)
	f.write("class/infiniband/a/ports/256/state", active)
	f.write("class/infiniband/a/ports/2/state", "nonsense")
	f.write("class/infiniband/a/ports/2/rate", "very fast")
	f.write("class/infiniband/a/ports/2/gids/0", "10.0.0.1")
	f.write("class/infiniband/a/ports/2/gids/1", "fe80::1%eth0")
	f.write("class/infiniband/a/ports/2/gids/2", strings.Repeat("f", 3*maxText))
	f.write("class/infiniband/a/ports/2/gids/256", "fe80::1")
	f.write("class/infiniband/a/ports/2/phys_state/folder", "") // what should be a file is a folder
	f.write("class/infiniband/a/fw_ver", strings.Repeat("9", 3*maxText))
	f.write("class/infiniband/b", "no folder")
	list := f.list()
	if len(list) != 2 || len(list[0].Ports) != 1 || len(list[1].Ports) != 0 {
		t.Fatalf("%+v", list)
	}
	if n := len(list[0].Firmware); n > maxText {
		t.Errorf("%d bytes of a file", n)
	}
	if p := list[0].Ports[0]; p.Number != 2 || p.Mbps != 0 || len(p.GIDs) != 0 {
		t.Errorf("%+v", p)
	}
}

func TestListFails(t *testing.T) {
	f := newTree(t)
	f.device("mlx5_0", "eth2", active, fast)
	broken := errors.New("broken")
	if _, err := (Machine{Sys: f.root, Links: func() ([]Link, error) { return nil, broken }}).List(); !errors.Is(err, broken) {
		t.Errorf("without interfaces: %v", err)
	}
	file := filepath.Join(t.TempDir(), "class")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (Machine{Sys: filepath.Dir(file)}).List(); err == nil {
		t.Error("a file is read as a folder")
	}
}

func FuzzTexts(f *testing.F) {
	for _, text := range []string{"4: ACTIVE", "100 Gb/sec (4X EDR)", "0x1f", "fe80:0000:0000:0000:38b9:b8ff:fe71:f669", "mlx5_0:1", "RoCE v2", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if rate := parseRate(text); rate < 0 {
			t.Errorf("a rate of %d", rate)
		}
		if raw, err := parseGID(text); err == nil && !strings.Contains(text, ":") {
			t.Errorf("%v out of %q", raw, text)
		}
		name, number, err := parseWant(text)
		if err == nil && (len(name) > maxName || strings.ContainsAny(name, "/: \n") || number < 0 || number > maxPorts) {
			t.Errorf("%q port %d out of %q", name, number, text)
		}
		if err != nil && (!errors.Is(err, ErrSyntax) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q: %v", text, err)
		}
		parseLID(text)
		meaning(text)
	})
}
