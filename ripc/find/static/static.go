// Package static finds services in a table: which service is at which addresses. It is for a few services that stay where they
// are, and for places where nothing may be asked of the network.
//
// A table is a Go map, or a file of lines:
//
//	# name   addresses, which are tried in this order
//	store    db1:7471 db2:7471
//	thumbs   unix:/run/thumbs
//
// A name stands for a service, and for a group as well: then each address is a member of it. The table does not know
// incarnations, so its records have epoch 0: any. It does not see other processes either, so nobody keeps two of them from
// claiming one service: who writes the table sees to that. Claims never end by themselves, and a service may restart in its
// place.
package static

import (
	"context"
	"fmt"
	"sync"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
)

// Resolver is a table of services. It is a find.Resolver. Watch never calls: a table does not change.
type Resolver struct {
	records map[wire.ID][]find.Record // Invariant: never changed

	mu     sync.Mutex
	closed bool
	claims map[find.Key]*claim
}

var _ find.Resolver = (*Resolver)(nil)

// New makes a resolver of a table: names, and the addresses of each as connect.Dial takes them.
func New(table map[string][]string) (*Resolver, error) {
	s := &Resolver{records: map[wire.ID][]find.Record{}, claims: map[find.Key]*claim{}}
	for name, addresses := range table {
		if err := s.add(name, addresses); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Resolver) add(name string, addresses []string) error {
	service := find.Record{Service: wire.NameID(name), Name: name, At: append([]string(nil), addresses...)}
	if err := service.Check(); err != nil {
		return fmt.Errorf("service %q: %w", name, err)
	}
	s.records[service.Service] = []find.Record{service}
	group := wire.GroupID(name)
	for _, address := range service.At {
		s.records[group] = append(s.records[group], find.Record{Service: group, Name: name, At: []string{address}})
	}
	return nil
}

// Name is "static".
func (s *Resolver) Name() string { return "static" }

// Find looks into the table.
func (s *Resolver) Find(_ context.Context, id wire.ID) ([]find.Record, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	records := s.records[id]
	if records == nil {
		return nil, fmt.Errorf("%v is not in the table: %w", id, find.ErrNotFound)
	}
	return append([]find.Record(nil), records...), nil
}

// List returns the services of the table. Whether they are also used as groups it does not know.
func (s *Resolver) List(context.Context) ([]find.Record, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	var all []find.Record
	for id, records := range s.records {
		if id.Kind() == wire.Named {
			all = append(all, records...)
		}
	}
	return all, nil
}

// Watch does nothing: a table does not change.
func (s *Resolver) Watch(func(find.Change)) {}

func (s *Resolver) open() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("static: %w", find.ErrClosed)
	}
	return nil
}

// claim is a claim that nobody disputes.
type claim struct {
	*find.Hold
	of *Resolver
}

// Claim works for services of the table. The record's epoch is what it was. That the process is where the table says, the
// table believes.
func (s *Resolver) Claim(_ context.Context, r find.Record) (find.Claim, error) {
	if err := r.CheckClaim(); err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	if s.records[r.Service] == nil {
		return nil, fmt.Errorf("claim %s: it is not in the table, add it there: %w", r.Title(), find.ErrNotFound)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("claim %s: static: %w", r.Title(), find.ErrClosed)
	}
	c := s.claims[r.Key()]
	if c != nil && c.Record().Node != r.Node {
		return nil, &find.TakenError{By: c.Record()}
	}
	if c == nil {
		c = &claim{find.NewHold(r, clock.Never), s}
		s.claims[r.Key()] = c
	}
	c.Renew(r, clock.Never)
	return c, nil
}

// Withdraw ends the claim. The table stays as it is.
func (c *claim) Withdraw(context.Context) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.End(find.ErrWithdrawn) {
		r := c.Record()
		delete(c.of.claims, r.Key())
	}
	return nil
}

// Close ends all claims.
func (s *Resolver) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, c := range s.claims {
		c.End(find.ErrClosed)
	}
	return nil
}
