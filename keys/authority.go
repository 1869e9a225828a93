package keys

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/weft-fabric/weft/internal/printable"
)

// How long certificates last.
const (
	DefaultValid          = 365 * 24 * time.Hour   // of a member's certificate
	DefaultAuthorityValid = 3650 * 24 * time.Hour  // of an authority's
	MaxValid              = 36500 * 24 * time.Hour // of any
)

// skew is how far the clocks of two hosts may differ: a new certificate is valid since then.
const skew = time.Hour

// maxCommonName is what X.520 allows.
const maxCommonName = 64

// Authority signs the certificates of a cluster's members. Who has its key can be anybody in the cluster: it stays where
// certificates are made, and members do not need it.
type Authority struct {
	cluster string
	own     *Bundle
	now     func() time.Time
}

// NewAuthority makes the authority of a cluster. A zero duration is DefaultAuthorityValid.
//
// Its keys, and those that it issues, are on the curve P-256: every TLS library, browser, security module and other
// authority can use those, which is not so with Ed25519.
func NewAuthority(cluster string, valid time.Duration) (*Authority, error) {
	valid = cmp.Or(valid, DefaultAuthorityValid)
	if err := cmp.Or(checkWord("cluster", cluster, MaxWord), checkValid(valid)); err != nil {
		return nil, fmt.Errorf("new authority: %w: %w", err, ErrArgument)
	}
	a := &Authority{cluster: cluster, now: time.Now}
	plan := a.plan(cluster+" authority", valid)
	plan.IsCA, plan.BasicConstraintsValid, plan.MaxPathLenZero = true, true, true
	plan.KeyUsage = x509.KeyUsageCertSign
	plan.URIs = []*url.URL{{Scheme: scheme, Host: cluster, Path: "/authority"}}
	var err error
	if a.own, err = sign(plan, nil); err != nil {
		return nil, fmt.Errorf("new authority: %w", err)
	}
	return a, nil
}

// ReadAuthority reads what Write has written.
func ReadAuthority(path string) (*Authority, error) {
	b, err := Read(path)
	if err != nil {
		return nil, err
	}
	cluster, err := ClusterOf(b.Certificate)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w: %w", path, err, ErrNotKeys)
	case b.Key == nil:
		return nil, fmt.Errorf("%s: the key of the authority is not there: %w", path, ErrNotKeys)
	}
	return &Authority{cluster: cluster, own: b, now: time.Now}, nil
}

// ClusterOf is the cluster whose authority has this certificate.
func ClusterOf(c *x509.Certificate) (string, error) {
	if !c.IsCA {
		return "", fmt.Errorf("it is the certificate of a member, not of an authority")
	}
	for _, u := range c.URIs {
		if u.Scheme == scheme && u.Path == "/authority" {
			return u.Host, checkWord("cluster", u.Host, MaxWord)
		}
	}
	return "", fmt.Errorf("the certificate does not say whose authority it is: it has no URI %s://CLUSTER/authority", scheme)
}

// Cluster is the name of the authority's cluster.
func (a *Authority) Cluster() string { return a.cluster }

// Bundle is the authority's certificate and key.
func (a *Authority) Bundle() *Bundle { return a.own }

// Request says what a certificate shall carry.
type Request struct {
	Name     string        // of the host or the program
	Role     string        // a word; programs give it a meaning
	Services []string      // patterns of what it may register; none: it may only call
	Valid    time.Duration // from now on; zero: DefaultValid

	// Addresses are host names and IP addresses, for clients that are not of Weft and ask for them, such as browsers.
	Addresses []string
}

// Issue makes a key and signs a certificate for it.
func (a *Authority) Issue(r Request) (*Bundle, error) {
	r.Valid = cmp.Or(r.Valid, DefaultValid)
	id := Identity{Cluster: a.cluster, Name: r.Name, Role: r.Role, Services: r.Services}
	if err := cmp.Or(id.check(), checkValid(r.Valid), a.checkEnd(r.Valid)); err != nil {
		return nil, fmt.Errorf("certificate for %q: %w: %w", r.Name, err, ErrArgument)
	}
	plan := a.plan(r.Name, r.Valid)
	plan.URIs = id.uris()
	plan.KeyUsage = x509.KeyUsageDigitalSignature
	plan.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} // either end may dial
	if err := addAddresses(plan, r.Addresses); err != nil {
		return nil, fmt.Errorf("certificate for %q: %w: %w", r.Name, err, ErrArgument)
	}
	b, err := sign(plan, a.own)
	if err != nil {
		return nil, fmt.Errorf("certificate for %q: %w", r.Name, err)
	}
	b.Authorities = []*x509.Certificate{a.own.Certificate}
	return b, nil
}

func checkValid(valid time.Duration) error {
	if valid < time.Minute || valid > MaxValid {
		return fmt.Errorf("valid for %v: a certificate lasts from a minute to %d days", valid, MaxValid/(24*time.Hour))
	}
	return nil
}

// checkEnd has no certificate outlive its authority: it would be worth nothing from then on, and nobody would know why.
func (a *Authority) checkEnd(valid time.Duration) error {
	if end := a.own.Certificate.NotAfter; a.now().Add(valid).After(end) {
		return fmt.Errorf("valid for %v: the authority itself ends %s; take a shorter time, or make a new authority", valid, day(end))
	}
	return nil
}

// plan is a certificate without what it is for.
func (a *Authority) plan(name string, valid time.Duration) *x509.Certificate {
	return &x509.Certificate{
		Subject:   pkix.Name{Organization: []string{"weft " + a.cluster}, CommonName: printable.Clean(name, maxCommonName)}, // for people
		NotBefore: a.now().Add(-skew),
		NotAfter:  a.now().Add(valid),
	}
}

// addAddresses sorts addresses into names and numbers.
func addAddresses(plan *x509.Certificate, addresses []string) error {
	if err := checkCount(len(addresses), "addresses", MaxAddresses); err != nil {
		return err
	}
	for _, address := range addresses {
		if ip := net.ParseIP(address); ip != nil {
			plan.IPAddresses = append(plan.IPAddresses, ip)
			continue
		}
		if err := checkWord("address", strings.TrimPrefix(address, "*."), MaxServiceName); err != nil {
			return err
		}
		plan.DNSNames = append(plan.DNSNames, address)
	}
	return nil
}

// sign makes a key, and a certificate for it that the signer signs; without one the key does itself.
func sign(plan *x509.Certificate, signer *Bundle) (*Bundle, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	own := &Bundle{Certificate: plan, Key: key}
	signer = cmp.Or(signer, own)
	der, err := x509.CreateCertificate(rand.Reader, plan, signer.Certificate, key.Public(), signer.Key)
	if err != nil {
		return nil, err
	}
	own.Certificate, err = x509.ParseCertificate(der)
	return own, err
}
