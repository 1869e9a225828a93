package peers

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/weft-fabric/weft/bench/pinned"
)

// TCPStream measures a plain Go TCP stream on loopback, in bytes a second: one side writes size bytes at a time to a
// net.Conn, the other reads them into one buffer of that size. It ends when the reader has said that it has all.
func TCPStream(size, count int) (float64, error) {
	took, err := pair("tcp writes", "tcp reads", order{Network: "tcp", Size: size, Count: count, Warm: count/10 + 1})
	return float64(size) * float64(count) / took.Seconds(), err
}

// TCPPingPong measures half a round trip of size bytes between two plain Go programs on loopback that sleep in Read, in
// microseconds.
func TCPPingPong(size, count int) (float64, error) {
	took, err := pair("asks", "answers", order{Network: "tcp", Size: size, Count: count, Warm: count/10 + 1})
	return halfTrip(took, count), err
}

// pair runs both sides: the far one listens and says where, the near one dials and says how long it took.
func pair(near, far string, o order) (took time.Duration, err error) {
	err = pinned.Two(near, far, func(near, far *pinned.Process) error {
		if err := errors.Join(far.Send(o), far.Receive(&o.Address)); err != nil {
			return err
		}
		return errors.Join(near.Send(o), near.Receive(&took))
	})
	return took, err
}

// listen takes one connection, after telling the parent where.
func listen(parent *pinned.Line) (o order, c net.Conn, err error) {
	if err := parent.Receive(&o); err != nil {
		return o, nil, err
	}
	c, err = acceptOne(parent, o.Network)
	return o, c, err
}

// dial takes an order, times the work that it asks for on a connection, and reports.
func dial(parent *pinned.Line, work func(c net.Conn, b []byte, n int) error) error {
	var o order
	if err := parent.Receive(&o); err != nil {
		return err
	}
	c, err := net.Dial(o.Network, o.Address)
	if err != nil {
		return err
	}
	b := make([]byte, o.Size)
	took, err := timed(o, func(n int) error { return work(c, b, n) })
	return errors.Join(err, c.Close(), parent.Send(took))
}

func playAsks(parent *pinned.Line) error { return dial(parent, ask) }

func ask(c net.Conn, b []byte, n int) error {
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

func playAnswers(parent *pinned.Line) error {
	o, c, err := listen(parent)
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
}

func playTCPWrites(parent *pinned.Line) error {
	var all [1]byte
	return dial(parent, func(c net.Conn, b []byte, n int) error {
		for range n {
			if _, err := c.Write(b); err != nil {
				return err
			}
		}
		_, err := io.ReadFull(c, all[:])
		return err
	})
}

func playTCPReads(parent *pinned.Line) error {
	o, c, err := listen(parent)
	if err != nil {
		return err
	}
	b := make([]byte, o.Size)
	for _, n := range []int{o.Warm, o.Count} {
		for left := n * o.Size; left > 0; {
			k, err := c.Read(b[:min(left, len(b))])
			if err != nil {
				return fmt.Errorf("%d bytes before the end: %w", left, err)
			}
			left -= k
		}
		if _, err := c.Write([]byte{1}); err != nil {
			return err
		}
	}
	return c.Close()
}
