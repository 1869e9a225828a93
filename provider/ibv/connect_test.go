package ibv_test

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/provider/ibv"
	"github.com/weft-fabric/weft/provider/ibv/devices"
	"github.com/weft-fabric/weft/verbs/driver"
)

// like returns the address of a queue pair, changed.
func (s *stage) like(q driver.QueuePair, change func(*ibv.Endpoint)) driver.Address {
	s.t.Helper()
	e, err := ibv.ParseAddress(q.Address())
	s.must(err)
	change(&e)
	return e.Address()
}

// connect returns how connecting a new queue pair ended.
func (s *stage) connect(peer driver.Address) (driver.QueuePair, driver.Status) {
	s.t.Helper()
	q := s.pair()
	s.must(q.Connect(1, peer))
	c := s.take(1)[0]
	if c.Op != driver.OpConnect || c.Queue != q.Number() {
		s.t.Fatalf("%+v", c)
	}
	return q, c.Status
}

// A device knows by which GIDs its last connection goes. On a device that is connected with itself they are the same.
func TestLastPath(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	if p := s.device.LastPath(); p != (ibv.Path{}) {
		t.Errorf("before the first connection: %v", p)
	}
	s.wire()
	if p := s.device.LastPath(); !p.Local.IsValid() || p.Local != p.Remote {
		t.Errorf("connected by %v", p)
	}
}

// Where nobody can say whether the peer is there, connecting succeeds: at an office that answers nobody, as that of a stopped process, and at
// none. Where nobody listens, the peer is dead.
func TestConnectWithoutWord(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	silent, err := net.Listen("tcp", ":0")
	s.must(err)
	defer silent.Close()
	closed, err := net.Listen("tcp", ":0")
	s.must(err)
	closed.Close()
	for _, c := range []struct {
		name, watch uint16
		want        driver.Status
		says        string
	}{
		{1, port(silent), driver.OK, "does not answer: it is taken for alive"},
		{1, port(closed), driver.RetryExceeded, ""},
		{1, 0, driver.OK, ""},
		{0, port(closed), driver.OK, ""},
	} {
		_, status := s.connect(s.like(s.pair(), func(e *ibv.Endpoint) { e.Name, e.Watch = uint64(c.name), c.watch }))
		if status != c.want || !strings.Contains(s.log.String(), c.says) {
			t.Errorf("%+v: ended with %v, the log says:\n%s", c, status, s.log)
		}
	}
}

func port(l net.Listener) uint16 { return uint16(l.Addr().(*net.TCPAddr).Port) }

// A host of the subnet that is not there is found when it is used, if not before.
func TestConnectToNoHost(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	q, status := s.connect(s.like(s.pair(), func(e *ibv.Endpoint) {
		e.GIDs = []ibv.GID{{Address: e.GIDs[0].Address.Next().Next(), Bits: e.GIDs[0].Bits}}
	}))
	if status == driver.RetryExceeded {
		return
	}
	s.write(q, 1, 2)
	cutOff(t, s.take(2))
	if s.log.count("cannot watch over peers at") != 1 {
		t.Errorf("the log says:\n%s", s.log)
	}
}

// A peer on another subnet is refused at once, with what to do.
func TestConnectToAnotherSubnet(t *testing.T) {
	makeSpare(t) // only in a machine without a route to the rest of the world
	s := openStageOn(t, spareDevice)
	defer s.close()
	err := s.pair().Connect(1, s.like(s.pair(), func(e *ibv.Endpoint) {
		e.GIDs = []ibv.GID{{Address: netip.MustParseAddr("203.0.113.7"), Bits: 24}}
	}))
	if !errors.Is(err, devices.ErrSubnet) || !errors.Is(err, driver.ErrArgument) || !strings.Contains(err.Error(), "ip route add 203.0.113.0/24") {
		t.Errorf("a peer on another subnet: %v", err)
	}
}

// Connect, Reset and Close meet in every order, with peers that are there and that are not.
func TestConnectRaces(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	for i := range 60 {
		peer, q := s.pair(), s.pair()
		s.must(q.Connect(1, peer.Address()))
		s.must(q.SetAccess(2, driver.RemoteRead))
		if i%2 == 0 {
			s.must(peer.Close())
		} else {
			s.must(peer.Reset(3))
		}
		if i%3 == 0 {
			s.must(q.Reset(4))
			s.waitFor(4)
			if q.State() != driver.New {
				t.Fatalf("after Reset it is %v", q.State())
			}
		}
		s.must(q.Close())
		if i%2 == 1 {
			s.must(peer.Close())
		}
		s.pairs = nil
	}
	a, b := s.pair(), s.pair()
	s.must(a.Connect(10, b.Address()))
	s.waitFor(10)
	if b.State() != driver.New || a.State() != driver.Ready {
		t.Errorf("after all that, the ends are %v and %v", a.State(), b.State())
	}
}

// A peer that exists and never connects is reported when it is used.
func TestPeerNeverConnects(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	q, status := s.connect(s.pair().Address())
	if status != driver.OK {
		t.Fatal(status)
	}
	s.write(q, 1, 2)
	cutOff(t, s.take(2))
}

// waitFor takes completions until one has the tag.
func (s *stage) waitFor(tag driver.Tag) {
	s.t.Helper()
	for s.take(1)[0].Tag != tag {
	}
}
