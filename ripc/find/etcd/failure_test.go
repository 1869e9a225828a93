package etcd

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/find/etcd/embedded"
	"github.com/weft-fabric/weft/ripc/wire"
)

// stop makes a directory stop renewing, as if its process had been stopped.
func stop(d *Directory) *lease {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lease.end()
	return d.lease
}

func TestTheServiceOfAStoppedProcessIsFreeAfterItsClaimHasRunOut(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a lease to run out or to be renewed")
	}
	t.Parallel()
	s := serve(t, embedded.Config{})
	a, b := openFor(t, s.Endpoint(), time.Second), open(t, s.Endpoint())
	old := must(t, a, named("kv/3", 1))
	stopped := stop(a)
	until := old.ValidUntil()

	var claim find.Claim
	eventually(t, "the service is free", func() bool {
		var err error
		claim, err = b.Claim(t.Context(), named("kv/3", 2))
		if err != nil && !errors.Is(err, find.ErrTaken) {
			t.Fatal(err)
		}
		return err == nil
	})
	if now := clock.Real.Now(); now < until {
		t.Errorf("another had the service at %v, although it was promised until %v", now, until)
	}
	if claim.Record().Epoch <= old.Record().Epoch {
		t.Errorf("epoch %d came after %d", claim.Record().Epoch, old.Record().Epoch)
	}

	// The process goes on: it learns what has happened from the watch, or from the lease that is not renewed.
	<-old.Done()
	if err := old.Err(); !errors.Is(err, find.ErrSuperseded) && !errors.Is(err, find.ErrLost) {
		t.Errorf("the old claim ended with %v", err)
	}
	if _, err := a.renew(&lease{id: stopped.id, ttl: stopped.ttl, ctx: t.Context()}); !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		t.Errorf("the lease was renewed: %v", err)
	}
	if _, err := a.Claim(t.Context(), named("kv/3", 1)); !errors.Is(err, find.ErrTaken) {
		t.Errorf("the old process claims again: %v", err)
	}
	must(t, a, named("another", 1)) // with a new lease
}

func TestARenewedClaimStaysValid(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a lease to run out or to be renewed")
	}
	t.Parallel()
	s := serve(t, embedded.Config{})
	d := openFor(t, s.Endpoint(), 3*time.Second)
	c := must(t, d, named("kv/3", 1))
	until := c.ValidUntil()
	d.mu.Lock()
	ttl := d.lease.ttl
	d.mu.Unlock()
	eventually(t, "the claim was renewed past the end of the lease", func() bool { return c.ValidUntil() > until.Add(ttl) })
	if c.Err() != nil || absent(t, d, wire.NameID("kv/3")) {
		t.Error(c.Err())
	}
}

func TestALostLeaseEndsItsClaims(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Config{})
	d := open(t, s.Endpoint())
	one, two := must(t, d, named("kv/1", 1)), must(t, d, member("kv", 1))
	d.mu.Lock()
	id := d.lease.id
	d.mu.Unlock()
	if _, err := client(t, s.Endpoint()).Revoke(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	ended(t, one, find.ErrLost)
	ended(t, two, find.ErrLost)
	if again := must(t, d, named("kv/1", 1)); again.Record().Epoch <= one.Record().Epoch {
		t.Errorf("epoch %d came after %d", again.Record().Epoch, one.Record().Epoch)
	}
}

func TestADeletedClaimEnds(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Config{})
	d := open(t, s.Endpoint())
	c, other := must(t, d, named("kv/3", 1)), must(t, d, named("kv/4", 1))
	if _, err := client(t, s.Endpoint()).Delete(t.Context(), d.keys.holder(wire.NameID("kv/3"))); err != nil {
		t.Fatal(err)
	}
	ended(t, c, find.ErrLost)
	if other.Err() != nil {
		t.Error(other.Err())
	}
}

func TestWhatNobodyClaimsAnyMoreIsDeleted(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Config{})
	d := open(t, s.Endpoint())
	must(t, d, named("kv/3", 1))
	d.mu.Lock()
	id := d.lease.id
	d.mu.Unlock()
	// As a claim does whose answer is lost.
	r := named("lost", 1)
	if _, err := client(t, s.Endpoint()).Put(t.Context(), d.keys.record(&r), value(0, &r), clientv3.WithLease(id)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is deleted", func() bool { return absent(t, d, r.Service) })
	if absent(t, d, wire.NameID("kv/3")) {
		t.Error("what is claimed was deleted too")
	}
}

