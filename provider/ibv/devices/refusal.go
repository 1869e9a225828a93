package devices

import (
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

// refusal is one of the errors above with a text of its own for people.
type refusal struct {
	reason error
	text   string
}

func (r refusal) Error() string { return r.text }

func (r refusal) Unwrap() error { return r.reason }

func refuse(reason error, format string, args ...any) error {
	return refusal{reason, fmt.Sprintf(format, args...)}
}

// Check says whether a port can be used, and if not, why and what to do about it.
func (d Device) Check(p Port) error {
	switch {
	case d.Type != "CA":
		return refuse(ErrTransport, "%s is no InfiniBand or RoCE device (its type is %q): use another device, or TCP", d.Name, d.Type)
	case d.File == "":
		return refuse(ErrNoFile, "%s has no file below /dev/infiniband: load the kernel module (modprobe ib_uverbs)", d.Name)
	case p.State != Active:
		return d.refuseDown(p)
	case len(p.usable()) == 0:
		return d.refuseGIDs(p)
	}
	return nil
}

func (d Device) refuseDown(p Port) error {
	remedy := "plug in the cable, and switch on what is at its other end"
	switch {
	case p.LinkLayer == InfiniBand && p.Physical == "LinkUp":
		remedy = "it waits for a subnet manager (start opensm on one machine, or the switch's own)"
	case p.Link.Name != "":
		remedy = fmt.Sprintf("ip link set %s up, or plug in its cable", p.Link.Name)
	}
	return refuse(ErrPortDown, "%s:%d is %s (the wire: %s): %s", d.Name, p.Number, orUnknown(p.State), orUnknown(p.Physical), remedy)
}

func (d Device) refuseGIDs(p Port) error {
	name := fmt.Sprintf("%s:%d", d.Name, p.Number)
	link := p.Link.Name
	if link == "" {
		link = "INTERFACE"
	}
	switch {
	case slices.ContainsFunc(p.GIDs, GID.foreign):
		return refuse(ErrNamespace, "%s: its GIDs belong to an interface (%s) that is not in this network namespace: "+
			"run with the host's network (docker run --network host, hostNetwork: true), or move the interface here", name, link)
	case len(p.GIDs) > 0 && !p.has(KindRoCEv2):
		return refuse(ErrOnlyRoCEv1, "%s has RoCE v1 only: switch it to RoCE v2 (cma_roce_mode -d %s -p %d -m 2, or the vendor's tool)",
			name, d.Name, p.Number)
	}
	return refuse(ErrNoGID, "%s has no RoCE v2 GID with an IP address: give its interface one (ip addr add ADDRESS/24 dev %s); "+
		"rdma link shows which interface it is", name, link)
}

// foreign reports whether somebody else's network namespace has the address. Link-local ones do not tell: a port has one
// without any configuration.
func (g GID) foreign() bool {
	return g.Kind == KindRoCEv2 && !g.Local && (g.MTU == 0 || g.family() != familyLinkLocal)
}

func orUnknown(text string) string {
	if text == "" {
		return "in an unknown state"
	}
	return text
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
	return refusal{reasons[0], "no RDMA port can be used: " + strings.Join(texts, "; ")}
}
