package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/certify"
	"github.com/weft-fabric/weft/ripc/find/etcd/embedded"
	"github.com/weft-fabric/weft/ripc/wire"
)

func TestADirectoryWithCertificatesTakesNobodyWithout(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	certify.Write(t, folder)
	in := func(name string) string { return filepath.Join(folder, name) }
	s := serve(t, embedded.Config{Certificate: in("certificate.pem"), Key: in("key.pem"), Authority: in("authority.pem")})
	pair, err := tls.LoadX509KeyPair(in("certificate.pem"), in("key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(in("authority.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)

	_, address := split(s.Endpoint())
	for _, endpoint := range []string{s.Endpoint(), address} {
		config := Config{Endpoints: []string{endpoint}, TLS: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}, Timeout: time.Minute}
		d, err := Open(t.Context(), config)
		if err != nil {
			t.Fatalf("%s: %v", endpoint, err)
		}
		must(t, d, named("kv/3", 1))
		d.Close()
	}
	for what, config := range map[string]*tls.Config{
		"no certificate":                     {RootCAs: roots},
		"no authority to know the server by": {Certificates: []tls.Certificate{pair}},
		"no TLS":                             nil,
	} {
		at := s.Endpoint()
		if config == nil {
			at = address
		}
		d, err := Open(t.Context(), Config{Endpoints: []string{at}, TLS: config, Timeout: 300 * time.Millisecond})
		if err == nil {
			d.Close()
		}
		if err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("with %s: %v", what, err)
		}
	}
}

// Who speaks TLS to a server that does not is not told to see whether that runs.
func TestADirectoryWithoutCertificatesIsNotTakenForOneThatIsDown(t *testing.T) {
	t.Parallel()
	_, address := split(serve(t, embedded.Config{}).Endpoint())
	d, err := Open(t.Context(), Config{Endpoints: []string{"https://" + address}, Timeout: time.Second})
	if err == nil {
		d.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "do both ends speak TLS") || strings.Contains(err.Error(), "running") {
		t.Error(err)
	}
}

func TestADirectoryWithAPasswordTakesNobodyWithout(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a lease to run out or to be renewed")
	}
	t.Parallel()
	s := serve(t, embedded.Config{})
	raw := client(t, s.Endpoint())
	if _, err := raw.UserAdd(t.Context(), "root", "secret"); err != nil {
		t.Fatal(err)
	}
	if _, err := raw.UserGrantRole(t.Context(), "root", "root"); err != nil {
		t.Fatal(err)
	}
	if _, err := raw.AuthEnable(t.Context()); err != nil {
		t.Fatal(err)
	}
	for password, want := range map[string]string{"": "user name is empty", "wrong": "invalid user ID or password"} {
		config := Config{Endpoints: []string{s.Endpoint()}, Password: password, Timeout: time.Minute}
		if password != "" {
			config.User = "root"
		}
		if _, err := Open(t.Context(), config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with password %q: %v, want %q", password, err, want)
		}
	}
	config := Config{Endpoints: []string{s.Endpoint()}, User: "root", Password: "secret", TTL: 3 * time.Second, Timeout: time.Minute}
	d, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	seen := watch(d)
	c := must(t, d, named("kv/3", 1))
	seen.next(t, 1, "kv/3")
	until := c.ValidUntil()
	eventually(t, "the claim was renewed", func() bool { return c.ValidUntil() > until })
	if absent(t, d, wire.NameID("kv/3")) {
		t.Error("it is not found")
	}
}
