package connect_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"time"

	"github.com/weft-fabric/weft/connect"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
)

// Between hosts both the session and the TCP lane want TLS, with the same configuration. Either end shows a certificate
// that the other's authorities have signed.
func Example_tls() {
	ctx := context.Background()
	authority := newAuthority()
	owner, writer := authority.issue("owner"), authority.issue("writer")
	listener, err := connect.Listen(ctx, "127.0.0.1:0", connect.Options{TLS: owner, Offers: secured})
	check(err)
	defer listener.Close()
	written := make(chan struct{})
	go func() {
		defer close(written)
		session, err := connect.Dial(ctx, listener.Address(), connect.Options{TLS: writer, Offers: secured})
		check(err)
		defer session.Close()
		end, closeEnd := openSecured(writer)
		defer closeEnd()
		theirs, err := end.Join(ctx, session, connect.Card{})
		check(err)
		end.Memory.Store64(0, 42)
		check(end.Verbs.Write(ctx, end.Pairs[0], end.Memory.Span(0, 8), theirs.Spans[0]))
	}()

	session, err := listener.Accept(ctx)
	check(err)
	defer session.Close()
	end, closeEnd := openSecured(owner)
	defer closeEnd()
	_, err = end.Join(ctx, session, connect.Card{Spans: []verbs.RemoteSpan{end.Memory.Remote(0, 8)}})
	check(err)
	<-written
	state, _ := session.TLS()
	fmt.Println(state.PeerCertificates[0].Subject.CommonName, "wrote", end.Memory.Load64(0))
	// Output: writer wrote 42
}

// secured is what both ends offer: the lane that TLS encrypts.
var secured = []connect.Offer{{Provider: "tcp"}}

func openSecured(config *tls.Config) (end *connect.End, closeEnd func()) {
	nic, err := soft.New(soft.Config{Lanes: soft.TCP, TLS: config})
	check(err)
	device, err := verbs.Open(nic)
	check(err)
	end, err = connect.OpenEnd(device, connect.EndConfig{
		Memory: 4096, Access: verbs.RemoteWrite, Queue: verbs.QueueConfig{Access: verbs.RemoteWrite}})
	check(err)
	return end, func() {
		check(end.Close())
		check(device.Close())
	}
}

// exampleAuthority signs certificates. Real ones come from files: tls.LoadX509KeyPair, x509.CertPool.AppendCertsFromPEM.
type exampleAuthority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pool        *x509.CertPool
}

func newAuthority() *exampleAuthority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	a := &exampleAuthority{certificate: certificate("authority"), key: key, pool: x509.NewCertPool()}
	a.certificate.IsCA, a.certificate.BasicConstraintsValid = true, true
	raw, err := x509.CreateCertificate(rand.Reader, a.certificate, a.certificate, key.Public(), key)
	check(err)
	a.certificate, err = x509.ParseCertificate(raw)
	check(err)
	a.pool.AddCert(a.certificate)
	return a
}

// certificate is for a host that is reached as 127.0.0.1. If the certificate has another name, ServerName says which.
func certificate(name string) *x509.Certificate {
	return &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
}

// issue makes what an end needs. Either may dial the other's queue pairs, so both have everything.
func (a *exampleAuthority) issue(name string) *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	raw, err := x509.CreateCertificate(rand.Reader, certificate(name), a.certificate, key.Public(), a.key)
	check(err)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}, // what this end shows
		RootCAs:      a.pool,                                                           // whom it trusts when it dials
		ClientCAs:    a.pool,                                                           // and when it is dialled
		ClientAuth:   tls.RequireAndVerifyClientCert,                                   // the software NIC always does
	}
}
