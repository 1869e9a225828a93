package keys

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

// meeting is how a handshake ended at both ends.
type meeting struct {
	server, client             tls.ConnectionState
	serverFailed, clientFailed error
}

// meet has two ends shake hands over loopback, and say a byte: only then does a client know that it is accepted.
func meet(t *testing.T, server, client *tls.Config) (m meeting) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialled, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.server, m.serverFailed = talk(tls.Server(accepted, server))
	}()
	m.client, m.clientFailed = talk(tls.Client(dialled, client))
	<-done
	return m
}

func talk(c *tls.Conn) (tls.ConnectionState, error) {
	defer c.Close()
	if err := c.Handshake(); err != nil {
		return tls.ConnectionState{}, err
	}
	_, err := c.Write([]byte{1})
	if err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	return c.ConnectionState(), err
}

func TestBothEndsKnowEachOther(t *testing.T) {
	a := newAuthority(t, "c")
	one, two := ring(t, issue(t, a, member("one"))), ring(t, issue(t, a, Request{Name: "two", Role: "client"}))
	m := meet(t, one.TLS(), two.TLS())
	if m.serverFailed != nil || m.clientFailed != nil {
		t.Fatal(m.serverFailed, m.clientFailed)
	}
	client, err := one.Peer(m.server)
	if err != nil || client.Name != "two" || client.Role != "client" || client.MayRegister("kv/1") {
		t.Errorf("%+v, %v", client, err)
	}
	server, err := two.Peer(m.client)
	if err != nil || server.String() != "one (member of cluster c)" || !server.MayRegister("kv/1") || server.MayRegister("log") {
		t.Errorf("%+v, %v", server, err)
	}
	if m.server.Version != tls.VersionTLS13 || m.server.DidResume {
		t.Errorf("version %x, resumed %v", m.server.Version, m.server.DidResume)
	}
}

// exactly shows a bundle, and what else there is of a chain, whatever it is and whoever asks; and believes everybody.
func exactly(b *Bundle, chain ...*Bundle) *tls.Config {
	mine := tls.Certificate{PrivateKey: b.Key}
	for _, link := range append([]*Bundle{b}, chain...) {
		mine.Certificate = append(mine.Certificate, link.Certificate.Raw)
	}
	return &tls.Config{Certificates: []tls.Certificate{mine}, ClientAuth: tls.RequireAnyClientCert, InsecureSkipVerify: true,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &mine, nil }}
}

// odd is a certificate that an authority would not issue.
func odd(t *testing.T, signer *Bundle, change func(*x509.Certificate)) *Bundle {
	t.Helper()
	plan := issue(t, newAuthority(t, "c"), member("stranger")).Certificate
	plan.PublicKey = nil // of a key that nobody has
	change(plan)
	b, err := sign(plan, signer)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Each of them is refused by an ordinary member, whichever of the two dials.
func TestStrangersAreRefused(t *testing.T) {
	a := newAuthority(t, "c")
	us := ring(t, issue(t, a, member("us")))
	as := func(cluster string, when time.Time) *Bundle {
		return issue(t, &Authority{cluster: cluster, own: a.own, now: at(when)}, member("stranger"))
	}
	for _, c := range []struct {
		stranger *Bundle
		says     string
		is       error
	}{
		{issue(t, newAuthority(t, "c"), member("stranger")), "unknown authority", ErrUntrusted},
		{odd(t, nil, func(*x509.Certificate) {}), "unknown authority", ErrUntrusted},
		{as("d", time.Now()), "stranger (member of cluster d) is not of cluster c", ErrUntrusted},
		{as("c", time.Now().Add(-DefaultValid-time.Minute)), "of stranger ended", ErrExpired},
		{as("c", time.Now().Add(2*skew)), "of stranger begins", ErrExpired},
		{odd(t, a.own, func(c *x509.Certificate) { c.URIs = c.URIs[:1] }), "there is no role", ErrNoIdentity},
		{odd(t, a.own, func(c *x509.Certificate) { c.URIs = nil }), "no URI that begins with weft://", ErrNoIdentity},
		{odd(t, a.own, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning} }), "usage", ErrUntrusted},
		{odd(t, issue(t, a, member("m")), func(*x509.Certificate) {}), "unknown authority", ErrUntrusted},
		{a.own, "certificate of an authority", ErrNoIdentity},
	} {
		m := meet(t, us.TLS(), exactly(c.stranger))
		mustContain(t, m.serverFailed, "the peer: ", c.says)
		if !errors.Is(m.serverFailed, c.is) || m.clientFailed == nil {
			t.Errorf("%s: the server says %v, the client %v", c.says, m.serverFailed, m.clientFailed)
		}
		m = meet(t, exactly(c.stranger), us.TLS())
		mustContain(t, m.clientFailed, "the peer: ", c.says)
		if !errors.Is(m.clientFailed, c.is) || m.serverFailed == nil {
			t.Errorf("%s: the client says %v, the server %v", c.says, m.clientFailed, m.serverFailed)
		}
	}
}

