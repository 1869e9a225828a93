package ripc

import (
	"errors"
	"net"
	"testing"

	"github.com/weft-fabric/weft/internal/oneport"
)

// receiveOne sends a message, and returns it as it came.
func receiveOne(t *testing.T, from *Node, s *Service) *Message {
	t.Helper()
	check(t, from.Send(patient(t), s.ID(), []byte("hello")))
	m, err := s.Receive(patient(t))
	check(t, err)
	t.Cleanup(m.Release)
	return m
}

func TestASenderIsKnownByItsCertificate(t *testing.T) {
	d, ring := newDirectory(), cluster(t)
	one, two := newNode(t, d, Config{Keys: ring("one", "x")}), newNode(t, d, Config{Keys: ring("two", "y/*")})
	s, err := one.Register(patient(t), "x")
	check(t, err)
	defer s.Close()
	for from, name := range map[*Node]string{one: "one", two: "two"} {
		who, known := receiveOne(t, from, s).Sender()
		if !known || who.Name != name || who.Role != "member" || who.Cluster != "lab" || len(who.Services) != 1 {
			t.Errorf("a message of %s comes from %v, %v", name, who, known)
		}
	}
	echo(t, two, "y/1")
	m, err := one.Call(patient(t), Name("y/1"), []byte("?"))
	check(t, err)
	defer m.Release()
	if who, known := m.Sender(); !known || who.Name != "two" {
		t.Errorf("the answer comes from %v", who)
	}
}

func TestWithoutKeysNobodyKnowsTheSender(t *testing.T) {
	d := newDirectory()
	one, two := newNode(t, d, Config{}), newNode(t, d, Config{})
	s, err := one.Register(patient(t), "x")
	check(t, err)
	defer s.Close()
	for _, from := range []*Node{one, two} {
		if who, known := receiveOne(t, from, s).Sender(); known {
			t.Error(who)
		}
	}
}

// A message is its sender's, whoever comes to be linked in its place: a process that is linked anew may show another certificate.
func TestASenderStaysWhoItWas(t *testing.T) {
	d, ring := newDirectory(), cluster(t)
	one, two := newNode(t, d, Config{Keys: ring("one", "x")}), newNode(t, d, Config{Keys: ring("two")})
	s, err := one.Register(patient(t), "x")
	check(t, err)
	defer s.Close()
	m := receiveOne(t, two, s)
	check(t, one.on(func() {
		p := one.office.peers[two.id]
		p.rights.identity.Role = "another"
	}))
	if who, _ := m.Sender(); who.Role != "member" {
		t.Errorf("it is of %v now", who)
	}
}

func TestANodeAtAListenerThatIsGiven(t *testing.T) {
	port, err := oneport.Listen("127.0.0.1:0")
	check(t, err)
	defer port.Close()
	l, err := port.Listener("control")
	check(t, err)
	d, ring := newDirectory(), cluster(t)
	n := newNode(t, d, Config{Keys: ring("one", "x"), Listener: l})
	if at := n.Addresses(); len(at) != 1 || at[0] != port.Addr().String() {
		t.Errorf("it listens at %v", at)
	}
	echo(t, n, "x")
	m, err := newNode(t, d, Config{Keys: ring("two"), Preface: oneport.Preface("control")}).Call(patient(t), Name("x"), []byte("?"))
	check(t, err)
	m.Release()
	check(t, n.Close())
	for _, config := range []Config{{}, {Device: n.config.Device}} {
		config.Listener, err = port.Listener("control")
		check(t, err)
		if _, err := Open(config); !errors.Is(err, ErrArgument) {
			t.Error(err)
		}
		if _, err := config.Listener.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("it is not closed: %v", err)
		}
	}
}
