package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/verbs"
)

// member is a process among those that have services, and what it stands on.
type member struct {
	*ripc.Node
	resolver find.Resolver
	device   *verbs.Device
}

// open takes part.
func (p *place) open(ctx context.Context) (m *member, err error) {
	m = &member{}
	if err := p.check(); err != nil {
		return m, usageError{err}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
		}
	}()
	at, err := p.address()
	if err != nil {
		return m, err
	}
	ring, err := p.keyring()
	if err != nil {
		return m, err
	}
	resolver, err := p.resolver(ctx)
	if err != nil {
		return m, err // m.resolver stays nil: what is here is a nil of some type
	}
	m.resolver = resolver
	if m.device, err = openNIC(at, ring); err != nil {
		return m, err
	}
	config := ripc.Config{Device: m.device, Resolver: m.resolver, Keys: ring, Plain: at != "" && ring == nil}
	if at != "" {
		config.Listen = []string{at}
	}
	m.Node, err = ripc.Open(config)
	return m, err
}

// keyring is who this process is; nil: one of this user's.
func (p *place) keyring() (*keys.Keyring, error) {
	if len(p.keys) == 0 {
		return nil, nil
	}
	return keys.Open(keys.Config{Files: p.keys})
}

// openNIC opens a software NIC that awaits peers at the host of an address, or on this host. Its port is another one: the node has
// that of the address.
func openNIC(at string, ring *keys.Keyring) (*verbs.Device, error) {
	config := soft.Config{Name: "ripc", Lanes: soft.AllLanes, Plain: at != "" && ring == nil}
	if name, _, err := net.SplitHostPort(at); err == nil {
		config.Listen = net.JoinHostPort(name, "0")
	}
	if ring != nil {
		config.TLS = ring.TLS()
	}
	nic, err := soft.New(config)
	if err != nil {
		return nil, err
	}
	return verbs.Open(nic)
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

// noService says what can be done about a service that was not found, and what one has said that failed.
func noService(name string, err error) error {
	var failed *ripc.FailedError
	if errors.As(err, &failed) { // it knows the service by its ID only
		return fmt.Errorf("service %q failed: %s", name, failed.Text)
	}
	if errors.Is(err, find.ErrNotFound) {
		return fmt.Errorf("no such service: %q; 'weft services' with the same flags lists those that are there", name)
	}
	return fmt.Errorf("service %q: %w", name, err)
}