func TestPeersWithoutCertificateAndOldVersionsAreRefused(t *testing.T) {
	us := ring(t, issue(t, newAuthority(t, "c"), member("us")))
	m := meet(t, us.TLS(), &tls.Config{InsecureSkipVerify: true})
	mustContain(t, m.serverFailed, "didn't provide a certificate")
	old := us.TLS()
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	m = meet(t, us.TLS(), old)
	mustContain(t, m.serverFailed, "unsupported versions")
	if _, err := us.Peer(tls.ConnectionState{}); !errors.Is(err, ErrUntrusted) {
		t.Error(err)
	}
}

func TestAnEndThatHasExpiredSaysSo(t *testing.T) {
	a := newAuthority(t, "c")
	us, late := ring(t, issue(t, a, member("us"))), ring(t, issue(t, a, member("late")))
	late.now = at(time.Now().Add(DefaultValid + time.Hour))
	us.now = late.now
	var log bytes.Buffer
	late.config.Log = slog.New(slog.NewTextHandler(&log, nil))
	var m meeting
	for range 2 {
		m = meet(t, late.TLS(), us.TLS())
		mustContain(t, m.clientFailed, "the certificate of late ended", "weft keys renew")
		if !errors.Is(m.clientFailed, ErrExpired) || m.serverFailed == nil {
			t.Error(m.serverFailed, m.clientFailed)
		}
	}
	if said := strings.Count(log.String(), "the certificate of late ended"); said != 1 {
		t.Errorf("the server says %d times what is wrong: %s", said, log.String())
	}
	peer := issue(t, a, Request{Name: "peer", Role: "member", Valid: 2 * DefaultValid})
	m = meet(t, exactly(peer), late.TLS()) // with another, because late would find that us has ended, too
	mustContain(t, m.clientFailed, "the certificate of late ended")
}

func TestAnAuthorityThatHasEnded(t *testing.T) {
	a, err := NewAuthority("c", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	r := member("m")
	r.Valid = time.Hour - time.Minute
	k := ring(t, issue(t, a, r))
	longer := odd(t, a.own, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(3 * time.Hour) })
	_, err = k.current().judge(longer.Certificate, time.Now().Add(2*time.Hour))
	mustContain(t, err, "the authority of stranger", "weft keys init")
	if !errors.Is(err, ErrExpired) {
		t.Error(err)
	}
}

// What peers send beside their own certificate does not lead to an authority.
func TestChainsAreNotFollowed(t *testing.T) {
	a := newAuthority(t, "c")
	us := ring(t, issue(t, a, member("us")))
	between := odd(t, a.own, func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	})
	below := odd(t, between, func(*x509.Certificate) {})
	config := exactly(below, between)
	mustContain(t, meet(t, us.TLS(), config).serverFailed, "unknown authority")
	mustContain(t, meet(t, config, us.TLS()).clientFailed, "unknown authority")
}
