package keys

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// TLS is a configuration for either end: of a connect.Session, of the software NIC's TCP lane, of anything else. Both ends
// show a certificate, and judge the other's as Peer does.
func (k *Keyring) TLS() *tls.Config {
	trusted := k.current().trusted
	c := &tls.Config{
		MinVersion: tls.VersionTLS13,
		// Package tls would compare the certificate with the host that is dialled, and know nothing of clusters. So it is
		// told to leave judging to VerifyConnection, at both ends.
		InsecureSkipVerify: true,
		ClientAuth:         tls.RequireAnyClientCert,
		VerifyConnection:   func(state tls.ConnectionState) error { _, err := k.Peer(state); return err },
		GetCertificate:     func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return k.showAnyway(), nil },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return k.show()
		},
		// Whoever comes back shows its certificate again: it may have ended, or been exchanged.
		SessionTicketsDisabled: true,
		RootCAs:                trusted, // those who take a configuration want to see that somebody is trusted
		ClientCAs:              trusted,
	}
	// A copy whose owner asks package tls to verify clients, too, would do that against the authorities of today.
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		server := c.Clone()
		server.ClientCAs, server.GetConfigForClient = k.current().trusted, nil
		return server, nil
	}
	return c
}

// show is this member's certificate. If it is not valid, this end says so: the peer would say only that it is bad.
func (k *Keyring) show() (*tls.Certificate, error) {
	h := k.current()
	if err := checkTime(h.identity.Name, h.mine.Leaf, k.now()); err != nil {
		return nil, err
	}
	return &h.mine, nil
}

// showAnyway is for those who were dialled. Who has dialled, and may be the only one who looks, finds by itself that it is not valid; if
// nothing were shown, it would hear of an internal error.
func (k *Keyring) showAnyway() *tls.Certificate {
	_, err := k.show()
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil && k.invalid != err.Error() {
		k.invalid = err.Error()
		k.config.Log.Warn("nobody will believe this certificate", "error", err)
	}
	return &k.holding.mine
}

// Peer is who is at the other end of a connection, if that is a member of this cluster whose certificate is signed by an
// authority in this member's files, and valid now.
func (k *Keyring) Peer(state tls.ConnectionState) (Identity, error) {
	if len(state.PeerCertificates) == 0 {
		return Identity{}, fmt.Errorf("the peer shows no certificate: %w", ErrUntrusted)
	}
	h := k.current()
	id, err := h.judge(state.PeerCertificates[0], k.now())
	if err != nil {
		return Identity{}, fmt.Errorf("the peer: %w", err)
	}
	if id.Cluster != h.identity.Cluster {
		return Identity{}, fmt.Errorf("the peer: %v is not of cluster %s: %w", id, h.identity.Cluster, ErrUntrusted)
	}
	return id, nil
}

// judge says whose certificate it is, if that can be believed.
func (h *holding) judge(c *x509.Certificate, now time.Time) (Identity, error) {
	id, err := IdentityOf(c)
	if err != nil {
		return Identity{}, err
	}
	if err := checkTime(id.Name, c, now); err != nil {
		return Identity{}, err
	}
	// An authority signs directly: whatever else the peer has sent is not looked at.
	_, err = c.Verify(x509.VerifyOptions{Roots: h.trusted, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
	var invalid x509.CertificateInvalidError
	switch {
	case err == nil:
		return id, nil
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return Identity{}, fmt.Errorf("the authority of %v is not valid now: make a new one with 'weft keys init': %w", id, ErrExpired)
	}
	return Identity{}, fmt.Errorf("the certificate of %v: %w: %w", id, err, ErrUntrusted)
}

func checkTime(name string, c *x509.Certificate, now time.Time) error {
	switch {
	case now.Before(c.NotBefore):
		return fmt.Errorf("the certificate of %s begins %s, and here it is %s: are both clocks right? %w", name, day(c.NotBefore), day(now), ErrExpired)
	case now.After(c.NotAfter):
		return fmt.Errorf("the certificate of %s ended %s: make a new one with 'weft keys renew', and put it in its place: %w", name, day(c.NotAfter), ErrExpired)
	}
	return nil
}

// day is a time as people read it.
func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
