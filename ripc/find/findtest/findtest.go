// Package findtest is what every resolver must do, as tests: those of a resolver run them.
//
//	func TestContract(t *testing.T) {
//		findtest.Run(t, func(t *testing.T) find.Resolver { … })
//	}
package findtest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
)

// Run judges resolvers. Open opens one more that knows what the others of the same test know, as another process would; different
// tests must not know of each other. It leaves closing to the test.
func Run(t *testing.T, open func(t *testing.T) find.Resolver) {
	for name, test := range map[string]func(*suite){
		"WhatIsClaimedIsFound":         (*suite).claimedIsFound,
		"WhatIsTakenCannotBeClaimed":   (*suite).takenIsTaken,
		"AGroupHasManyMembers":         (*suite).groups,
		"ADrawnServiceHasNoName":       (*suite).drawn,
		"ClaimingAgainChanges":         (*suite).claimAgain,
		"TheEpochIsAtLeastWhatIsAsked": (*suite).epochAsked,
		"WithdrawnIsGone":              (*suite).withdrawn,
		"ClaimsAreRenewed":             (*suite).renewed,
		"ChangesAreTold":               (*suite).watched,
		"BadRecordsAreRefused":         (*suite).badRecords,
		"CloseEndsEverything":          (*suite).closed,
	} {
		t.Run(name, func(t *testing.T) {
			s := &suite{T: t}
			s.a, s.b = s.open(open), s.open(open)
			test(s)
		})
	}
}

// suite is one test, with two resolvers.
type suite struct {
	*testing.T
	a, b find.Resolver
}

func (s *suite) open(open func(t *testing.T) find.Resolver) find.Resolver {
	r := open(s.T)
	s.Cleanup(func() {
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			s.Error(err)
		}
	})
	return r
}

// Node is the ID of a process.
func Node(n byte) wire.ID { return wire.RandomID([15]byte{n}) }

// Named is a record of a service with a name, in process n.
func Named(name string, n byte) find.Record {
	return find.Record{Service: wire.NameID(name), Name: name, Node: Node(n), At: []string{"unix:@weft-1", "host:7471"}}
}

// Member is a record of a member of a group.
func Member(name string, n byte) find.Record {
	r := Named(name, n)
	r.Service = wire.GroupID(name)
	return r
}

func (s *suite) claim(by find.Resolver, r find.Record) find.Claim {
	s.Helper()
	c, err := by.Claim(s.Context(), r)
	if err != nil {
		s.Fatal(err)
	}
	got := c.Record()
	if epoch := got.Epoch; epoch == 0 || epoch < r.Epoch || c.Err() != nil || c.ValidUntil() <= 0 {
		s.Fatalf("claimed %v, valid until %v, %v", &got, c.ValidUntil(), c.Err())
	}
	if r.Epoch = got.Epoch; !got.Equal(&r) {
		s.Fatalf("claimed %v, got %v", &r, &got)
	}
	return c
}

// find waits until a resolver finds just these. What one has said the other need not have heard at once.
func (s *suite) find(by find.Resolver, id wire.ID, want ...find.Record) {
	s.Helper()
	s.until(func() (bool, any) {
		records, err := by.Find(s.Context(), id)
		if err != nil && !errors.Is(err, find.ErrNotFound) || (len(records) == 0) != (err != nil) {
			s.Fatalf("found %v, %v", records, err)
		}
		return same(records, want), records
	})
}

// until waits until something is so.
func (s *suite) until(so func() (bool, any)) {
	s.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		yes, is := so()
		if yes {
			return
		}
		if time.Now().After(end) {
			s.Fatalf("for 20 seconds it was %v", is)
		}
	}
}

// same reports whether two lists have the same records.
func same(a, b []find.Record) bool {
	keys := map[find.Key]find.Record{}
	for _, r := range a {
		keys[r.Key()] = r
	}
	for _, r := range b {
		if other, ok := keys[r.Key()]; !ok || !other.Equal(&r) {
			return false
		}
	}
	return len(a) == len(b) && len(keys) == len(a)
}

func (s *suite) claimedIsFound() {
	kv := s.claim(s.a, Named("kv", 1)).Record()
	other := s.claim(s.b, Named("other", 2)).Record()
	for _, r := range []find.Resolver{s.a, s.b} {
		s.find(r, kv.Service, kv)
		s.find(r, other.Service, other)
		s.find(r, wire.NameID("none"))
		s.find(r, wire.GroupID("kv"))
		s.until(func() (bool, any) {
			all, err := r.List(s.Context())
			return err == nil && same(all, []find.Record{kv, other}), all
		})
	}
}

func (s *suite) takenIsTaken() {
	kv := s.claim(s.a, Named("kv", 1))
	for _, r := range []find.Resolver{s.a, s.b} {
		_, err := r.Claim(s.Context(), Named("kv", 2))
		var taken *find.TakenError
		if !errors.Is(err, find.ErrTaken) || !errors.As(err, &taken) || taken.By.Node != Node(1) {
			s.Errorf("claimed with %v", err)
		}
	}
	if kv.Err() != nil {
		s.Error(kv.Err())
	}
}

