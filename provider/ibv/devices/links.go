package devices

import (
	"net"
	"net/netip"
)

// systemLinks lists the interfaces of this network namespace.
func systemLinks() ([]Link, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var links []Link
	for _, i := range interfaces {
		l := Link{Name: i.Name, MTU: i.MTU}
		addresses, err := i.Addrs()
		if err != nil {
			continue // it disappeared meanwhile
		}
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				l.Addresses = append(l.Addresses, netip.PrefixFrom(p.Addr().Unmap(), p.Bits()))
			}
		}
		links = append(links, l)
	}
	return links, nil
}
