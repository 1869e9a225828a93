package way

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find/static"
	"github.com/weft-fabric/weft/verbs"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patient is for what ends by itself.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func newAuthority(t *testing.T, cluster string) *keys.Authority {
	t.Helper()
	a, err := keys.NewAuthority(cluster, 0)
	check(t, err)
	return a
}

// ring is the keys of a member with a role, who may have the services.
func ring(t *testing.T, a *keys.Authority, name, role string, services ...string) *keys.Keyring {
	t.Helper()
	b, err := a.Issue(keys.Request{Name: name, Role: role, Services: services})
	check(t, err)
	path := filepath.Join(t.TempDir(), name+".pem")
	check(t, b.Write(path))
	k, err := keys.Open(keys.Config{Files: []string{path}})
	check(t, err)
	return k
}

func open(t *testing.T, c Config) *Place {
	t.Helper()
	p, err := Open(c)
	check(t, err)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// newAgent is a place whose service answers with who has asked.
func newAgent(t *testing.T, k *keys.Keyring, name string) *Place {
	t.Helper()
	return serve(t, open(t, Config{Listen: "127.0.0.1:0", Keys: k}), name)
}

func serve(t *testing.T, p *Place, name string) *Place {
	t.Helper()
	s, err := p.Node().Register(patient(t), control.Service(name))
	check(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(context.Background(), 4, func(ctx context.Context, m *ripc.Message) error {
			who, known := m.Sender()
			if !known {
				return errors.New("nobody knows who calls")
			}
			return m.Answer(ctx, []byte(who.String()))
		})
	}()
	t.Cleanup(func() { s.Close(); <-done })
	return p
}

// newPusher is a place that was not told where to listen, and knows of agents only where they are.
func newPusher(t *testing.T, k *keys.Keyring, agents map[string]string) *Place {
	t.Helper()
	table := map[string][]string{}
	for name, address := range agents {
		table[control.Service(name)] = []string{address}
	}
	r, err := static.New(table)
	check(t, err)
	t.Cleanup(func() { r.Close() })
	return open(t, Config{Keys: k, Resolver: r})
}

func call(t *testing.T, p *Place, name string) (string, error) {
	t.Helper()
	m, err := p.Node().Call(patient(t), ripc.Name(control.Service(name)), []byte("who am I?"))
	if err != nil {
		return "", err
	}
	defer m.Release()
	return string(m.Bytes()), nil
}

func TestAnAgentIsCalledWhereItIs(t *testing.T) {
	a := newAuthority(t, "c")
	agent := newAgent(t, ring(t, a, "host1", control.RoleAgent, "agent/host1"), "host1")
	pusher := newPusher(t, ring(t, a, "me", control.RolePusher), map[string]string{"host1": agent.Address()})
	got, err := call(t, pusher, "host1")
	if check(t, err); got != "me (pusher of cluster c)" {
		t.Errorf("the agent takes its caller for %q", got)
	}
}

func TestBlocksTravelThroughThePort(t *testing.T) {
	a := newAuthority(t, "c")
	one := open(t, Config{Listen: "127.0.0.1:0", Keys: ring(t, a, "one", control.RoleAgent)})
	two := open(t, Config{Keys: ring(t, a, "two", control.RolePusher)})
	for name, how := range map[string]struct {
		way   string
		plain bool
		rate  uint64
	}{
		"tls":     {TCP, false, 0},
		"plain":   {TCP, true, 0},
		"shm":     {SHM, false, 0},
		"limited": {TCP, false, 100 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			id := manifest.ID{1, 2, 3}
			var ends [2]*connect.End
			for i, p := range []*Place{one, two} {
				d, err := p.Device(id, how.way, how.plain, how.rate)
				check(t, err)
				defer d.Close()
				ends[i], err = connect.OpenEnd(d, connect.EndConfig{Memory: 1 << 20})
				check(t, err)
				defer ends[i].Close()
				if at := string(ends[i].Pairs[0].Address()); !strings.HasSuffix(at, "+tcp="+p.Address()) {
					t.Errorf("its address is %s, and should lead to the port", at)
				}
			}
			transfer(t, ends)
		})
	}
}

// transfer connects two ends and sends a message from the one to the other.
func transfer(t *testing.T, ends [2]*connect.End) {
	t.Helper()
	failed := make(chan error, 2)
	addresses := [2]verbs.Address{ends[0].Pairs[0].Address(), ends[1].Pairs[0].Address()}
	for i, e := range ends {
		go func() { failed <- e.Verbs.Connect(patient(t), e.Pairs[0], addresses[1-i]) }()
	}
	for range ends {
		check(t, <-failed)
	}
	const size = 1 << 20
	from, into := ends[0].Memory, ends[1].Memory
	copy(from.Bytes(), bytes.Repeat([]byte("weft"), size/4))
	go func() {
		_, err := ends[1].Verbs.Receive(patient(t), ends[1].Pairs[0], into.Span(0, size))
		failed <- err
	}()
	check(t, ends[0].Verbs.Send(patient(t), ends[0].Pairs[0], from.Span(0, size)))
	check(t, <-failed)
	if !bytes.Equal(from.Bytes(), into.Bytes()) {
		t.Error("other bytes have arrived")
	}
}

func TestManyAgentsAtOnce(t *testing.T) {
	a := newAuthority(t, "c")
	addresses := map[string]string{}
	for i := range 24 {
		name := fmt.Sprintf("host%d", i)
		addresses[name] = newAgent(t, ring(t, a, name, control.RoleAgent, control.Service(name)), name).Address()
	}
	pusher := newPusher(t, ring(t, a, "me", control.RolePusher), addresses)
	var all sync.WaitGroup
	for name := range addresses {
		all.Go(func() {
			if _, err := call(t, pusher, name); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
