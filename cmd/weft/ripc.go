package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/here"
)

// open takes part, among the processes that have services.
func (p *place) open(ctx context.Context) (*here.Node, error) { return p.openFor(ctx, "") }

// openFor takes part to call a service, which is looked for first: nobody should type for one that is not there.
func (p *place) openFor(ctx context.Context, service string) (*here.Node, error) {
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
	if service != "" {
		if _, err := resolver.Find(ctx, ripc.Name(service)); err != nil {
			return nil, errors.Join(noService(service, err), resolver.Close())
		}
	}
	m, err := here.Open(here.Config{Resolver: resolver, Listen: at, Keys: ring, Plain: ring == nil && (p.plain || p.lan != "")})
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
	ring, err := keys.Open(keys.Config{Files: p.keys})
	if err != nil {
		return nil, fmt.Errorf("--keys: %s", strings.TrimPrefix(err.Error(), "open keys: "))
	}
	return ring, nil
}

// inFlags is what the library says of its configuration, and what the command line has for it.
var inFlags = strings.NewReplacer(
	"use a Unix socket, Config.Keys or Config.Plain", "it was started with --plain or --keys: give the same",
	"use Config.Keys", "give both --keys",
	"set its Config.Listen", "start it with --listen",
	"does it want TLS?", "if it was started with --keys, give --keys too",
	"not trusted", "not trusted; both must have --keys of one authority",
	"does the peer speak TLS, and know our certificate authority?", "both must have --keys of one authority, or both --plain",
)

// unlinked is why two processes cannot talk to each other, in the words of the command line.
type unlinked struct{ error }

func (e unlinked) Error() string { return inFlags.Replace(e.error.Error()) }

// Unwrap is why.
func (e unlinked) Unwrap() error { return e.error }

// noService says what can be done about a service that was not found or cannot be talked to, and what one has said that failed.
func noService(name string, err error) error {
	var failed *ripc.FailedError
	if errors.As(err, &failed) { // it knows the service by its ID only
		return kindError{fmt.Errorf("service %q failed: %s", name, failed.Text), "service_failed"}
	}
	if errors.Is(err, find.ErrNotFound) {
		return kindError{fmt.Errorf("no such service: %q; 'weft services' with the same flags lists those that are there", name), "no_service"}
	}
	return kindError{unlinked{err}, kindOf(err)}
}

// kindOf is what programs are told of a call that has brought no answer: whether they may call again depends on it.
func kindOf(err error) string {
	var known kindError
	switch {
	case errors.As(err, &known):
		return known.kind
	case errors.Is(err, ripc.ErrLost):
		return "lost"
	case errors.Is(err, ripc.ErrUnreachable):
		return "unreachable"
	}
	return "failed"
}
