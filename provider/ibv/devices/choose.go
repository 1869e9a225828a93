package devices

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Choice is a port that can be used.
type Choice struct {
	Device Device
	Port   Port
	GIDs   []GID  // the usable ones, at most MaxGIDs, the nearest first
	Why    string // completes the sentence "it was chosen because"
}

// String is the port as it is written behind --device.
func (c Choice) String() string { return nameOf(c.Device, c.Port) }

// Choose takes a port out of a list. What is wanted is written mlx5_0:1 (a port), mlx5_0 (a device) or nothing at all.
// Where that leaves a choice, only ports that can be used are considered: first those by which near is reached, the
// address of the peer or the one by which the peer reaches this machine (the zero Addr: unknown), then the fastest, then
// the first by name.
func Choose(list []Device, want string, near netip.Addr) (Choice, error) {
	return choose(list, want, around(near.Unmap()))
}

// neighbourhood is an address and the interface by which it is reached, as far as they are known.
type neighbourhood struct {
	address netip.Addr
	link    string
}

// around looks up what surrounds an address. A link-local one says nothing beyond its zone, which names the interface.
func around(near netip.Addr) neighbourhood {
	switch {
	case !near.IsValid() || near.IsLoopback() || near.IsUnspecified():
		return neighbourhood{}
	case near.Is6() && near.IsLinkLocalUnicast():
		return neighbourhood{link: near.Zone()}
	}
	n := neighbourhood{address: near}
	if route, err := RouteTo(near, netip.Addr{}); err == nil && !route.Local {
		n.link = route.Link
	}
	return n
}

func choose(list []Device, want string, near neighbourhood) (Choice, error) {
	wanted, err := find(list, want)
	if err != nil {
		return Choice{}, err
	}
	var usable []Choice
	var reasons []error
	for _, c := range wanted {
		if err := c.Device.Check(c.Port); err != nil {
			reasons = append(reasons, err)
			continue
		}
		c.GIDs = near.sort(c.Port.Usable())
		usable = append(usable, c)
	}
	if len(usable) == 0 {
		return Choice{}, refuseAll(reasons)
	}
	best := slices.MinFunc(usable, near.compare)
	best.Why = near.why(best, want, len(usable))
	return best, nil
}

// find returns every port that is meant, usable or not.
func find(list []Device, want string) ([]Choice, error) {
	name, number, err := parseWant(want)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, &Refusal{ErrNoDevice, "no RDMA device", "plug one in and load its driver, or make a software one (rdma link add rxe0 type rxe netdev eth0)"}
	}
	var found []Choice
	for _, d := range list {
		for _, p := range d.Ports {
			if (name == "" || d.Name == name) && (number == 0 || p.Number == number) {
				found = append(found, Choice{Device: d, Port: p})
			}
		}
	}
	if len(found) == 0 {
		return nil, refuseUnknown(list, name, number)
	}
	return found, nil
}

// parseWant reads "", "mlx5_0" and "mlx5_0:1".
func parseWant(want string) (name string, number int, err error) {
	name, digits, withPort := strings.Cut(want, ":")
	if withPort {
		number, err = strconv.Atoi(digits)
	}
	plain := !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == '/' })
	if err != nil || withPort && (number < 1 || number > maxPorts || name == "") || !plain || len(name) > maxName {
		return "", 0, &Refusal{ErrSyntax, fmt.Sprintf("%.80q is no RDMA device", want), "write it as mlx5_0, or with a port as mlx5_0:1"}
	}
	return name, number, nil
}

// maxName is the length of a device's name in the kernel.
const maxName = 63

func refuseUnknown(list []Device, name string, number int) error {
	var names []string
	for _, d := range list {
		names = append(names, d.Name)
		switch {
		case len(d.Ports) == 0 && (d.Name == name || name == ""):
			return &Refusal{ErrUnknownPort, d.Name + " has no port", "reload its driver"}
		case d.Name == name:
			return &Refusal{ErrUnknownPort, fmt.Sprintf("%s has no port %d", name, number), portsOf(d)}
		}
	}
	return &Refusal{ErrUnknownDevice, "there is no RDMA device " + name, "there are " + strings.Join(names, ", ")}
}

// portsOf says which ports a device has.
func portsOf(d Device) string {
	if len(d.Ports) == 1 {
		return "its only port is 1"
	}
	return fmt.Sprintf("its ports are 1 to %d", len(d.Ports))
}

// Usable returns the GIDs by which a connection can be made.
func (p Port) Usable() []GID {
	return slices.DeleteFunc(slices.Clone(p.GIDs), func(g GID) bool { return !g.Local || !g.reachable() })
}

func (p Port) has(kind Kind) bool {
	return slices.ContainsFunc(p.GIDs, func(g GID) bool { return g.Kind == kind })
}

// sort puts the GIDs in front that are near, then those of the families that Match prefers, and leaves out the last of
// too many.
func (n neighbourhood) sort(list []GID) []GID {
	slices.SortStableFunc(list, func(a, b GID) int {
		return cmp.Or(cmp.Compare(n.distance(a), n.distance(b)), cmp.Compare(a.family(), b.family()))
	})
	return list[:min(len(list), MaxGIDs)]
}

// distance is 0 for a GID in the subnet of the address, 1 for one on the way to it, 2 for others.
func (n neighbourhood) distance(g GID) int {
	switch {
	case n.address.IsValid() && g.subnet().Contains(n.address):
		return 0
	case n.link != "" && g.Link == n.link:
		return 1
	}
	return 2
}

// of is the distance of a port: that of its nearest GID or, for InfiniBand, of its interface.
func (n neighbourhood) of(c Choice) int {
	switch {
	case n.address.IsValid() && c.Port.Link.leadsTo(n.address):
		return 0
	case n.link != "" && c.Port.Link.Name == n.link:
		return 1
	}
	return n.distance(c.GIDs[0])
}

func (n neighbourhood) compare(a, b Choice) int {
	return cmp.Or(cmp.Compare(n.of(a), n.of(b)), cmp.Compare(b.Port.Mbps, a.Port.Mbps),
		cmp.Compare(a.Device.Name, b.Device.Name), cmp.Compare(a.Port.Number, b.Port.Number))
}

func (n neighbourhood) why(best Choice, want string, usable int) string {
	switch {
	case strings.Contains(want, ":"):
		return "it was asked for"
	case usable == 1 && want != "":
		return "it is the only usable port of what was asked for"
	case usable == 1:
		return "it is the only usable port"
	case n.of(best) < 2:
		return "it is the way to the other side of this session"
	}
	return "it is the fastest usable port, or the first of them"
}
