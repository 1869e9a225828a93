package push_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/agent"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/hosts"
	"github.com/weft-fabric/weft/push/member"
	"github.com/weft-fabric/weft/push/way"
	"github.com/weft-fabric/weft/ripc/find"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// cluster is some agents in this process, each with a place, a root and a certificate of its own, and a pusher.
type cluster struct {
	t         *testing.T
	authority *keys.Authority
	pusher    *keys.Keyring
	agents    []*node
	log       *slog.Logger
}

// node is one agent.
type node struct {
	name, root string
	ring       *keys.Keyring
	place      *way.Place
	stop       context.CancelFunc
	ended      chan error
	once       sync.Once
	blocks     func(member.Blocks) member.Blocks // of an agent that does not do as it should; may be nil
}

func newCluster(t *testing.T, n int) *cluster {
	t.Helper()
	authority, err := keys.NewAuthority("test", 0)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, authority: authority, log: slog.New(slog.DiscardHandler)}
	if testing.Verbose() {
		c.log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	c.pusher = c.issue("pusher", control.RolePusher)
	t.Cleanup(c.end)
	for i := range n {
		name := fmt.Sprint("n", i+1)
		c.agents = append(c.agents, c.start(&node{name: name, root: t.TempDir(), ring: c.issue(name, control.RoleAgent, control.Service(name))}))
	}
	return c
}

func (c *cluster) issue(name, role string, services ...string) *keys.Keyring {
	c.t.Helper()
	bundle, err := c.authority.Issue(keys.Request{Name: name, Role: role, Services: services})
	if err != nil {
		c.t.Fatal(err)
	}
	file := filepath.Join(c.t.TempDir(), name+".pem")
	if err := bundle.Write(file); err != nil {
		c.t.Fatal(err)
	}
	ring, err := keys.Open(keys.Config{Files: []string{file}})
	if err != nil {
		c.t.Fatal(err)
	}
	return ring
}

// start starts an agent, which ends with the test at the latest.
func (c *cluster) start(n *node) *node {
	c.t.Helper()
	var err error
	if n.place, err = way.Open(way.Config{Listen: "127.0.0.1:0", Keys: n.ring, Log: c.log.With("at", n.name)}); err != nil {
		c.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	n.stop, n.ended = stop, make(chan error, 1)
	ready := make(chan struct{})
	go func() {
		n.ended <- agent.Run(ctx, agent.Config{Place: n.place, Keys: n.ring, Root: n.root, Name: n.name, PlainAllowed: true, Ready: func() { close(ready) }, Log: c.log.With("agent", n.name), Blocks: n.blocks})
	}()
	select {
	case <-ready:
	case err := <-n.ended:
		c.t.Fatal(n.name, err)
	}
	return n
}

// end stops all agents.
func (c *cluster) end() {
	var stopping sync.WaitGroup
	for _, n := range c.agents {
		stopping.Go(func() { n.end(c.t) })
	}
	stopping.Wait()
}

// end stops an agent well.
func (n *node) end(t *testing.T) {
	n.once.Do(func() {
		n.stop()
		if err := <-n.ended; err != nil {
			t.Log(n.name, err)
		}
		if err := n.place.Close(); err != nil {
			t.Error(n.name, err)
		}
	})
}

// kill takes an agent's place away, as if its process were gone.
func (n *node) kill(t *testing.T) {
	n.once.Do(func() {
		if err := n.place.Close(); err != nil {
			t.Error(n.name, err)
		}
		n.stop()
		<-n.ended
	})
}

// Reach finds the agents of the cluster.
func (c *cluster) Reach(_ context.Context, h hosts.Host) (address, service string, err error) {
	for _, n := range c.agents {
		if n.name == h.Name {
			return n.place.Address(), control.Service(n.name), nil
		}
	}
	return "127.0.0.1:1", control.Service(h.Name), nil
}

// config is a push from a source to all agents.
func (c *cluster) config(dest string, sources ...string) push.Config {
	all := make([]hosts.Host, 0, len(c.agents))
	for _, n := range c.agents {
		all = append(all, hosts.Host{Name: n.name})
	}
	return push.Config{
		Sources: sources, Dest: dest, Hosts: all, Keys: c.pusher, Reach: c, Way: "tcp", SpoolDir: c.t.TempDir(), Log: c.log, ConnectTimeout: 20 * time.Second,
		OpenPlace: func(agents find.Resolver) (*way.Place, error) {
			return way.Open(way.Config{Keys: c.pusher, Resolver: agents, Log: c.log.With("at", "pusher")})
		},
		Events: func(e push.Event) {
			if e.Kind == push.EventProgress {
				c.log.Debug("event", "kind", e.Kind, "progress", e.Progress)
				return
			}
			c.log.Info("event", "kind", e.Kind, "host", e.Host, "phase", e.Phase, "text", e.Text)
		},
	}
}

// run pushes, and expects an exit code.
func (c *cluster) run(config push.Config, exit int) *push.Report {
	c.t.Helper()
	return c.runIn(context.Background(), config, exit)
}

func (c *cluster) runIn(ctx context.Context, config push.Config, exit int) *push.Report {
	c.t.Helper()
	report, err := push.Run(ctx, config)
	if report == nil {
		c.t.Fatal(err)
	}
	if report.Exit != exit {
		c.t.Fatalf("exit code %d, want %d: %v; %+v", report.Exit, exit, err, report.Hosts)
	}
	return report
}

// check compares a file at agents with what it should be.
func (c *cluster) check(name string, want []byte, at ...*node) {
	c.t.Helper()
	for _, n := range at {
		got, err := os.ReadFile(filepath.Join(n.root, name))
		if err != nil || !bytes.Equal(got, want) {
			c.t.Errorf("%s has %d bytes in %s, want %d: %v", n.name, len(got), name, len(want), err)
		}
	}
}

// content is some bytes that are the same every time.
func content(size int) []byte {
	b := make([]byte, size)
	chacha := rand.NewChaCha8([32]byte{byte(size)})
	_, _ = chacha.Read(b)
	return b
}

// write makes a file.
func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// failures are the hosts that failed, with their classes.
func failures(r *push.Report) string {
	var list []string
	for _, h := range r.Hosts {
		if h.Outcome != push.OutcomeVerified {
			list = append(list, h.Host+" "+string(h.Class))
		}
	}
	return strings.Join(list, ", ")
}
