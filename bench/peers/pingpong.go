package peers

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/weft-fabric/weft/bench/pinned"
)

// PingPong measures a round trip of size bytes between two plain Go programs that sleep in Read, in microseconds. The network
// is tcp, on loopback, or unix. Unlike TCPPingPong its goroutines are not locked to their threads, as in most programs: to wake
// one that is takes another switch of threads.
func PingPong(network string, size, count int) (float64, error) {
	o := order{Network: network, Size: size, Count: count, Warm: count/10 + 1}
	var took time.Duration
	err := pinned.Two("pings", "pongs", func(near, far *pinned.Process) error {
		if err := errors.Join(far.Send(o), far.Receive(&o.Address)); err != nil {
			return err
		}
		return errors.Join(near.Send(o), near.Receive(&took))
	})
	return took.Seconds() * 1e6 / float64(count), err
}

func playPings(parent *pinned.Line) error {
	return pinned.Unlocked(func() error {
		var o order
		if err := parent.Receive(&o); err != nil {
			return err
		}
		c, err := net.Dial(o.Network, o.Address)
		if err != nil {
			return err
		}
		b := make([]byte, o.Size)
		took, err := timed(o, func(n int) error { return ping(c, b, n) })
		return errors.Join(err, c.Close(), parent.Send(took))
	})
}

func ping(c net.Conn, b []byte, n int) error {
	for range n {
		if _, err := c.Write(b); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, b); err != nil {
			return err
		}
	}
	return nil
}

func playPongs(parent *pinned.Line) error {
	return pinned.Unlocked(func() error {
		var o order
		if err := parent.Receive(&o); err != nil {
			return err
		}
		c, err := acceptOne(parent, o.Network)
		if err != nil {
			return err
		}
		b := make([]byte, o.Size)
		for range o.Warm + o.Count {
			if _, err := io.ReadFull(c, b); err != nil {
				return err
			}
			if _, err := c.Write(b); err != nil {
				return err
			}
		}
		return c.Close()
	})
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
