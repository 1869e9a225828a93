package find

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/wire"
)

// book is a resolver in memory that gives epochs of its own.
type book struct {
	*table
	mu     sync.Mutex
	next   uint64 // the lowest epoch that it gives
	until  clock.Time
	claims map[wire.ID]*page
	refuse error
}

type page struct {
	*Hold
	withdrawn int
}

func (p *page) Withdraw(context.Context) error {
	p.withdrawn++
	p.End(ErrWithdrawn)
	return nil
}

func newBook(name string, next uint64, until clock.Time) *book {
	return &book{table: newTable(name), next: next, until: until, claims: map[wire.ID]*page{}}
}

func (b *book) Claim(_ context.Context, r Record) (Claim, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuse != nil {
		return nil, b.refuse
	}
	p := b.claims[r.Service]
	if r.Epoch = max(r.Epoch, b.next); p == nil {
		p = &page{Hold: NewHold(r, b.until)}
		b.claims[r.Service] = p
	}
	p.Renew(r, b.until)
	return p, nil
}

func TestAJointClaimHasOneEpoch(t *testing.T) {
	a, b, c := newBook("a", 5, 100), newBook("b", 9, 50), newBook("c", 7, 200)
	j, err := Join(t.Context(), named("kv", 0, 1), a, b, c)
	if err != nil {
		t.Fatal(err)
	}
	if j.Record().Epoch != 9 || j.ValidUntil() != 50 || j.Err() != nil {
		t.Errorf("epoch %d, valid until %v, %v", j.Record().Epoch, j.ValidUntil(), j.Err())
	}
	for _, book := range []*book{a, b, c} {
		if got := book.claims[wire.NameID("kv")].Record().Epoch; got != 9 {
			t.Errorf("%s has epoch %d", book.name, got)
		}
	}
	for range 2 {
		if err := j.Withdraw(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, book := range []*book{a, b, c} {
		if n := book.claims[wire.NameID("kv")].withdrawn; n != 1 {
			t.Errorf("%s was withdrawn %d times", book.name, n)
		}
	}
	if <-j.Done(); !errors.Is(j.Err(), ErrWithdrawn) || j.ValidUntil() > 0 {
		t.Errorf("%v, valid until %v", j.Err(), j.ValidUntil())
	}
}

func TestAJointClaimEndsWithTheFirstOfItsClaims(t *testing.T) {
	a, b := newBook("a", 1, clock.Never), newBook("b", 1, clock.Never)
	j, err := Join(t.Context(), named("kv", 0, 1), a, b)
	if err != nil {
		t.Fatal(err)
	}
	a.claims[wire.NameID("kv")].End(&SupersededError{By: named("kv", 2, 2)})
	if <-j.Done(); !errors.Is(j.Err(), ErrSuperseded) || j.ValidUntil() > 0 {
		t.Errorf("%v, valid until %v", j.Err(), j.ValidUntil())
	}
	j.Withdraw(t.Context()) // waits
	if p := b.claims[wire.NameID("kv")]; !errors.Is(p.Err(), ErrWithdrawn) {
		t.Errorf("the other is %v", p.Err())
	}
}

func TestAJointClaimThatOneRefusesLeavesNothing(t *testing.T) {
	a, b := newBook("a", 1, clock.Never), newBook("b", 1, clock.Never)
	b.refuse = &TakenError{By: named("kv", 3, 3)}
	if _, err := Join(t.Context(), named("kv", 0, 1), a, b); !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), `b: the name "kv" is taken`) {
		t.Error(err)
	}
	if p := a.claims[wire.NameID("kv")]; !errors.Is(p.Err(), ErrWithdrawn) {
		t.Errorf("the other is %v", p.Err())
	}
	if _, err := Join(t.Context(), named("kv", 0, 1)); err == nil {
		t.Error("claimed with no resolver at all")
	}
	if _, err := Join(t.Context(), Record{}, a); !errors.Is(err, ErrRecord) {
		t.Error(err)
	}
}
