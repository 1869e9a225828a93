package soft

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/weft-fabric/weft/internal/advertise"
)

// Lanes is a set of ways to reach a peer.
type Lanes uint8

// The lanes, the best first.
const (
	InProcess    Lanes = 1 << iota // devices of one process
	SharedMemory                   // processes of one user on one host
	TCP                            // everybody else: between hosts, or on one host without trust

	// AllLanes is every lane.
	AllLanes = InProcess | SharedMemory | TCP
)

var laneNames = [...]string{"inproc", "shm", "tcp"}

func (l Lanes) String() string {
	var words []string
	for i, word := range laneNames {
		if l&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, "+")
}

// has reports whether all of want is there.
func (l Lanes) has(want Lanes) bool { return l&want == want }

// Config describes a device. The zero value works.
type Config struct {
	// Name is for people: it stands in errors. Empty means "soft".
	Name string
	// PeerTimeout is after how long a peer that says nothing is given up. Connect gives up when it has not met its peer, and
	// the device nobody else, for so long; at the latest after ten times as much. Zero means one second.
	PeerTimeout time.Duration
	// ConnectTimeout is what counts for Connect, and for whoever calls, if that is longer than PeerTimeout: where many devices of one machine
	// make TLS connections with each other, processors are busy for longer than anybody should be silent.
	ConnectTimeout time.Duration
	// Lanes are the ways to peers that the device may take. Each connection takes the best that both ends have. Zero
	// means InProcess: no socket is opened.
	Lanes Lanes
	// Listen is where the TCP lane awaits peers: "127.0.0.1:0", "[::1]:0", "unix:/path". Empty means "127.0.0.1:0": of two
	// ends on different hosts one that listens beyond loopback is enough, and the other dials. Beyond loopback it needs TLS, or
	// Plain. For all addresses of the host ("0.0.0.0:0", ":0") peers dial one: that of the interface of the default route, or
	// else the first of one that is up.
	Listen string
	// Advertise is what peers dial, if that is not where the device listens, or not the address that they should take.
	Advertise string
	// Listener is where the TCP lane awaits peers instead, if several listeners of a process share a port. It is the device's from
	// now on, also if New fails. Its connections are those of package net.
	Listener net.Listener
	// Preface is what the TCP lane says first, before TLS, whenever it dials: peers whose Listener shares a port know by it whom
	// it means.
	Preface []byte
	// TLS encrypts the TCP lane. Both ends must show a certificate that the other trusts. Nil means that nothing is
	// encrypted.
	TLS *tls.Config
	// Plain allows to listen beyond loopback without TLS.
	Plain bool
	// Rate is how many bytes a second the device sends at most, on all its connections together. Zero means as many as it can.
	Rate uint64
	// Log hears why a connection could not be made, or has ended: a completion only says that it was so. Nil means
	// nobody.
	Log *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	if c.Name == "" {
		c.Name = "soft"
	}
	if c.PeerTimeout == 0 {
		c.PeerTimeout = time.Second
	}
	c.ConnectTimeout = max(c.ConnectTimeout, c.PeerTimeout)
	if c.Lanes == 0 {
		c.Lanes = InProcess
	}
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, c.check()
}

func (c *Config) check() error {
	switch {
	case c.PeerTimeout < 0:
		return fmt.Errorf("soft: device %q: peer timeout %v is negative", c.Name, c.PeerTimeout)
	case c.Lanes&^AllLanes != 0:
		return fmt.Errorf("soft: device %q: unknown lanes %#x; there are %v", c.Name, uint8(c.Lanes&^AllLanes), AllLanes)
	case c.Lanes.has(TCP) && c.TLS == nil && !c.Plain && !isLocal(c.listens()):
		return fmt.Errorf("soft: device %q: listening on %s, beyond loopback, needs TLS, or Plain to go without", c.Name,
			c.listens())
	case c.Listener != nil && !c.Lanes.has(TCP):
		return fmt.Errorf("soft: device %q: there is a Listener, but the device has no TCP lane: its lanes are %v", c.Name, c.Lanes)
	case advertise.IsEverywhere(c.Advertise):
		return fmt.Errorf("soft: device %q: nobody can dial %s: Advertise is one address of this host", c.Name, c.Advertise)
	}
	return nil
}

// listens is where the TCP lane awaits peers.
func (c *Config) listens() string {
	if c.Listener != nil {
		return whereOf(c.Listener.Addr())
	}
	return c.Listen
}

// isLocal reports whether only processes of this host can reach an address.
func isLocal(at string) bool { return strings.HasPrefix(at, unixScheme) || isLoopback(at) }

// isLoopback reports whether an address is one that each host has for itself.
func isLoopback(at string) bool {
	host, _, err := net.SplitHostPort(at)
	if err != nil {
		return true // to be refused for what it is
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// unixScheme marks the path of a Unix socket.
const unixScheme = "unix:"
