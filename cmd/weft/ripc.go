package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/here"
)

// open takes part, among the processes that have services.
func (p *place) open(ctx context.Context) (*here.Node, error) {
	if err := p.check(); err != nil {
		return nil, usageError{err}
	}
	at, err := p.address()
	if err != nil {
		return nil, err
	}
	ring, err := p.keyring()
	if err != nil {
		return nil, err
	}
	resolver, err := p.resolver(ctx)
	if err != nil {
		return nil, err
	}
	m, err := here.Open(here.Config{Resolver: resolver, Listen: at, Keys: ring, Plain: at != "" && ring == nil})
	return m, p.explainListen(err)
}

// explainListen names the flag by which a process was told to listen where it cannot, and what the system says.
func (p *place) explainListen(err error) error {
	var refused *net.OpError
	if p.listen == "" || !errors.As(err, &refused) || refused.Op != "listen" {
		return err
	}
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		return fmt.Errorf("--listen %s: this host does not have that address; 'ip address' lists those that it has", p.listen)
	}
	return fmt.Errorf("--listen %s: %w", p.listen, refused.Err)
}

// keyring is who this process is; nil: one of this user's.
func (p *place) keyring() (*keys.Keyring, error) {
	if len(p.keys) == 0 {
		return nil, nil
	}
	return keys.Open(keys.Config{Files: p.keys})
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
	return err
}
