package soft

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/verbs/driver"
)

// authority signs certificates for tests.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pool *x509.CertPool
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{pool: x509.NewCertPool()}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	var err error
	a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ok(t, err)
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	ok(t, err)
	a.cert, err = x509.ParseCertificate(der)
	ok(t, err)
	a.pool.AddCert(a.cert)
	return a
}

// config is that of a device which shows a certificate of a, and trusts whom trusted signs.
func (a *authority) config(t testing.TB, trusted *authority) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ok(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	ok(t, err)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, RootCAs: trusted.pool}
}

func TestTLSCarries(t *testing.T) {
	a := newAuthority(t)
	l := newLinkOn(t, Config{Name: t.Name(), Lanes: TCP, TLS: a.config(t, a)})
	carryAll(t, l)
}

// TestTLSRefusesStrangers: neither end talks to one whose certificate it does not trust, whichever of them calls.
func TestTLSRefusesStrangers(t *testing.T) {
	friends, strangers := newAuthority(t), newAuthority(t)
	good := Config{Lanes: TCP, TLS: friends.config(t, friends), PeerTimeout: tolerance / 10}
	for name, other := range map[string]Config{
		"other certificate": {Lanes: TCP, TLS: strangers.config(t, friends), PeerTimeout: tolerance / 10},
		"other trust":       {Lanes: TCP, TLS: friends.config(t, strangers), PeerTimeout: tolerance / 10},
		"no TLS":            {Lanes: TCP, PeerTimeout: tolerance / 10},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newHostWith(t, good), newHostWith(t, other)
			qa, qb := a.pair(), b.pair()
			ok(t, qa.Connect(1, qb.Address()))
			ok(t, qb.Connect(2, qa.Address()))
			a.expect(1, driver.OpConnect, driver.RetryExceeded, b)
			b.expect(2, driver.OpConnect, driver.RetryExceeded, a)
		})
	}
}

func TestTLSConfigIsChecked(t *testing.T) {
	a := newAuthority(t)
	naked := a.config(t, a)
	naked.Certificates = nil
	trusting := a.config(t, a)
	trusting.RootCAs = nil
	careless := a.config(t, a)
	careless.InsecureSkipVerify = true
	for want, config := range map[string]*tls.Config{"set Certificates": naked, "set RootCAs": trusting, "InsecureSkipVerify": careless} {
		if _, err := New(Config{Lanes: TCP, TLS: config}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error about %s, got %v", want, err)
		}
	}
}

// OwnTLS is a configuration for tests outside the package.
func OwnTLS(t *testing.T) *tls.Config {
	a := newAuthority(t)
	return a.config(t, a)
}
