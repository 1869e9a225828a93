package etcd

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/find/etcd/embedded"
	"github.com/weft-fabric/weft/ripc/find/findtest"
	"github.com/weft-fabric/weft/ripc/wire"
)

func TestContract(t *testing.T) {
	s := serve(t, embedded.Config{})
	findtest.Run(t, func(t *testing.T) find.Resolver {
		config := Config{Endpoints: []string{s.Endpoint()}, Prefix: "/" + t.Name() + "/", TTL: 3 * time.Second, Timeout: time.Minute}
		d, err := Open(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		return d
	})
}

func TestAServiceHasOneHolderAndEverybodyFindsIt(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Config{})
	a, b := open(t, s.Endpoint()), open(t, s.Endpoint())
	c := must(t, a, named("kv/3", 1))
	if c.Record().Epoch == 0 || c.Err() != nil || c.ValidUntil() <= clock.Real.Now() {
		t.Errorf("%v, %v, valid until %v", c.Record(), c.Err(), c.ValidUntil())
	}
	for _, d := range []*Directory{a, b} {
		found, err := d.Find(t.Context(), wire.NameID("kv/3"))
		if err != nil || len(found) != 1 || !reflect.DeepEqual(found[0], c.Record()) {
			t.Errorf("found %v, %v; want %v", found, err, c.Record())
		}
	}
	_, err := b.Claim(t.Context(), named("kv/3", 2))
	var taken *find.TakenError
	if !errors.As(err, &taken) || taken.By.Node != node(1) {
		t.Errorf("a second holder: %v", err)
	}

	if err := c.Withdraw(t.Context()); err != nil {
		t.Error(err)
	}
	ended(t, c, find.ErrWithdrawn)
	if !absent(t, b, wire.NameID("kv/3")) {
		t.Error("what was withdrawn is found")
	}
	if later := must(t, b, named("kv/3", 2)); later.Record().Epoch <= c.Record().Epoch {
		t.Errorf("epoch %d came after %d", later.Record().Epoch, c.Record().Epoch)
	}
	if err := c.Withdraw(t.Context()); err != nil || absent(t, a, wire.NameID("kv/3")) {
		t.Errorf("a claim that was withdrawn long ago withdrew that of another: %v", err)
	}
}

func TestClaimingAgainGivesTheSameClaim(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Config{})
	d := open(t, s.Endpoint())
	c := must(t, d, named("kv/3", 1))
	first := c.Record()
	moved := named("kv/3", 1)
	moved.At = []string{"other:1"}
	if again := must(t, d, moved); again != c || c.Record().Epoch != first.Epoch || c.Record().At[0] != "other:1" {
		t.Errorf("%v became %v", first, again.Record())
	}
	have(t, d)
	if c.Err() != nil {
		t.Errorf("its own change ended it: %v", c.Err())
	}
	if found, err := d.Find(t.Context(), first.Service); err != nil || !reflect.DeepEqual(found[0], c.Record()) {
		t.Errorf("found %v, %v; want %v", found, err, c.Record())
	}
}

func TestEpochsAreAtLeastWhatIsAskedForAndOnlyGrow(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Config{})
	a, b := open(t, s.Endpoint()), open(t, s.Endpoint())
	r := named("kv/3", 1)
	r.Epoch = 1 << 60
	c := must(t, a, r)
	if epoch := c.Record().Epoch; epoch != 1<<60 {
		t.Errorf("epoch %d, asked for %d", epoch, uint64(1<<60))
	}
	// What another resolver gave, this one gives as well: else two of them could never agree.
	r.Epoch = 1 << 61
	if must(t, a, r); c.Record().Epoch != 1<<61 {
		t.Errorf("epoch %d, asked for %d", c.Record().Epoch, uint64(1<<61))
	}
	if err := c.Withdraw(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := c.Record().Epoch
	for i, d := range []*Directory{b, a, b} {
		c := must(t, d, named("kv/3", byte(i+2)))
		if epoch := c.Record().Epoch; epoch <= last {
			t.Errorf("epoch %d came after %d", epoch, last)
		}
		last = c.Record().Epoch
		c.Withdraw(t.Context())
	}
	r.Epoch = 1<<64 - 1
	if _, err := a.Claim(t.Context(), r); !errors.Is(err, find.ErrRecord) {
		t.Errorf("the last epoch of all: %v", err)
	}
}

