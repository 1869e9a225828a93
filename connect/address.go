package connect

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// maxPath is how long the path of a Unix socket can be.
const maxPath = 107

// target is a parsed address: "host:port", "[ipv6]:port", "unix:/path" or "unix:@abstract".
type target struct {
	network string // "tcp" or "unix"
	host    string // tcp
	address string // as package net wants it
}

func parseTarget(address string) (target, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		if path == "" || path == "@" || len(path) > maxPath || strings.ContainsRune(path, 0) {
			return target{}, fmt.Errorf("%q: a Unix socket is unix:/path or unix:@name, of 1 to %d bytes: %w", address, maxPath,
				ErrArgument)
		}
		return target{network: "unix", address: path}, nil
	}
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return target{}, fmt.Errorf("%q is no address: write host:port, [ipv6]:port, unix:/path or unix:@name: %w", address,
			ErrArgument)
	}
	return target{network: "tcp", host: host, address: address}, nil
}

// path is the file of a Unix socket, or empty.
func (t target) path() string {
	if t.network != "unix" || strings.HasPrefix(t.address, "@") {
		return ""
	}
	return t.address
}

// text is the address of a listener as Dial takes it.
func text(addr net.Addr) string {
	if addr.Network() == "unix" {
		return "unix:" + addr.String()
	}
	return addr.String()
}

// loopbackOnly fails if the address can be reached from other hosts. Otherwise it returns the address that was looked
// at, so that a name is not resolved twice.
func (t target) loopbackOnly(ctx context.Context) (target, error) {
	if t.network == "unix" {
		return t, nil
	}
	_, port, _ := net.SplitHostPort(t.address)
	var found []net.IPAddr
	if t.host != "" {
		var err error
		if found, err = net.DefaultResolver.LookupIPAddr(ctx, t.host); err != nil {
			return target{}, err
		}
	}
	if len(found) == 0 || !found[0].IP.IsLoopback() {
		return target{}, errExposed
	}
	t.address = net.JoinHostPort(found[0].String(), port)
	return t, nil
}

// errExposed: nobody would know who dials from another host.
var errExposed = fmt.Errorf("other hosts can reach it and there is no TLS: set Options.TLS, or Options.Plain to allow it, or listen on 127.0.0.1: %w",
	ErrArgument)

// isLocal reports whether only processes of this host reach a listener.
func isLocal(at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return at.Network() == "unix" || ok && tcp.IP.IsLoopback()
}
