package devices

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Why no port can be chosen. The error that Choose returns says more: what was found, and what to do.
var (
	ErrSyntax        = errors.New("no name of an RDMA device")
	ErrNoDevice      = errors.New("no RDMA device")
	ErrUnknownDevice = errors.New("no such RDMA device")
	ErrUnknownPort   = errors.New("no such port")
	ErrTransport     = errors.New("neither InfiniBand nor RoCE")
	ErrNoFile        = errors.New("no device file")
	ErrPortDown      = errors.New("port not active")
	ErrNoGID         = errors.New("no RoCE v2 GID")
	ErrOnlyRoCEv1    = errors.New("only RoCE v1")
	ErrNamespace     = errors.New("GIDs of another network namespace")
)

// Refusal is why something cannot be used, for people. It wraps one of the errors above.
type Refusal struct {
	Reason error
	What   string // was found
	Remedy string
}

func (r *Refusal) Error() string { return r.What + ": " + r.Remedy }

// Unwrap returns the reason, for errors.Is.
func (r *Refusal) Unwrap() error { return r.Reason }

// Check says whether a port can be used, and if not, why and what to do about it: then the error is a *Refusal.
func (d Device) Check(p Port) error {
	switch {
	case d.Type != "CA":
		return &Refusal{ErrTransport, fmt.Sprintf("%s is no InfiniBand or RoCE device (its type is %q)", d.Name, d.Type), "use another device, or TCP"}
	case d.File == "":
		return &Refusal{ErrNoFile, d.Name + " has no file below /dev/infiniband", "load the kernel module (modprobe ib_uverbs)"}
	case p.State != Active:
		return refuseDown(nameOf(d, p), p)
	case len(p.Usable()) == 0:
		return d.refuseGIDs(p)
	}
	return nil
}

func nameOf(d Device, p Port) string { return fmt.Sprintf("%s:%d", d.Name, p.Number) }

func refuseDown(name string, p Port) error {
	what := fmt.Sprintf("%s is %s (the wire: %s)", name, cmp.Or(p.State, "in an unknown state"), cmp.Or(p.Physical, "unknown"))
	switch {
	case p.LinkLayer == InfiniBand && p.Physical == "LinkUp":
		return &Refusal{ErrPortDown, what, "it waits for a subnet manager (start opensm on one machine, or the switch's own)"}
	case p.Link.Name != "":
		return &Refusal{ErrPortDown, what, fmt.Sprintf("ip link set %s up, or plug in its cable", p.Link.Name)}
	}
	return &Refusal{ErrPortDown, what, "plug in the cable, and switch on what is at its other end"}
}

func (d Device) refuseGIDs(p Port) error {
	name, link := nameOf(d, p), cmp.Or(p.Link.Name, "INTERFACE")
	switch {
	case slices.ContainsFunc(p.GIDs, GID.foreign):
		return &Refusal{ErrNamespace, fmt.Sprintf("%s has GIDs only of an interface (%s) that is not in this network namespace", name, link),
			"run with the host's network (docker run --network host, hostNetwork: true), or move the interface here"}
	case len(p.GIDs) > 0 && !p.has(KindRoCEv2):
		return &Refusal{ErrOnlyRoCEv1, name + " has RoCE v1 only",
			fmt.Sprintf("switch it to RoCE v2 (cma_roce_mode -d %s -p %d -m 2, or the vendor's tool)", d.Name, p.Number)}
	}
	return &Refusal{ErrNoGID, name + " has no RoCE v2 GID with an IP address that peers could reach",
		fmt.Sprintf("give its interface one (ip addr add ADDRESS/24 dev %s); rdma link shows which interface it is", link)}
}

// foreign reports whether somebody else's network namespace has the address. Link-local ones do not tell: a port has one
// without any configuration.
func (g GID) foreign() bool {
	return g.reachable() && !g.Local && (g.MTU == 0 || g.family() != familyLinkLocal)
}

// refuseAll joins why each of several ports cannot be used; the first reason stands for all.
func refuseAll(reasons []error) error {
	const most = 8
	if len(reasons) == 1 {
		return reasons[0]
	}
	var texts []string
	for _, r := range reasons[:min(len(reasons), most)] {
		texts = append(texts, r.Error())
	}
	if more := len(reasons) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return &Refusal{reasons[0], "no RDMA port can be used", strings.Join(texts, "; ")}
}
