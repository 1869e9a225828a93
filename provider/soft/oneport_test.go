package soft

import (
	"errors"
	"net"
	"testing"

	"github.com/weft-fabric/weft/internal/oneport"
	"github.com/weft-fabric/weft/verbs/driver"
)

// hostAt is a host whose device has a listener of its own at a port.
func hostAt(t *testing.T, port *oneport.Port, name string, config Config) *host {
	t.Helper()
	var err error
	config.Listener, err = port.Listener(name)
	ok(t, err)
	config.Name, config.Lanes, config.Preface = name, TCP, oneport.Preface(name)
	return newHostWith(t, config)
}

func newPort(t *testing.T) *oneport.Port {
	t.Helper()
	port, err := oneport.Listen("127.0.0.1:0")
	ok(t, err)
	t.Cleanup(func() { ok(t, port.Close()) })
	return port
}

// Two devices at each of two ports: each meets the one of its own name. Either end may be the one that dials.
func TestDevicesShareAPort(t *testing.T) {
	ports, a := [2]*oneport.Port{newPort(t), newPort(t)}, newAuthority(t)
	for name, config := range map[string]Config{"plain": {}, "tls": {TLS: a.config(t, a)}} {
		l := &link{a: hostAt(t, ports[0], name, config), b: hostAt(t, ports[1], name, config)}
		if got := l.b.device.dialled; got != ports[1].Addr().String() {
			t.Errorf("peers dial %s, and should dial the port", got)
		}
		l.mema, l.memb = l.a.memory(4<<20, driver.RemoteAll), l.b.memory(4<<20, driver.RemoteAll)
		l.qa, l.qb = l.a.pair(), l.b.pair()
		join(l.a, l.qa, l.b, l.qb)
		carryAll(t, l)
		qa, qb := l.a.pair(), l.b.pair()
		join(l.b, qb, l.a, qa)
	}
}

// A listener that was given is closed with the device, and if there is none.
func TestAListenerThatIsGivenIsClosed(t *testing.T) {
	port := newPort(t)
	for _, config := range []Config{{Lanes: TCP}, {Lanes: InProcess}, {Lanes: TCP, PeerTimeout: -1}} {
		l, err := port.Listener("data")
		ok(t, err)
		config.Listener = l
		if d, err := New(config); err == nil {
			ok(t, d.Close())
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%v: it is not closed: %v", config.Lanes, err)
		}
	}
}

func TestAListenerBeyondLoopbackNeedsTLS(t *testing.T) {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	ok(t, err)
	if _, err := New(Config{Lanes: TCP, Listener: l}); err == nil {
		t.Error("everybody may connect")
	}
	l, err = net.Listen("tcp", "0.0.0.0:0")
	ok(t, err)
	d, err := New(Config{Lanes: TCP, Listener: l, Plain: true})
	ok(t, err)
	if d.dialled == l.Addr().String() {
		t.Errorf("others would dial %s", d.dialled)
	}
	ok(t, d.Close())
}
