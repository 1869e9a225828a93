package keys_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
)

func newMember(t *testing.T, a *keys.Authority, name string) *keys.Keyring {
	t.Helper()
	b, err := a.Issue(keys.Request{Name: name, Role: "member", Services: []string{"kv/*"}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name+".pem")
	if err := b.Write(path); err != nil {
		t.Fatal(err)
	}
	ring, err := keys.Open(keys.Config{Files: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func newCluster(t *testing.T) *keys.Authority {
	t.Helper()
	a, err := keys.NewAuthority("test", 0)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// joined is one end of two that have met, with a queue pair over the TCP lane.
type joined struct {
	peer  keys.Identity
	value uint64 // that the other end has written
}

// join meets the peer with keys, writes a word into its memory, and tells who it is.
func join(ctx context.Context, session *connect.Session, ring *keys.Keyring, value uint64) (j joined, err error) {
	defer session.Close()
	state, _ := session.TLS()
	if j.peer, err = ring.Peer(state); err != nil {
		return j, err
	}
	nic, err := soft.New(soft.Config{Lanes: soft.TCP, TLS: ring.TLS()})
	if err != nil {
		return j, err
	}
	device, err := verbs.Open(nic)
	if err != nil {
		return j, err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	end, err := connect.OpenEnd(device, connect.EndConfig{Memory: 16, Access: verbs.RemoteWrite, Queue: verbs.QueueConfig{Access: verbs.RemoteWrite}})
	if err != nil {
		return j, err
	}
	defer func() { err = errors.Join(err, end.Close()) }()
	theirs, err := end.Join(ctx, session, connect.Card{Spans: []verbs.RemoteSpan{end.Memory.Remote(0, 8)}})
	if err != nil {
		return j, err
	}
	end.Memory.Store64(8, value)
	if err := end.Verbs.Write(ctx, end.Pairs[0], end.Memory.Span(8, 8), theirs.Spans[0]); err != nil {
		return j, err
	}
	_, err = session.Swap(ctx, connect.Card{Step: "written"})
	j.value = end.Memory.Load64(0)
	return j, err
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestSessionsAndQueuePairsOfOneCluster(t *testing.T) {
	a := newCluster(t)
	alice, bob := newMember(t, a, "alice"), newMember(t, a, "bob")
	offers := []connect.Offer{{Provider: "tcp"}}
	for _, address := range []string{"127.0.0.1:0", "unix:" + filepath.Join(t.TempDir(), "s")} {
		ctx := testContext(t)
		l, err := connect.Listen(ctx, address, connect.Options{TLS: alice.TLS(), Offers: offers})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			session, err := connect.Dial(ctx, l.Address(), connect.Options{TLS: bob.TLS(), Offers: offers})
			if err != nil {
				t.Error(err)
				return
			}
			if j, err := join(ctx, session, bob, 42); err != nil || j.peer.Name != "alice" || j.value != 7 {
				t.Errorf("bob has %+v, %v", j, err)
			}
		}()
		session, err := l.Accept(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if j, err := join(ctx, session, alice, 7); err != nil || j.peer.Name != "bob" || j.value != 42 || !j.peer.MayRegister("kv/1") {
			t.Errorf("alice has %+v, %v", j, err)
		}
		<-done
		l.Close()
	}
}

func TestASessionWithAnotherClusterSaysWhy(t *testing.T) {
	alice, mallory := newMember(t, newCluster(t), "alice"), newMember(t, newCluster(t), "mallory")
	ctx, refused := testContext(t), make(chan error, 1)
	l, err := connect.Listen(ctx, "127.0.0.1:0", connect.Options{TLS: alice.TLS(), OnRefused: func(err error) { refused <- err }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = connect.Dial(ctx, l.Address(), connect.Options{TLS: mallory.TLS()})
	if !errors.Is(err, keys.ErrUntrusted) || !strings.Contains(err.Error(), "alice (member of cluster test)") {
		t.Error("mallory hears", err)
	}
	if err := <-refused; err == nil {
		t.Error("alice accepts mallory")
	}
}
