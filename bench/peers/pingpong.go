package peers

import (
	"errors"
	"net"
	"os"
	"path/filepath"

	"github.com/weft-fabric/weft/bench/pinned"
)

// PingPong measures a round trip of size bytes between two plain Go programs that sleep in Read, in microseconds. The network
// is tcp, on loopback, or unix. Unlike TCPPingPong its goroutines are not locked to their threads, as in most programs: to wake
// one that is takes another switch of threads.
func PingPong(network string, size, count int) (float64, error) {
	took, err := pair("unlocked asks", "unlocked answers", order{Network: network, Size: size, Count: count, Warm: count/10 + 1})
	return took.Seconds() * 1e6 / float64(count), err
}

// unlocked has a role played by a goroutine that is not locked to its thread.
func unlocked(role pinned.Role) pinned.Role {
	return func(parent *pinned.Line) error { return pinned.Unlocked(func() error { return role(parent) }) }
}

// acceptOne takes one connection, after telling the parent where.
func acceptOne(parent *pinned.Line, network string) (c net.Conn, err error) {
	address := "127.0.0.1:0"
	if network == "unix" {
		directory, err := os.MkdirTemp("", "weft-bench")
		if err != nil {
			return nil, err
		}
		defer func() { _ = os.RemoveAll(directory) }() // nobody dials again
		address = filepath.Join(directory, "socket")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := parent.Send(l.Addr().String()); err != nil {
		return nil, err
	}
	return l.Accept()
}
