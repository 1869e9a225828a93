package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/find/host"
	"github.com/weft-fabric/weft/verbs"
)

// place says where services are looked for, and made known.
type place struct {
	directory string // of the services of this host; empty: the user's
}

func (p *place) flags(f *pflag.FlagSet) {
	f.StringVar(&p.directory, "directory", "", "directory in which the services of this host meet (default: one of this user's)")
}

// resolver opens what the flags say.
func (p *place) resolver() (find.Resolver, error) {
	return host.Open(host.Config{Dir: p.directory, Log: slog.New(slog.DiscardHandler)})
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
	if m.resolver, err = p.resolver(); err != nil {
		return m, err
	}
	nic, err := soft.New(soft.Config{Name: "ripc", Lanes: soft.AllLanes})
	if err != nil {
		return m, err
	}
	if m.device, err = verbs.Open(nic); err != nil {
		return m, err
	}
	m.Node, err = ripc.Open(ripc.Config{Device: m.device, Resolver: m.resolver})
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
