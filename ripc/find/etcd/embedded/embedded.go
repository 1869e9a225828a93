// Package embedded is etcd's server inside a process, as one member without others: for tests, and for set-ups so small that
// nobody wants to run a cluster for them. What it holds is in a folder, and outlives it.
package embedded

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"sync"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/weft-fabric/weft/internal/leak"
)

// Config says where the server keeps what it holds and where it listens.
type Config struct {
	Folder string // of its files; made if it is not there. One server at a time
	Listen string // "address:port" for clients; port 0 is any. Empty is any port of 127.0.0.1
	// Files of the certificate, its key and the authority that clients must be certified by. Without them there is
	// no encryption, and it listens on this host only.
	Certificate, Key, Authority string
	// Careless makes it faster, for tests: the files may be damaged if the machine stops, passwords can be guessed by who has
	// the files, and a lease may be as short as a second.
	Careless bool
}

// Server is a running server.
type Server struct {
	etcd    *embed.Etcd
	address string
	once    sync.Once
	handle  leak.Handle

	mu     sync.Mutex
	fronts []*grpc.Server // that speak with clients
}

// Start starts a server, and waits until it answers.
func Start(ctx context.Context, config Config) (*Server, error) {
	s, err := start(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("start etcd in %q: %w", config.Folder, err)
	}
	s.handle = leak.Opened("embedded etcd server")
	return s, nil
}

func start(ctx context.Context, config Config) (*Server, error) {
	settings, err := config.settings()
	if err != nil {
		return nil, err
	}
	s := &Server{}
	settings.ServiceRegister = s.addFront
	if s.etcd, err = embed.StartEtcd(settings); err != nil {
		return nil, err
	}
	s.address = settings.ListenClientUrls[0].Scheme + "://" + s.etcd.Clients[0].Addr().String()
	select {
	case <-s.etcd.Server.ReadyNotify():
		return s, nil
	case err = <-s.etcd.Err():
	case <-s.etcd.Server.StopNotify():
		err = errors.New("it stopped by itself")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.stop()
	return nil, err
}

// settings are etcd's.
func (c *Config) settings() (*embed.Config, error) {
	if c.Folder == "" {
		return nil, errors.New("Folder is empty: say where its files are")
	}
	if err := c.checkFiles(); err != nil {
		return nil, err
	}
	listen, err := c.listen()
	if err != nil {
		return nil, err
	}
	e := embed.NewConfig()
	e.Dir = c.Folder
	// A member without others still listens for them: here nobody but this host could come.
	alone := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	e.ListenPeerUrls, e.AdvertisePeerUrls = alone, alone
	e.InitialCluster = e.InitialClusterFromName(e.Name)
	e.ListenClientUrls, e.AdvertiseClientUrls = []url.URL{listen}, []url.URL{listen}
	e.ClientTLSInfo.CertFile, e.ClientTLSInfo.KeyFile, e.ClientTLSInfo.TrustedCAFile = c.Certificate, c.Key, c.Authority
	e.ClientTLSInfo.ClientCertAuth = c.Authority != ""
	// Without this every change would be kept for ever.
	e.AutoCompactionMode, e.AutoCompactionRetention = embed.CompactorModeRevision, "10000"
	e.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	if c.Careless {
		e.UnsafeNoFsync = true
		e.TickMs, e.ElectionMs = 50, 500
		e.BcryptCost = 4 // the least; with the race detector a check of a password takes more than a second otherwise
	}
	return e, nil
}

// checkFiles finds what etcd would find only after it has said that it is ready.
func (c *Config) checkFiles() error {
	if c.Certificate == "" && c.Key == "" && c.Authority == "" {
		return nil
	}
	if c.Certificate == "" || c.Key == "" || c.Authority == "" {
		return errors.New("Certificate, Key and Authority: give all or none")
	}
	if _, err := tls.LoadX509KeyPair(c.Certificate, c.Key); err != nil {
		return fmt.Errorf("Certificate and Key: %w", err)
	}
	authority, err := os.ReadFile(c.Authority)
	if err == nil && !x509.NewCertPool().AppendCertsFromPEM(authority) {
		err = fmt.Errorf("no certificate in %s", c.Authority)
	}
	if err != nil {
		return fmt.Errorf("Authority: %w", err)
	}
	return nil
}

// listen is where clients come in.
func (c *Config) listen() (url.URL, error) {
	address := cmp.Or(c.Listen, "127.0.0.1:0")
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return url.URL{}, fmt.Errorf("Listen: %w", err)
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return url.URL{}, fmt.Errorf("Listen: %q is not an IP address", host)
	}
	if c.Certificate != "" {
		return url.URL{Scheme: "https", Host: address}, nil
	}
	if !ip.IsLoopback() {
		return url.URL{}, fmt.Errorf("Listen: without a certificate everybody could write to %s: give one, or listen on 127.0.0.1", address)
	}
	return url.URL{Scheme: "http", Host: address}, nil
}

// Endpoint is what clients call it: "http://127.0.0.1:40123".
func (s *Server) Endpoint() string { return s.address }

// Failed has an error if the server fails by itself. It has still to be closed.
func (s *Server) Failed() <-chan error { return s.etcd.Err() }

// Close stops the server and waits for it. A second Close does nothing.
func (s *Server) Close() error {
	s.once.Do(func() {
		s.stop()
		s.handle.Closed()
	})
	return nil
}

// addFront is called by etcd, which makes a server for clients when it is ready.
func (s *Server) addFront(front *grpc.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fronts = append(s.fronts, front)
}

// stop ends it, also before it was ready. It does not wait for clients to go, as etcd would: in that time it renews no lease, and
// lets them all run out.
func (s *Server) stop() {
	s.etcd.Server.HardStop()
	s.mu.Lock()
	for _, front := range s.fronts {
		front.Stop()
	}
	s.mu.Unlock()
	s.etcd.Close()
}
