package etcd

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/find/etcd/embedded"
	"github.com/weft-fabric/weft/ripc/wire"
)

func TestMain(m *testing.M) {
	if endpoint := os.Getenv(holderVar); endpoint != "" {
		runHolder(endpoint)
		return
	}
	leaktest.Main(m)
}

// serve starts a server in a folder, and ends it with the test.
func serve(t *testing.T, config embedded.Config) *embedded.Server {
	t.Helper()
	if config.Folder == "" {
		config.Folder = t.TempDir()
	}
	config.Careless = true
	s, err := embedded.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// open opens the directory of one more process, whose lease does not run out before the test is done.
func open(t *testing.T, endpoint string) *Directory {
	t.Helper()
	return openFor(t, endpoint, 20*time.Second)
}

// openFor opens the directory of a process whose lease is as short as the test wants to wait.
func openFor(t *testing.T, endpoint string, ttl time.Duration) *Directory {
	t.Helper()
	config := Config{Endpoints: []string{endpoint}, TTL: ttl, Timeout: time.Minute, Logger: slog.New(slog.DiscardHandler)}
	d, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// client is a client of etcd's own, to look behind and to do harm.
func client(t *testing.T, endpoint string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// node is the ID of a process.
func node(n byte) wire.ID { return wire.RandomID([15]byte{n}) }

// named is a record of a service in process n.
func named(name string, n byte) find.Record {
	return find.Record{Service: wire.NameID(name), Name: name, Node: node(n), At: []string{"host:7471"}}
}

// member is a record of a member of a group in process n.
func member(name string, n byte) find.Record {
	return find.Record{Service: wire.GroupID(name), Name: name, Node: node(n), At: []string{"host:7471"}}
}

// must claims, and ends the test if that fails.
func must(t *testing.T, d *Directory, r find.Record) find.Claim {
	t.Helper()
	c, err := d.Claim(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// eventually waits for something. A test that waits in vain ends after a time that no machine needs.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 6000 {
		if is() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("waited in vain until %s", what)
}

// ended waits for the end of a claim, and checks why.
func ended(t *testing.T, c find.Claim, want error) {
	t.Helper()
	select {
	case <-c.Done():
	case <-time.After(30 * time.Second):
		t.Fatalf("the claim of %v goes on, want %v", c.Record().Name, want)
	}
	if !errors.Is(c.Err(), want) || c.ValidUntil() != 0 {
		t.Errorf("the claim ended with %v, valid until %v; want %v", c.Err(), c.ValidUntil(), want)
	}
}

// absent reports whether a directory has no record for an ID.
func absent(t *testing.T, d *Directory, id wire.ID) bool {
	t.Helper()
	_, err := d.Find(t.Context(), id)
	if err != nil && !errors.Is(err, find.ErrNotFound) {
		t.Fatal(err)
	}
	return err != nil
}

// cable is a connection to a server that can be cut.
type cable struct {
	listener net.Listener
	to       string
	runs     sync.WaitGroup

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

func newCable(t *testing.T, endpoint string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, to := split(endpoint)
	c := &cable{listener: l, to: to, conns: map[net.Conn]bool{}}
	c.runs.Go(c.runAccept)
	t.Cleanup(func() {
		l.Close()
		c.set(true)
		c.runs.Wait()
	})
	return c
}

func (c *cable) endpoint() string { return c.listener.Addr().String() }

// set cuts the cable, or mends it.
func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	for conn := range c.conns {
		if cut {
			conn.Close()
		}
	}
}

// plug notes a connection, unless the cable is cut.
func (c *cable) plug(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns[conn] = true
	if c.cut {
		conn.Close()
	}
	return !c.cut
}

// runAccept ends with the listener.
func (c *cable) runAccept() {
	for {
		in, err := c.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", c.to)
		if err != nil {
			in.Close()
			continue
		}
		if c.plug(in) && c.plug(out) {
			c.runs.Go(func() { carry(in, out) })
			c.runs.Go(func() { carry(out, in) })
		} else {
			in.Close()
			out.Close()
		}
	}
}

// carry ends when one of both ends is closed.
func carry(from, to net.Conn) {
	io.Copy(to, from)
	from.Close()
	to.Close()
}

// watched are the changes that a directory has told.
type watched struct {
	mu      sync.Mutex
	changes []find.Change
}

func watch(d *Directory) *watched {
	w := &watched{}
	d.Watch(func(c find.Change) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changes = append(w.changes, c)
	})
	return w
}

// next waits for the next change, which must be of a service, and returns it.
func (w *watched) next(t *testing.T, what find.What, name string) find.Record {
	t.Helper()
	var c find.Change
	eventually(t, what.String()+" "+name, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.changes) == 0 {
			return false
		}
		c, w.changes = w.changes[0], w.changes[1:]
		return true
	})
	if c.What != what || c.Record.Name != name {
		t.Fatalf("%v %v, want %v %q", c.What, &c.Record, what, name)
	}
	return c.Record
}

// have waits until a directory has seen everything that is in etcd now.
func have(t *testing.T, d *Directory) {
	t.Helper()
	now, err := d.read(context.Background(), d.keys.services)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the watch has caught up", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		for key, e := range now.entries {
			if d.view.entries[key].revision < e.revision {
				return false
			}
		}
		return true
	})
}