func TestAServiceThatCouldNotBeWithdrawnIsDeletedLater(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Config{})
	line := newCable(t, s.Endpoint())
	near, far := open(t, s.Endpoint()), open(t, line.endpoint())
	c := must(t, far, named("kv/3", 1))
	other := must(t, far, named("kv/4", 1))
	have(t, far)
	line.set(true)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := c.Withdraw(ctx); err == nil || !strings.Contains(err.Error(), "no answer from the directory at "+line.endpoint()) {
		t.Errorf("withdrawn without a connection: %v", err)
	}
	ended(t, c, find.ErrWithdrawn)
	if absent(t, near, wire.NameID("kv/3")) {
		t.Error("it is gone without having been told")
	}
	line.set(false)
	eventually(t, "it is deleted", func() bool { return absent(t, near, wire.NameID("kv/3")) })
	if other.Err() != nil || absent(t, near, wire.NameID("kv/4")) {
		t.Errorf("the other service: %v", other.Err())
	}
}

func TestClaimsSurviveARestartOfTheServer(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a lease to run out or to be renewed")
	}
	t.Parallel()
	config := embedded.Config{Folder: t.TempDir()}
	s := serve(t, config)
	_, config.Listen = split(s.Endpoint())
	a, b := openFor(t, s.Endpoint(), 3*time.Second), open(t, s.Endpoint())
	c := must(t, a, named("kv/3", 1))
	have(t, b)
	seen := watch(b)
	s.Close()
	eventually(t, "the claim has run out", func() bool { return c.ValidUntil() < clock.Real.Now() })
	if c.Err() != nil {
		t.Errorf("it ended: %v", c.Err())
	}

	serve(t, config)
	eventually(t, "the claim is valid again", func() bool { return c.ValidUntil() > clock.Real.Now() })
	if found, err := b.Find(t.Context(), wire.NameID("kv/3")); err != nil || found[0].Epoch != c.Record().Epoch {
		t.Errorf("found %v, %v", found, err)
	}
	must(t, a, named("kv/4", 1))
	seen.next(t, find.Came, "kv/4")
}

func TestADirectoryThatDoesNotAnswerIsAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	at := silent.Addr().String()
	for _, user := range []string{"", "someone"} {
		config := Config{Endpoints: []string{at, vacant(t)}, Timeout: 300 * time.Millisecond, User: user, Password: user}
		_, err := Open(t.Context(), config)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer from the directory at "+at) ||
			!strings.Contains(err.Error(), "within 300ms") || strings.Contains(err.Error(), "desc =") {
			t.Errorf("user %q: %v, want the time that was waited, and no word about gRPC", user, err)
		}
		impatience := errors.New("nobody waits that long")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, impatience)
		config.Timeout = time.Hour
		_, err = Open(ctx, config)
		if !errors.Is(err, impatience) || !strings.Contains(err.Error(), "no answer from the directory at "+at) {
			t.Errorf("user %q, with a context that ends: %v", user, err)
		}
		cancel()
		ctx, end := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Millisecond, func() { end(impatience) })
		if _, err := Open(ctx, config); !errors.Is(err, impatience) || strings.Contains(err.Error(), "no answer") {
			t.Errorf("user %q, who gives up: %v", user, err)
		}
	}
}

// vacant is an address at which nobody listens.
func vacant(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	return l.Addr().String()
}

func TestADirectoryWhereNobodyListensIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, user := range []string{"", "someone"} {
		config := Config{Endpoints: []string{vacant(t), vacant(t)}, Timeout: time.Hour, User: user, Password: user}
		_, err := Open(ctx, config)
		if !errors.Is(err, errNobody) {
			t.Fatalf("user %q: %v", user, err)
		}
		for _, want := range []string{"no answer from the directory at " + config.Endpoints[0], "connection refused"} {
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "desc =") {
				t.Errorf("user %q: %v, want %q, and no word about gRPC", user, err, want)
			}
		}
	}
}

func TestCallsToASilentDirectoryEnd(t *testing.T) {
	t.Parallel()
	s := serve(t, embedded.Config{})
	d, err := Open(t.Context(), Config{Endpoints: []string{s.Endpoint()}, Timeout: 300 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	must(t, d, named("kv/3", 1))
	s.Close()
	_, claim := d.Claim(t.Context(), named("kv/4", 1))
	_, again := d.Claim(t.Context(), named("kv/3", 1))
	_, over := d.TakeOver(t.Context(), named("kv/4", 1))
	_, found := d.Find(t.Context(), wire.NameID("kv/3"))
	_, list := d.List(t.Context())
	for _, err := range []error{claim, again, over, found, list} {
		if err == nil || !strings.Contains(err.Error(), "no answer from the directory at "+s.Endpoint()) {
			t.Errorf("without a server: %v", err)
		}
	}
	// It may be back soon, so that what can be asked again is.
	if !errors.Is(found, context.DeadlineExceeded) || !errors.Is(list, context.DeadlineExceeded) {
		t.Errorf("while a server is restarted: %v, %v", found, list)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Find(ctx, wire.NameID("kv/3")); !errors.Is(err, context.Canceled) {
		t.Errorf("after the caller has given up: %v", err)
	}
}
