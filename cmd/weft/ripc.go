package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/find/host"
	"github.com/weft-fabric/weft/ripc/find/lan"
	"github.com/weft-fabric/weft/verbs"
)

// place says where services are looked for, and made known.
type place struct {
	directory string // of the services of this host; empty: the user's
	lan       string // the network to find services on; empty: none
}

func (p *place) flags(f *pflag.FlagSet) {
	f.StringVar(&p.directory, "directory", "", "directory in which the services of this host meet (default: one of this user's)")
	f.StringVar(&p.lan, "lan", "", "find services on the network of this interface instead (trusts everybody there)")
}

// resolver opens what the flags say.
func (p *place) resolver() (find.Resolver, error) {
	quiet := slog.New(slog.DiscardHandler)
	if p.lan != "" {
		return lan.Open(lan.Config{Interface: p.lan, Open: true, Log: quiet})
	}
	return host.Open(host.Config{Dir: p.directory, Log: quiet})
}

// address is where others on the network reach this host; empty: only this host does.
func (p *place) address() (string, error) {
	if p.lan == "" {
		return "", nil
	}
	i, err := net.InterfaceByName(p.lan)
	if err != nil {
		return "", usageError{fmt.Errorf("--lan %q: %w", p.lan, err)}
	}
	addresses, err := i.Addrs()
	if err != nil {
		return "", fmt.Errorf("--lan %q: %w", p.lan, err)
	}
	for _, a := range addresses {
		if network, ok := a.(*net.IPNet); ok && network.IP.To4() != nil {
			return net.JoinHostPort(network.IP.String(), "0"), nil
		}
	}
	return "", fmt.Errorf("--lan %q: the interface has no IPv4 address", p.lan)
}

// member is a process among those that have services, and what it stands on.
type member struct {
	*ripc.Node
	resolver find.Resolver
	device   *verbs.Device
}

// open takes part.
func (p *place) open() (m *member, err error) {
	m = &member{}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
		}
	}()
	at, err := p.address()
	if err != nil {
		return m, err
	}
	if m.resolver, err = p.resolver(); err != nil {
		return m, err
	}
	nic, err := soft.New(soft.Config{Name: "ripc", Lanes: soft.AllLanes, Listen: at, Plain: at != ""})
	if err != nil {
		return m, err
	}
	if m.device, err = verbs.Open(nic); err != nil {
		return m, err
	}
	config := ripc.Config{Device: m.device, Resolver: m.resolver, Plain: at != ""}
	if at != "" {
		config.Listen = []string{at}
	}
	m.Node, err = ripc.Open(config)
	return m, err
}

func (m *member) close() (failed error) {
	if m.Node != nil {
		failed = m.Node.Close()
	}
	if m.resolver != nil {
		failed = errors.Join(failed, m.resolver.Close())
	}
	if m.device != nil {
		failed = errors.Join(failed, m.device.Close())
	}
	return failed
}

// noService says what can be done about a service that was not found.
func noService(name string, err error) error {
	if errors.Is(err, ripc.ErrNoService) {
		return fmt.Errorf("service %q: %w; 'weft services' lists those that are there", name, err)
	}
	return fmt.Errorf("service %q: %w", name, err)
}