func (s *suite) groups() {
	one, two := s.claim(s.a, Member("g", 1)), s.claim(s.b, Member("g", 2))
	s.find(s.a, wire.GroupID("g"), one.Record(), two.Record())
	s.find(s.b, wire.GroupID("g"), one.Record(), two.Record())
	s.find(s.a, wire.NameID("g"))
	if err := two.Withdraw(s.Context()); err != nil {
		s.Error(err)
	}
	s.find(s.a, wire.GroupID("g"), one.Record())
	s.find(s.b, wire.GroupID("g"), one.Record())
}

func (s *suite) drawn() {
	r := find.Record{Service: Node(77), Node: Node(1), At: []string{"host:1"}}
	s.find(s.b, r.Service, s.claim(s.a, r).Record())
}

func (s *suite) claimAgain() {
	kv := s.claim(s.a, Named("kv", 1))
	moved := Named("kv", 1)
	moved.At, moved.Epoch = []string{"elsewhere:1"}, kv.Record().Epoch+7
	s.claim(s.a, moved)
	if got := kv.Record(); !got.Equal(&moved) {
		s.Errorf("the claim has %v", &got)
	}
	s.find(s.b, moved.Service, moved)
}

func (s *suite) epochAsked() {
	high := Named("kv", 1)
	high.Epoch = 1 << 62
	if got := s.claim(s.a, high).Record().Epoch; got != high.Epoch {
		s.Errorf("epoch %d", got)
	}
}

func (s *suite) withdrawn() {
	kv := s.claim(s.a, Named("kv", 1))
	s.find(s.b, wire.NameID("kv"), kv.Record())
	if err := kv.Withdraw(s.Context()); err != nil {
		s.Error(err)
	}
	if <-kv.Done(); !errors.Is(kv.Err(), find.ErrWithdrawn) || kv.ValidUntil() > clock.Real.Now() {
		s.Errorf("ended with %v, valid until %v", kv.Err(), kv.ValidUntil())
	}
	s.find(s.b, wire.NameID("kv"))
	next := s.claim(s.b, Named("kv", 2))
	if next.Record().Epoch <= kv.Record().Epoch {
		s.Errorf("epoch %d follows %d", next.Record().Epoch, kv.Record().Epoch)
	}
	if err := kv.Withdraw(s.Context()); err != nil {
		s.Error(err)
	}
	s.find(s.a, wire.NameID("kv"), next.Record())
	if next.Err() != nil {
		s.Error(next.Err())
	}
}

func (s *suite) renewed() {
	kv := s.claim(s.a, Named("kv", 1))
	first := kv.ValidUntil()
	s.until(func() (bool, any) { return kv.ValidUntil() > first || first == clock.Never, kv.ValidUntil() })
}

func (s *suite) watched() {
	changes := make(chan find.Change, 100)
	s.b.Watch(func(c find.Change) { changes <- c })
	hear := func(what find.What, r find.Record) {
		s.Helper()
		for {
			select {
			case c := <-changes:
				if c.What == what && c.Record.Equal(&r) {
					return
				}
			case <-time.After(20 * time.Second):
				s.Fatalf("not told that %v %v", &r, what)
			}
		}
	}
	kv := s.claim(s.a, Named("kv", 1))
	hear(find.Came, kv.Record())
	moved := kv.Record()
	moved.At = []string{"elsewhere:1"}
	s.claim(s.a, moved)
	hear(find.Moved, kv.Record())
	if err := kv.Withdraw(s.Context()); err != nil {
		s.Error(err)
	}
	hear(find.Gone, moved)
}

func (s *suite) badRecords() {
	nobody, nowhere, wrong := Named("kv", 1), Named("kv", 1), Named("kv", 1)
	nobody.Node, nowhere.At, wrong.Name = wire.ID{}, nil, "other"
	for _, r := range []find.Record{{}, nobody, nowhere, wrong} {
		if _, err := s.a.Claim(s.Context(), r); !errors.Is(err, find.ErrRecord) {
			s.Errorf("%v: %v", &r, err)
		}
	}
	if s.a.Name() == "" || strings.ContainsAny(s.a.Name(), " \n") {
		s.Errorf("it is called %q", s.a.Name())
	}
}

func (s *suite) closed() {
	kv := s.claim(s.a, Named("kv", 1))
	s.find(s.b, wire.NameID("kv"), kv.Record())
	if err := s.a.Close(); err != nil {
		s.Error(err)
	}
	if <-kv.Done(); !errors.Is(kv.Err(), find.ErrClosed) || kv.ValidUntil() > clock.Real.Now() {
		s.Errorf("ended with %v, valid until %v", kv.Err(), kv.ValidUntil())
	}
	s.find(s.b, wire.NameID("kv"))
	s.claim(s.b, Named("kv", 2))
	_, claimed := s.a.Claim(s.Context(), Named("kv", 1))
	_, found := s.a.Find(s.Context(), wire.NameID("kv"))
	_, listed := s.a.List(s.Context())
	for _, err := range []error{claimed, found, listed} {
		if !errors.Is(err, find.ErrClosed) {
			s.Error(err)
		}
	}
	if err := kv.Withdraw(s.Context()); err != nil {
		s.Error(err)
	}
}
