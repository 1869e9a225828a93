package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/weft-fabric/weft/rig/links/network"
)

// One plain copy: a program that writes from memory to a TCP connection, and one that reads into memory. Both are this
// program again, on two hosts.

const (
	copyRole  = "plain-copy"
	copyChunk = 1 << 20
	copyPort  = "7470"
	copyLimit = 2 * time.Minute
)

// copyMain is one side: the address and the word read or write.
func copyMain(arguments []string) error {
	if len(arguments) != 2 {
		return errors.New(copyRole + " is for this program itself")
	}
	b := make([]byte, messageBytes)
	for i := range b {
		b[i] = byte(i) // so that every page is there before the time counts
	}
	if arguments[1] == "read" {
		return copyRead(arguments[0], b)
	}
	return copyWrite(arguments[0], b)
}

// copyRead reads everything, and answers with one byte.
func copyRead(address string, b []byte) (err error) {
	l, err := net.Listen("tcp", address)
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
	return errors.Join(err, c.Close())
}

// copyWrite writes everything and prints how many nanoseconds it took until the reader had it.
func copyWrite(address string, b []byte) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	began := time.Now()
	for at := 0; at < len(b); at += copyChunk {
		if _, err := c.Write(b[at:min(at+copyChunk, len(b))]); err != nil {
			return err
		}
	}
	_, err = io.ReadFull(c, make([]byte, 1))
	fmt.Println(time.Since(began).Nanoseconds())
	return errors.Join(err, c.Close())
}

// plainCopy copies from the first host to the second, and returns how long it took, in seconds.
func plainCopy(n *network.Network) (seconds float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), copyLimit)
	defer cancel()
	address := net.JoinHostPort(n.Address(1), copyPort)
	reader, err := startAndHear(n.Command(ctx, 1, self, copyRole, address, "read"), "listening")
	if err != nil {
		return 0, err
	}
	said, err := n.Command(ctx, 0, self, copyRole, address, "write").Output()
	if err := errors.Join(explained(err), reader.wait()); err != nil {
		return 0, fmt.Errorf("plain copy: %w", err)
	}
	nanos, err := strconv.ParseFloat(strings.TrimSpace(string(said)), 64)
	return nanos / 1e9, err
}
