package etcd

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/find/etcd/embedded"
	"github.com/weft-fabric/weft/ripc/wire"
)

func TestAServiceMovesBackAndForth(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Config{})
	directories := []*Directory{open(t, s.Endpoint()), open(t, s.Endpoint())}
	var last find.Claim
	for i := range 20 {
		d, r := directories[i%2], named("kv/3", byte(i%2+1))
		c, err := d.TakeOver(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if last != nil {
			// The new claim was made after the old one had ended, not at the same time.
			if last.Err() == nil || last.ValidUntil() != 0 {
				t.Fatalf("two have it: one until %v", last.ValidUntil())
			}
			var superseded *find.SupersededError
			if !errors.As(last.Err(), &superseded) || superseded.By.Node != r.Node {
				t.Fatalf("the old claim ended with %v", last.Err())
			}
			if c.Record().Epoch <= last.Record().Epoch {
				t.Fatalf("epoch %d came after %d", c.Record().Epoch, last.Record().Epoch)
			}
		}
		last = c
	}
	if last.Err() != nil {
		t.Error(last.Err())
	}
	raw := client(t, s.Endpoint())
	eventually(t, "no wish is left", func() bool {
		answer, err := raw.Get(t.Context(), directories[0].keys.wanted(wire.NameID("kv/3")))
		return err == nil && len(answer.Kvs) == 0
	})
	if last.Err() != nil || absent(t, directories[0], wire.NameID("kv/3")) {
		t.Errorf("with the wish went the claim: %v", last.Err())
	}
}

func TestThoseWhoTakeOverAtOnceAllHaveTheirTurn(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Config{})
	ends := make(chan find.Claim, 4)
	for i := range cap(ends) {
		d := open(t, s.Endpoint())
		go func() {
			c, err := d.TakeOver(t.Context(), named("kv/3", byte(i+1)))
			if err != nil {
				t.Error(err)
			}
			ends <- c
		}()
	}
	live := map[find.Claim]bool{}
	for range cap(ends) {
		live[<-ends] = true
	}
	eventually(t, "one of them has it", func() bool {
		for c := range live {
			if c == nil || c.Err() != nil {
				delete(live, c)
			}
		}
		return len(live) == 1
	})
}

// dead writes the claim of a process that will not hear anything.
func dead(t *testing.T, raw *clientv3.Client, r find.Record) clientv3.LeaseID {
	t.Helper()
	l, err := raw.Grant(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	k := newKeys("/weft/")
	if _, err := raw.Put(t.Context(), k.record(&r), value(0, &r), clientv3.WithLease(l.ID)); err != nil {
		t.Fatal(err)
	}
	return l.ID
}

func TestADeadHolderIsWaitedFor(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a lease to run out or to be renewed")
	}
	t.Parallel()
	s := serve(t, embedded.Config{})
	dead(t, client(t, s.Endpoint()), named("kv/3", 1))
	d := open(t, s.Endpoint())
	if c, err := d.TakeOver(t.Context(), named("kv/3", 2)); err != nil || c.Record().Node != node(2) {
		t.Errorf("%v, %v", c, err)
	}
}

func TestAHolderThatDoesNotLetGoIsAnError(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a lease to run out or to be renewed")
	}
	t.Parallel()
	s := serve(t, embedded.Config{})
	raw := client(t, s.Endpoint())
	if _, err := raw.KeepAlive(t.Context(), dead(t, raw, named("kv/3", 1))); err != nil {
		t.Fatal(err)
	}
	d := open(t, s.Endpoint())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := d.TakeOver(ctx, named("kv/3", 2)); !errors.Is(err, errStays) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	eventually(t, "the wish is withdrawn", func() bool {
		answer, err := raw.Get(t.Context(), d.keys.wanted(wire.NameID("kv/3")))
		return err == nil && len(answer.Kvs) == 0
	})
}
