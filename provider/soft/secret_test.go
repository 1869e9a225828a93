package soft

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/verbs/driver"
)

// middle stands between two devices, as somebody does who has got hold of the way between them.
type middle struct {
	net.Listener
	leadsTo string
	config  *tls.Config // to be the other end of TLS, for both; nil: bytes pass as they are
	ended   sync.WaitGroup
}

func newMiddle(t *testing.T, config *tls.Config) *middle {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	m := &middle{Listener: l, config: config}
	t.Cleanup(func() { l.Close(); m.ended.Wait() })
	return m
}

// runAccept ends when the listener is closed; the test's cleanup waits.
func (m *middle) runAccept() {
	for {
		c, err := m.Accept()
		if err != nil {
			return
		}
		m.ended.Go(func() { m.stand(c) })
	}
}

func (m *middle) stand(from net.Conn) {
	defer from.Close()
	to, err := net.DialTimeout("tcp", m.leadsTo, tolerance)
	if err != nil {
		return
	}
	defer to.Close()
	_ = from.SetDeadline(time.Now().Add(tolerance))
	_ = to.SetDeadline(time.Now().Add(tolerance))
	if m.config != nil {
		dialling := m.config.Clone()
		dialling.ServerName = "127.0.0.1"
		from, to = tls.Server(from, m.config), tls.Client(to, dialling)
	}
	m.ended.Go(func() { _, _ = io.Copy(from, to); from.Close() })
	_, _ = io.Copy(to, from)
}

// between has two devices of one trust connect, of which each can be reached through somebody in the middle only.
func between(t *testing.T, config *tls.Config, want driver.Status) {
	t.Helper()
	trust := newAuthority(t)
	if config != nil {
		*config = *mutualTLS(trust.config(t, trust))
	}
	var hosts [2]*host
	for i := range hosts {
		m := newMiddle(t, config)
		c := Config{Lanes: TCP, TLS: trust.config(t, trust), PeerTimeout: tolerance / 20, Advertise: m.Addr().String()}
		hosts[i] = newHostWith(t, c)
		m.leadsTo = hosts[i].device.network.listener.Addr().String()
		m.ended.Go(m.runAccept)
	}
	a, b := hosts[0], hosts[1]
	qa, qb := a.pair(), b.pair()
	ok(t, qa.Connect(1, qb.Address()))
	ok(t, qb.Connect(2, qa.Address()))
	a.expect(1, driver.OpConnect, want, b)
	b.expect(2, driver.OpConnect, want, a)
}

// TestNobodyStandsBetween: who has a certificate that both ends trust, and the way between them, does not become the peer of either.
func TestNobodyStandsBetween(t *testing.T) {
	t.Run("bytes pass as they are", func(t *testing.T) { between(t, nil, driver.OK) })
	t.Run("as the other end of TLS", func(t *testing.T) { between(t, new(tls.Config), driver.RetryExceeded) })
}

// TestNamesAreNoSecret: who knows the names of two queue pairs, and calls first, keeps neither from its peer.
func TestNamesAreNoSecret(t *testing.T) {
	for _, expected := range []bool{false, true} {
		a, b := newHostWith(t, Config{Lanes: TCP, PeerTimeout: tolerance}), newHostWith(t, Config{Lanes: TCP, PeerTimeout: tolerance})
		qa, qb := a.pair(), b.pair()
		own, there := a.device.address(qa.life.Load()), b.device.address(qb.life.Load())
		if !own.calls(there) {
			a, b, qa, qb, own, there = b, a, qb, qa, there, own
		}
		if expected {
			ok(t, qb.Connect(connectTag, qa.Address()))
		}
		i := &intruder{t: t, h: b}
		c := i.dial(hello{depth: 4, to: there.lifeName, from: address{host: own.host, process: own.process, lifeName: own.lifeName, tcp: own.tcp}})
		if _, _, err := readAnswer(c); err == nil || !strings.Contains(err.Error(), "does not know the secret") {
			t.Errorf("who does not know the secret hears %v", err)
		}
		if !expected {
			ok(t, qb.Connect(connectTag, qa.Address()))
		}
		ok(t, qa.Connect(connectTag, qb.Address()))
		a.expect(connectTag, driver.OpConnect, driver.OK, b)
		b.expect(connectTag, driver.OpConnect, driver.OK, a)
	}
}

// TestWhoAnswersIsAsked: who is called, and does not know the secret of who calls, is not its peer.
func TestWhoAnswersIsAsked(t *testing.T) {
	h := newHostWith(t, Config{Lanes: TCP, PeerTimeout: tolerance})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	defer listener.Close()
	q := h.pair()
	peer := address{host: process.host, process: 1, lifeName: lifeName{^identity(0), 1, 1}, secret: newSecret(), tcp: listener.Addr().String()}
	ok(t, q.Connect(connectTag, driver.Address(peer.text())))
	c, err := listener.Accept()
	ok(t, err)
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(tolerance))
	said, err := readHello(c)
	ok(t, err)
	if !peer.secret.isProven(said.proof, provesCaller, nil) {
		t.Error("who calls proves nothing")
	}
	_, err = c.Write(answerText(4, said.proof, nil)) // all that was heard
	ok(t, err)
	h.expect(connectTag, driver.OpConnect, driver.RetryExceeded)
}