func TestAGroupHasManyMembers(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Config{})
	a, b := open(t, s.Endpoint()), open(t, s.Endpoint())
	c := must(t, a, member("all", 1))
	must(t, b, member("all", 2))
	must(t, b, named("all", 2))
	if found, err := a.Find(t.Context(), wire.GroupID("all")); err != nil || len(found) != 2 {
		t.Errorf("found %v, %v", found, err)
	}
	if list, err := a.List(t.Context()); err != nil || len(list) != 3 {
		t.Errorf("listed %v, %v", list, err)
	}
	c.Withdraw(t.Context())
	if found, err := a.Find(t.Context(), wire.GroupID("all")); err != nil || len(found) != 1 || found[0].Node != node(2) {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestOneOfManyWhoClaimAtOnceGetsIt(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Config{})
	var got, taken atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		d := open(t, s.Endpoint())
		for range 4 { // those of one process get the same claim
			all.Go(func() {
				switch _, err := d.Claim(t.Context(), named("kv/3", byte(i+1))); {
				case err == nil:
					got.Add(1)
				case errors.Is(err, find.ErrTaken):
					taken.Add(1)
				default:
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	if got.Load() != 4 || taken.Load() != 28 {
		t.Errorf("%d got it and %d did not, want 4 and 28", got.Load(), taken.Load())
	}
}

func TestAThousandServicesHaveOneLease(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Config{})
	a, b := open(t, s.Endpoint()), open(t, s.Endpoint())
	const services = 1000
	var all sync.WaitGroup
	for worker := range 20 {
		all.Go(func() {
			for i := worker; i < services; i += 20 {
				if _, err := a.Claim(t.Context(), named(fmt.Sprintf("kv/%d", i), 1)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	list, err := b.List(t.Context())
	epochs := map[uint64]bool{}
	for _, r := range list {
		epochs[r.Epoch] = true
	}
	if err != nil || len(list) != services || len(epochs) != services {
		t.Errorf("%d services with %d epochs are listed, %v", len(list), len(epochs), err)
	}
	if leases, err := client(t, s.Endpoint()).Leases(t.Context()); err != nil || len(leases.Leases) != 1 {
		t.Errorf("%v, %v", leases, err)
	}
	a.Close()
	if list, err = b.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%d services of a closed directory are listed, %v", len(list), err)
	}
}

func TestCloseEndsClaims(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Config{})
	d := open(t, s.Endpoint())
	c := must(t, d, named("kv/3", 1))
	d.Close()
	d.Close()
	ended(t, c, find.ErrClosed)
	_, claim := d.Claim(t.Context(), named("kv/3", 1))
	_, over := d.TakeOver(t.Context(), named("kv/3", 1))
	_, found := d.Find(t.Context(), wire.NameID("kv/3"))
	_, list := d.List(t.Context())
	for _, err := range []error{claim, over, found, list} {
		if !errors.Is(err, find.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
	if err := c.Withdraw(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestABadRecordIsNotClaimed(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Config{})
	d := open(t, s.Endpoint())
	r := named("kv/3", 1)
	r.At = nil
	if _, err := d.Claim(t.Context(), r); !errors.Is(err, find.ErrRecord) || !strings.Contains(err.Error(), `"kv/3"`) {
		t.Errorf("%v", err)
	}
}

func TestWhatIsNotARecordIsIgnoredButNotOverwritten(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Config{})
	d := open(t, s.Endpoint())
	good := must(t, d, named("good", 1)).Record()
	raw := client(t, s.Endpoint())
	key := d.keys.holder(wire.NameID("bad"))
	for _, rubbish := range []string{"", "12345678", "rubbish, and a lot of it", value(1, &good)} {
		if _, err := raw.Put(t.Context(), key, rubbish); err != nil {
			t.Fatal(err)
		}
		if list, err := d.List(t.Context()); err != nil || len(list) != 1 {
			t.Errorf("%q: listed %v, %v", rubbish, list, err)
		}
		if _, err := d.Claim(t.Context(), named("bad", 1)); !errors.Is(err, find.ErrRecord) || !strings.Contains(err.Error(), key) {
			t.Errorf("%q: %v", rubbish, err)
		}
	}
	if _, err := raw.Put(t.Context(), d.keys.epochs, "rubbish"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Claim(t.Context(), named("other", 1)); !errors.Is(err, find.ErrRecord) || !strings.Contains(err.Error(), d.keys.epochs) {
		t.Error(err)
	}
}
