package delivery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Relay is what a relay cannot do without: the second host receives everything from the first, in a loop of recv, and sends as much to the third, by
// sendfile, at the same time. It looks at nothing, and keeps it in a file only if it is to. Its Sample's CPU is that of this host's process.
func Relay(keeps bool) Contestant {
	name := "recv and sendfile"
	if keeps {
		name = "recv, write and sendfile"
	}
	return Contestant{Name: name, Kind: KindTCP, partly: true, deliver: func(ctx context.Context, d *Delivery) (Sample, error) {
		return d.relay(ctx, keeps)
	}}
}

func (d *Delivery) relay(ctx context.Context, keeps bool) (s Sample, err error) {
	if d.network.Hosts() < 3 {
		return s, errors.New("a relay needs three hosts")
	}
	object, err := d.object(d.Bytes)
	if err != nil {
		return s, err
	}
	kept := ""
	if keeps {
		place, err := d.place(1)
		if err != nil {
			return s, err
		}
		kept = filepath.Join(place, "object")
	}
	at := func(host int) string { return net.JoinHostPort(d.network.Address(host), copyPort) }
	var all []*process
	for _, role := range []struct {
		host      int
		arguments []string
	}{{2, []string{"relay", at(2), "", "", ""}}, {1, []string{"relay", at(1), at(2), object, kept}}, {0, []string{"relay", "", at(1), object, ""}}} {
		p, err := d.play(ctx, role.host, role.arguments[0], role.arguments[1:]...)
		if err == nil && role.host > 0 {
			err = p.hear(ctx, "listening", 1)
		}
		if err != nil {
			return s, err
		}
		all = append(all, p)
	}
	for _, p := range all {
		if err := p.wait(); err != nil {
			return s, err
		}
	}
	_, used, _ := strings.Cut(strings.TrimSpace(all[1].said.String()), "\n")
	s.CPU, err = strconv.ParseFloat(used, 64)
	return s, err
}

// playRelay receives, if there is an address to listen at, sends, if there is one to dial, and says how many seconds of the cores both took.
func playRelay(arguments []string) (err error) {
	if len(arguments) != 4 {
		return errRole
	}
	var l net.Listener
	if arguments[0] != "" {
		if l, err = net.Listen("tcp", arguments[0]); err != nil {
			return err
		}
		fmt.Println("listening")
	}
	sent := make(chan error, 1)
	go func() { sent <- sendFile(arguments[1], arguments[2]) }()
	if l != nil {
		err = receiveAll(l, arguments[3])
	}
	if err = errors.Join(err, <-sent); err != nil {
		return err
	}
	fmt.Println(ownTime())
	return nil
}

// sendFile sends a file to an address, if there is one. Go has the kernel do it.
func sendFile(address, path string) error {
	if address == "" {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	_, err = io.Copy(c, file)
	return errors.Join(err, c.Close())
}

// receiveAll reads everything from one connection, and writes it to a file if one is named.
func receiveAll(l net.Listener, path string) (err error) {
	c, err := l.Accept()
	if err != nil {
		return err
	}
	var file *os.File
	if path != "" {
		if file, err = os.Create(path); err != nil {
			return errors.Join(err, c.Close(), l.Close())
		}
		defer func() { err = errors.Join(err, file.Close()) }()
	}
	for b := make([]byte, copyChunk); err == nil; {
		n, read := c.Read(b)
		if err = read; file != nil {
			_, wrote := file.Write(b[:n]) // Read and Write are what it is: nothing is spliced
			err = errors.Join(err, wrote)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, c.Close(), l.Close())
}

// ownTime is what this process has used, in seconds.
func ownTime() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
