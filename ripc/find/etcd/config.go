package etcd

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/weft-fabric/weft/internal/printable"
)

// Limits of a Config.
const (
	maxEndpoints = 64
	maxEndpoint  = 255  // bytes
	maxPrefix    = 1024 // bytes
	maxTTL       = time.Hour
)

// Config says where the directory is, and how to speak with it.
type Config struct {
	Endpoints []string      // its servers: "host:port", "https://host:port" or "http://host:port"; at least one
	TLS       *tls.Config   // for servers that speak TLS; nil with https is the system's authorities and no certificate
	User      string        // for clusters that ask for a password
	Password  string        // only with TLS, or to servers of this host
	Prefix    string        // of all keys; empty is "/weft/". Processes with different ones do not see each other
	TTL       time.Duration // after which a process that is gone loses its services; 0 is 5 s. The server may give more, never less
	Timeout   time.Duration // of one call, if its context does not end before; 0 is 5 s
	Logger    *slog.Logger  // nil is slog.Default()
}

func (c Config) withDefaults() Config {
	c.Prefix = cmp.Or(c.Prefix, "/weft/")
	c.TTL = cmp.Or(c.TTL, 5*time.Second)
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

// Check says what is wrong with a configuration, as Open does, but connects to nobody.
func (c Config) Check() error {
	c = c.withDefaults()
	return c.validate()
}

// validate looks at a configuration with its defaults.
func (c *Config) validate() error {
	if n := len(c.Endpoints); n == 0 || n > maxEndpoints {
		return fmt.Errorf("Endpoints: %d servers, give 1 to %d", n, maxEndpoints)
	}
	for _, endpoint := range c.Endpoints {
		if err := c.checkEndpoint(endpoint); err != nil {
			return fmt.Errorf("Endpoints: %w", err)
		}
	}
	switch {
	case (c.User == "") != (c.Password == ""):
		return errors.New("User and Password: give both or neither")
	case len(c.Prefix) > maxPrefix || !strings.HasSuffix(c.Prefix, "/"):
		return fmt.Errorf("Prefix: %q, a prefix ends with a slash and has at most %d bytes", c.Prefix, maxPrefix)
	case c.TTL < time.Second || c.TTL > maxTTL:
		return fmt.Errorf("TTL: %v, a lease lives for %v to %v", c.TTL, time.Second, maxTTL)
	case c.Timeout < 0:
		return fmt.Errorf("Timeout: %v is negative", c.Timeout)
	}
	return nil
}

// checkEndpoint finds what the client would not: it takes the first server's scheme for all, and drops the
// certificates without a word if that is http.
func (c *Config) checkEndpoint(endpoint string) error {
	if err := printable.Check("server", endpoint, maxEndpoint); err != nil {
		return err
	}
	scheme, address := split(endpoint)
	if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" {
		return fmt.Errorf("%q is not a server: write host:port, or https://host:port", endpoint)
	}
	first, _ := split(c.Endpoints[0])
	switch {
	case scheme != "" && scheme != "http" && scheme != "https":
		return fmt.Errorf("%q: %s is neither http nor https", endpoint, scheme)
	case c.TLS != nil && scheme == "http":
		return fmt.Errorf("%q would not be asked over TLS, although TLS is configured: write https", endpoint)
	case c.encrypted(scheme) != c.encrypted(first):
		return fmt.Errorf("%q and %q: either all servers speak TLS, or none", c.Endpoints[0], endpoint)
	case c.Password != "" && !c.encrypted(scheme) && !local(address):
		return fmt.Errorf("the password would go to %q for everybody to read: use TLS", endpoint)
	}
	return nil
}

func (c *Config) encrypted(scheme string) bool { return scheme == "https" || c.TLS != nil }

// split cuts an endpoint into its scheme, which may be empty, and its address.
func split(endpoint string) (scheme, address string) {
	if scheme, address, ok := strings.Cut(endpoint, "://"); ok {
		return scheme, address
	}
	return "", endpoint
}

// local reports whether an address cannot leave this host.
func local(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// seconds is the TTL as etcd takes it, rounded up.
func (c *Config) seconds() int64 { return int64(math.Ceil(c.TTL.Seconds())) }

// client is the configuration of etcd's client.
func (c *Config) client() clientv3.Config {
	return clientv3.Config{
		Endpoints:   c.Endpoints,
		TLS:         c.TLS,
		Username:    c.User,
		Password:    c.Password,
		DialTimeout: c.Timeout,
		// A server that is gone without a word is noticed by the watch that always waits for it. etcd refuses clients that ask
		// more often than every 5 s.
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 3 * time.Second,
		DialOptions:          []grpc.DialOption{grpc.WithConnectParams(c.reconnect())},
		Logger:               zap.NewNop(), // what matters of it comes back as errors
	}
}

// reconnect is how often it is tried to connect again. Leases live for their whole time after a restart of the server, so whoever
// tries often enough keeps its claims; gRPC itself would wait for up to two minutes.
func (c *Config) reconnect() grpc.ConnectParams {
	often := backoff.DefaultConfig
	often.MaxDelay = c.TTL / 5
	often.BaseDelay = often.MaxDelay / 4
	return grpc.ConnectParams{Backoff: often, MinConnectTimeout: c.Timeout}
}
