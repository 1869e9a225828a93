package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/find/etcd"
	"github.com/weft-fabric/weft/ripc/find/host"
	"github.com/weft-fabric/weft/ripc/find/lan"
)

// place says where services are looked for and made known, and who may take part.
type place struct {
	directory string   // of the services of this host; empty: the user's
	lan       string   // the network to find services on; empty: none
	lanKey    string   // file with what all on it know
	etcd      []string // servers of a directory; none: there is none
	etcdKeys  []string // files by which it and we know each other
	listen    string   // where others reach this process; empty: on the network of lan, or on this host alone
	keys      []string // files that say who this process is
	plain     bool     // anybody who reaches it may take part
	serves    bool     // others are to reach this process

	given *pflag.FlagSet // what the command line says
}

func (p *place) flags(f *pflag.FlagSet) {
	p.given = f
	f.StringVar(&p.directory, "directory", "", "`DIR` in which the services of this host meet (one of this user's)")
	f.StringVar(&p.lan, "lan", "", "find services on the network of `INTERFACE`; without --keys everybody there is trusted")
	f.StringVar(&p.lanKey, "lan-key", "", "`FILE` with a secret that all on that network have; who has another one, or none, is not heard")
	f.StringSliceVar(&p.etcd, "etcd", nil, "find services in etcd: `SERVERS`, as host:port or https://host:port")
	f.StringSliceVar(&p.etcdKeys, "etcd-keys", nil, "PEM `FILES`: the authority of the etcd servers, and our certificate and key if they want one")
	f.StringVar(&p.listen, "listen", "", "`ADDRESS` of this host, as 10.0.0.1:0, where others reach this process; 0.0.0.0:0 is all, of which others hear that of the default route (--lan: there; else this host alone; who only calls needs none)")
	f.StringSliceVar(&p.keys, "keys", nil, "PEM `FILES` that say who this process is, from 'weft keys make'")
	f.BoolVar(&p.plain, "plain", false, "talk to anybody, also on other hosts, without encryption")
}

// checkEmpty finds flags that were given without a value, by a variable that is not set for instance: who says --keys "" must not get
// a process that trusts everybody.
func (p *place) checkEmpty() error {
	for _, name := range []string{"directory", "lan", "lan-key", "etcd", "etcd-keys", "listen", "keys"} {
		if f := p.given.Lookup(name); f.Changed && (f.Value.String() == "" || f.Value.String() == "[]") {
			return fmt.Errorf("--%s is empty", name)
		}
	}
	return nil
}

// check finds flags that are empty, or do not go together.
func (p *place) check() error {
	if err := p.checkEmpty(); err != nil {
		return err
	}
	found := 0
	for _, set := range []bool{p.directory != "", p.lan != "", len(p.etcd) > 0} {
		if set {
			found++
		}
	}
	switch {
	case found > 1:
		return errors.New("--directory, --lan and --etcd each say where services are found: give one of them")
	case p.lanKey != "" && p.lan == "":
		return errors.New("--lan-key is for --lan")
	case len(p.etcdKeys) > 0 && len(p.etcd) == 0:
		return errors.New("--etcd-keys is for --etcd")
	case len(p.keys) > 0 && p.plain:
		return errors.New("--keys says who is let in, --plain that everybody is: leave one of them out")
	case p.serves && p.plain && p.listen == "" && p.lan == "":
		return errors.New("--plain lets everybody in, but nobody was told where: give --listen or --lan")
	case p.listen != "" && len(p.keys) == 0 && !p.plain:
		return errors.New("--listen: nobody would know who comes; give --keys, or --plain to let everybody in")
	}
	return errors.Join(p.checkListen(), p.checkLAN())
}

func (p *place) checkListen() error {
	if p.listen == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(p.listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("--listen %q is not an address: write host:port; port 0 is any that is free", p.listen)
	}
	return nil
}

func (p *place) checkLAN() error {
	if p.lan == "" {
		return nil
	}
	if _, err := net.InterfaceByName(p.lan); err != nil {
		return fmt.Errorf("--lan %q: there is no such network interface; 'ip link' lists them", p.lan)
	}
	return nil
}

// resolver opens what the flags say.
func (p *place) resolver(ctx context.Context) (find.Resolver, error) {
	quiet := slog.New(slog.DiscardHandler)
	switch {
	case p.lan != "":
		key, err := p.secret()
		if err != nil {
			return nil, err
		}
		return lan.Open(lan.Config{Interface: p.lan, Key: key, Open: key == nil, Log: quiet})
	case len(p.etcd) > 0:
		known, err := p.etcdTLS()
		if err != nil {
			return nil, err
		}
		config := etcd.Config{Endpoints: p.etcd, TLS: known, Logger: quiet}
		if err := config.Check(); err != nil {
			return nil, usageError{fmt.Errorf("--etcd: %s", strings.TrimPrefix(err.Error(), "Endpoints: "))} // as the library has it
		}
		return etcd.Open(ctx, config)
	}
	return host.OpenContext(ctx, host.Config{Dir: p.directory, Log: quiet})
}

// maxSecret bounds what is read as one.
const maxSecret = 4096

// secret is what is in the file of --lan-key; nil: there is none.
func (p *place) secret() ([]byte, error) {
	if p.lanKey == "" {
		return nil, nil
	}
	file, err := os.Open(p.lanKey)
	if err != nil {
		return nil, fmt.Errorf("--lan-key: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	key, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--lan-key: %w", err)
	case len(key) < 16 || len(key) > maxSecret:
		return nil, fmt.Errorf("--lan-key %s: a secret has 16 to %d bytes; 'head -c 32 /dev/urandom' makes one", p.lanKey, maxSecret)
	}
	return key, nil
}

// etcdTLS is how etcd and we know each other; nil: as the system has it, or not at all.
func (p *place) etcdTLS() (*tls.Config, error) {
	if len(p.etcdKeys) == 0 {
		return nil, nil
	}
	b, err := keys.Read(p.etcdKeys...)
	if err != nil {
		return nil, fmt.Errorf("--etcd-keys: %w", err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	for _, authority := range b.Authorities {
		c.RootCAs.AddCert(authority)
	}
	if b.Key != nil {
		c.Certificates = []tls.Certificate{{Certificate: [][]byte{b.Certificate.Raw}, PrivateKey: b.Key, Leaf: b.Certificate}}
	} else {
		c.RootCAs.AddCert(b.Certificate)
	}
	return c, nil
}

// address is where others reach this process; empty: only this host does. Who only calls is not to be reached.
func (p *place) address() (string, error) {
	if p.listen != "" || p.lan == "" || !p.serves {
		return p.listen, nil
	}
	i, err := net.InterfaceByName(p.lan)
	if err != nil {
		return "", fmt.Errorf("--lan %q: %w", p.lan, err)
	}
	addresses, err := i.Addrs()
	if err != nil {
		return "", fmt.Errorf("--lan %q: %w", p.lan, err)
	}
	for _, a := range addresses {
		if network, ok := a.(*net.IPNet); ok && network.IP.To4() != nil {
			return net.JoinHostPort(network.IP.String(), "0"), nil
		}
	}
	return "", fmt.Errorf("--lan %q: the interface has no IPv4 address", p.lan)
}
