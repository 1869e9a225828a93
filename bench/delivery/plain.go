package delivery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Plain copies: a program that writes from memory to TCP connections, and those that read into memory.

const (
	copyChunk = 1 << 20
	copyPort  = "7470"
	mostCopy  = 1 << 30
)

// The orders in which plain copies are made.
const (
	copyOne        = "one"
	copyParallel   = "parallel"
	copySequential = "sequential"
)

// OneCopy is one plain copy, to the first receiver only: the links can do no better.
func OneCopy() Contestant { return plain("one plain TCP copy", copyOne) }

// ParallelCopies are plain copies to all receivers at once.
func ParallelCopies() Contestant { return plain("TCP to all at once", copyParallel) }

// SequentialCopies are plain copies to one receiver after the other.
func SequentialCopies() Contestant { return plain("TCP to one after the other", copySequential) }

func plain(name, order string) Contestant {
	return Contestant{Name: name, Kind: KindTCP, deliver: func(ctx context.Context, d *Delivery) (Sample, error) {
		return d.copies(ctx, order)
	}}
}

func (d *Delivery) copies(ctx context.Context, order string) (s Sample, err error) {
	var addresses []string
	for host := 1; host < d.network.Hosts() && (host == 1 || order != copyOne); host++ {
		address := net.JoinHostPort(d.network.Address(host), copyPort)
		addresses = append(addresses, address)
		p, err := d.play(ctx, host, "copy-read", strconv.Itoa(d.Bytes), address)
		if err == nil {
			err = p.hear(ctx, "listening", 1)
		}
		if err != nil {
			return s, err
		}
	}
	p, err := d.play(ctx, 0, "copy-write", strconv.Itoa(d.Bytes), order, strings.Join(addresses, ","))
	if err != nil {
		return s, err
	}
	for _, p := range append(d.processes, p) {
		if err := p.wait(); err != nil { // a reader fails if it got something wrong
			return s, err
		}
	}
	nanos, err := strconv.ParseFloat(strings.TrimSpace(p.said.String()), 64)
	return Sample{Seconds: nanos / 1e9}, err
}

// playRead reads everything from one connection, answers with a byte, and looks at what it got.
func playRead(arguments []string) (err error) {
	if len(arguments) != 2 {
		return errRole
	}
	b, err := pages(arguments[0])
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", arguments[1])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	fmt.Println("listening")
	c, err := l.Accept()
	if err != nil {
		return err
	}
	for at := 0; at < len(b); {
		n, err := c.Read(b[at:min(at+copyChunk, len(b))])
		if at += n; err != nil {
			return fmt.Errorf("after %d bytes: %w", at, err)
		}
	}
	_, err = c.Write([]byte{1})
	return errors.Join(err, c.Close(), rightContent(b))
}

// playWrite writes everything to all addresses and prints how many nanoseconds it took until all readers had it.
func playWrite(arguments []string) error {
	if len(arguments) != 3 {
		return errRole
	}
	b, err := pages(arguments[0])
	if err != nil {
		return err
	}
	for i := range b {
		b[i] = content(i)
	}
	var connections []net.Conn
	for address := range strings.SplitSeq(arguments[2], ",") {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		connections = append(connections, c)
	}
	began := time.Now()
	err = writeAll(connections, b, arguments[1] == copyParallel)
	fmt.Println(time.Since(began).Nanoseconds())
	return err
}

// writeAll writes to all connections, at once or in their order, and waits for the readers.
func writeAll(connections []net.Conn, b []byte, parallel bool) error {
	failed := make([]error, len(connections))
	var writing sync.WaitGroup
	for i, c := range connections {
		writing.Go(func() { failed[i] = writeOne(c, b) })
		if !parallel {
			writing.Wait()
		}
	}
	writing.Wait()
	return errors.Join(failed...)
}

func writeOne(c net.Conn, b []byte) error {
	for at := 0; at < len(b); at += copyChunk {
		if _, err := c.Write(b[at:min(at+copyChunk, len(b))]); err != nil {
			return err
		}
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return errors.Join(err, c.Close())
}

// pages is memory that is really there before the time counts, and has not yet the right contents.
func pages(size string) ([]byte, error) {
	n, err := strconv.Atoi(size)
	if err != nil || n < 1 || n > mostCopy {
		return nil, fmt.Errorf("%q bytes: from 1 to %d", size, mostCopy)
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = ^content(i)
	}
	return b, nil
}

func content(i int) byte { return byte(i) ^ byte(i>>8) }

func rightContent(b []byte) error {
	for i := range b {
		if b[i] != content(i) {
			return fmt.Errorf("byte %d is wrong", i)
		}
	}
	return nil
}
