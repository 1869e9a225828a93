package stream

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/ripc"
	"github.com/weft-fabric/weft/ripc/find/host"
	"github.com/weft-fabric/weft/verbs"
)

// TestMain is also a process that tests start, to be killed.
func TestMain(m *testing.M) {
	if os.Getenv(childDir) != "" {
		panic(runChild())
	}
	leaktest.Main(m)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patient is a context for what should not take long.
func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// newNode opens a node on a software NIC of its own. Those of a directory find each other.
func newNode(t testing.TB, dir string) *ripc.Node { return newNodeOn(t, dir, soft.InProcess) }

// newNodeOn opens a node whose messages take a lane: also those that lead to other processes, or other hosts.
func newNodeOn(t testing.TB, dir string, lane soft.Lanes) *ripc.Node {
	t.Helper()
	n, closeAll, err := openNode(dir, lane)
	check(t, err)
	t.Cleanup(func() { check(t, closeAll()) })
	return n
}

func openNode(dir string, lane soft.Lanes) (*ripc.Node, func() error, error) {
	resolver, err := host.Open(host.Config{Dir: dir})
	if err != nil {
		return nil, nil, err
	}
	return openNodeWith(ripc.Config{Resolver: resolver}, lane)
}

// openNodeWith opens a node with a resolver of its own, and what else it is to have.
func openNodeWith(config ripc.Config, lane soft.Lanes) (*ripc.Node, func() error, error) {
	inner, err := soft.New(soft.Config{Lanes: lane})
	if err != nil {
		return nil, nil, err
	}
	device, err := verbs.Open(inner)
	if err != nil {
		return nil, nil, err
	}
	config.Device = device
	n, err := ripc.Open(config)
	return n, func() error { return errors.Join(n.Close(), config.Resolver.Close(), device.Close()) }, err
}

// listen accepts connections to a service called "there".
func listen(t testing.TB, n *ripc.Node) *Listener {
	t.Helper()
	l, err := Listen(patient(t), n, "there")
	check(t, err)
	t.Cleanup(func() { check(t, l.Close()) })
	return l
}

// connect makes one more connection: the ends of who has dialled, and of who has accepted.
func connect(t testing.TB, l *Listener, n *ripc.Node) (there, here *Conn) {
	t.Helper()
	there, err := Dial(patient(t), n, "there")
	check(t, err)
	accepted, err := l.Accept()
	check(t, err)
	here = accepted.(*Conn)
	t.Cleanup(func() { closeBoth(t, there, here) })
	return there, here
}

func closeBoth(t testing.TB, a, b net.Conn) {
	check(t, a.Close())
	check(t, b.Close())
}

// pair makes a connection between two nodes.
func pair(t testing.TB) (there, here *Conn) {
	dir := t.TempDir()
	l := listen(t, newNode(t, dir))
	return connect(t, l, newNode(t, dir))
}
