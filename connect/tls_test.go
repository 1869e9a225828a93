package connect

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"testing"
	"time"
)

// authority is a certificate authority for a test.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pool        *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t), pool: x509.NewCertPool()}
	plan := certificatePlan("authority")
	plan.IsCA, plan.BasicConstraintsValid, plan.KeyUsage = true, true, x509.KeyUsageCertSign
	a.certificate = a.sign(t, plan, plan, a.key)
	a.pool.AddCert(a.certificate)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func certificatePlan(name string) *x509.Certificate {
	return &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"weft.test"}}
}

func (a *authority) sign(t *testing.T, plan, parent *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, plan, parent, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// config is TLS with mutual authentication: a certificate of a's, for peers that trust wants.
func (a *authority) config(t *testing.T, name string, trust *authority) *tls.Config {
	t.Helper()
	key := newKey(t)
	certificate := a.sign(t, certificatePlan(name), a.certificate, key)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate.Raw}, PrivateKey: key}},
		RootCAs:      trust.pool, ClientCAs: trust.pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}
}

func TestTLS(t *testing.T) {
	ours := newAuthority(t)
	listener, dialler := Options{TLS: ours.config(t, "alice", ours)}, Options{TLS: ours.config(t, "bob", ours)}
	l := listenFor(t, "127.0.0.1:0", listener)
	for range 2 { // the second may resume
		a, b := meetAt(t, l, dialler)
		mustSwap(t, a, b, Card{Note: make([]byte, MaxNote)}, Card{Note: make([]byte, MaxNote)})
		state, ok := a.TLS()
		if !ok || len(state.PeerCertificates) == 0 || state.PeerCertificates[0].Subject.CommonName != "bob" {
			t.Errorf("the client's certificates are %v", state.PeerCertificates)
		}
		done := make(chan error, 1)
		go func() { done <- a.CloseWith(errPlanned) }()
		_, err := b.Swap(testContext(t), Card{})
		mustContain(t, err, errPlanned.Error())
		if err := <-done; err != nil {
			t.Error(err)
		}
		if _, err := a.Swap(testContext(t), Card{}); !errors.Is(err, ErrClosed) {
			t.Errorf("a closed session swaps: %v", err)
		}
	}
	if dialler.TLS.ServerName != "" {
		t.Error("Dial changed the program's configuration")
	}
}

func TestTLSOnAUnixSocket(t *testing.T) {
	ours := newAuthority(t)
	l := listenFor(t, "unix:"+socketPath(t), Options{TLS: ours.config(t, "alice", ours)})
	config := ours.config(t, "bob", ours)
	_, err := Dial(testContext(t), l.Address(), Options{TLS: config})
	mustContain(t, err, "ServerName")
	config.ServerName = "weft.test"
	a, b := meetAt(t, l, Options{TLS: config})
	mustSwap(t, a, b, Card{}, Card{})
	if _, ok := a.Credentials(); !ok {
		t.Error("no credentials on a Unix socket with TLS")
	}
}

func TestTLSRefuses(t *testing.T) {
	ours, others := newAuthority(t), newAuthority(t)
	bare := ours.config(t, "bob", ours)
	bare.Certificates = nil
	for name, c := range map[string]struct {
		listener, dialler     *tls.Config
		atListener, atDialler string
	}{
		"a client of another authority": {ours.config(t, "alice", ours), others.config(t, "bob", ours), "unknown authority", "tls"},
		"a server of another authority": {others.config(t, "alice", ours), ours.config(t, "bob", ours), "bad certificate", "unknown authority"},
		"a client without certificate":  {ours.config(t, "alice", ours), bare, "provide a certificate", "certificate required"},
		"a plain client":                {ours.config(t, "alice", ours), nil, "does the peer speak TLS", "does it want TLS"},
		"a plain server":                {nil, ours.config(t, "bob", ours), "that is TLS", "does the peer speak TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			seen := newRefusals()
			l := listenFor(t, "127.0.0.1:0", Options{TLS: c.listener, OnRefused: func(err error) { seen <- err }})
			_, err := Dial(testContext(t), l.Address(), Options{TLS: c.dialler})
			mustContain(t, err, c.atDialler)
			mustContain(t, seen.next(t), c.atListener)
		})
	}
}

func TestTLSWithoutCertificate(t *testing.T) {
	_, err := Listen(testContext(t), "127.0.0.1:0", Options{TLS: &tls.Config{}})
	mustContain(t, err, "no certificate")
}
