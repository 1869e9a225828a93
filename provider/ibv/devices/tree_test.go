package devices

import (
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// tree is a fake of what the kernel shows below /sys.
type tree struct {
	t    *testing.T
	root string
}

func newTree(t *testing.T) tree { return tree{t, t.TempDir()} }

func (f tree) write(name, text string) {
	f.t.Helper()
	path := filepath.Join(f.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// device makes a device of hardware with one port on Ethernet, whose interface is called as asked.
func (f tree) device(name, link, state, rate string) {
	at := "class/infiniband/" + name + "/"
	f.write(at+"node_type", "1: CA")
	f.write(at+"node_guid", "0c42:a103:0065:1a2e")
	f.write(at+"fw_ver", "16.35.2000")
	f.write(at+"node_desc", "host HCA-1")
	f.write(at+"device/net/"+link+"/dev_port", "0")
	f.port(name, 1, "Ethernet", state, rate)
	f.write("class/infiniband_verbs/uverbs-"+name+"/ibdev", name)
	if err := os.Symlink("../../bus/pci/drivers/mlx5_core", filepath.Join(f.root, at+"device/driver")); err != nil {
		f.t.Fatal(err)
	}
}

func (f tree) port(device string, number int, layer, state, rate string) {
	at := "class/infiniband/" + device + "/ports/" + strconv.Itoa(number) + "/"
	f.write(at+"state", state)
	f.write(at+"phys_state", "5: LinkUp")
	f.write(at+"link_layer", layer)
	f.write(at+"rate", rate)
	f.write(at+"lid", "0x0")
	f.write(at+"gids/0", zeroGID)
}

const (
	zeroGID = "0000:0000:0000:0000:0000:0000:0000:0000"
	active  = "4: ACTIVE"
	fast    = "100 Gb/sec (4X EDR)"
	slow    = "25 Gb/sec (1X EDR)"
)

// gid sets an entry of the table of a device's first port.
func (f tree) gid(device string, index int, address, kind, link string) {
	at := "class/infiniband/" + device + "/ports/1/"
	f.write(at+"gids/"+strconv.Itoa(index), netip.AddrFrom16(netip.MustParseAddr(address).As16()).StringExpanded())
	f.write(at+"gid_attrs/types/"+strconv.Itoa(index), kind)
	f.write(at+"gid_attrs/ndevs/"+strconv.Itoa(index), link)
}

// list reads the tree on a machine with the interfaces given, each written "eth0 10.0.0.1/24 …".
func (f tree) list(links ...string) []Device {
	f.t.Helper()
	list, err := Machine{Sys: f.root, Links: func() (all []Link, err error) {
		for _, text := range links {
			words := strings.Fields(text)
			l := Link{Name: words[0], MTU: 1500}
			for _, w := range words[1:] {
				l.Addresses = append(l.Addresses, netip.MustParsePrefix(w))
			}
			all = append(all, l)
		}
		return all, nil
	}}.List()
	if err != nil {
		f.t.Fatal(err)
	}
	return list
}
