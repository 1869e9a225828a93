package delivery

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// memoryFolder is where files are kept in memory, on most machines: a disk would be another limit. It should have room for
// 256 MiB at each of 16 hosts.
const (
	memoryFolder = "/dev/shm"
	memoryRoom   = 4 << 30
)

// filesPlace is where the folder is made.
func filesPlace() string {
	var s unix.Statfs_t
	if unix.Statfs(memoryFolder, &s) == nil && s.Bavail*uint64(s.Bsize) > memoryRoom {
		return memoryFolder
	}
	return os.TempDir()
}

// furnish makes the folder, and the agent in it.
func (f *Field) furnish() (err error) {
	place := filesPlace()
	for _, path := range orphans(place) {
		_ = os.RemoveAll(path) // it only takes room
	}
	if f.folder, err = os.MkdirTemp(place, ownName+strconv.Itoa(os.Getpid())+"-"); err != nil {
		return err
	}
	f.agent = filepath.Join(f.folder, "agent")
	hosts := strings.Join(f.addresses(), "\n") + "\n"
	return errors.Join(os.WriteFile(f.hostFile(), []byte(hosts), 0o644),
		os.WriteFile(f.agent, []byte(f.agentScript()), 0o755))
}

func (f *Field) hostFile() string { return filepath.Join(f.folder, "hosts") }

// agentScript is a program that is called as ssh is, HOST COMMAND, and enters the host's namespace instead. Hosts have their
// own temporary files too: daemons of Open MPI would remove each other's.
func (f *Field) agentScript() string {
	var s strings.Builder
	s.WriteString("#!/bin/sh\nhost=$1\nshift\ncase $host in\n")
	for host, address := range f.addresses() {
		fmt.Fprintf(&s, "%s) process=%d TMPDIR=%s ;;\n", address, f.network.Process(host), f.placeOf(host))
	}
	s.WriteString("*) echo \"agent: there is no host $host\" >&2; exit 1 ;;\nesac\n")
	s.WriteString("export TMPDIR\nexec nsenter --net=/proc/$process/ns/net -- sh -c \"$*\"\n")
	return s.String()
}

// object is a file with so many bytes that nothing can compress. It is made once for each size.
func (f *Field) object(bytes int) (string, error) {
	path := filepath.Join(f.folder, fmt.Sprint("object-", bytes))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	out, err := os.Create(path)
	if err != nil {
		return "", err
	}
	_, err = io.CopyN(out, rand.NewChaCha8([32]byte{1}), int64(bytes))
	return path, errors.Join(err, out.Close())
}

func (f *Field) placeOf(host int) string { return filepath.Join(f.folder, fmt.Sprint("host-", host)) }

// place is a folder for what arrives at a host, empty.
func (d *Delivery) place(host int) (string, error) {
	path := d.placeOf(host)
	return path, errors.Join(os.RemoveAll(path), os.Mkdir(path, 0o755))
}

// sameFiles fails if a file has not the contents of the first. The delivery is over, so that all cores may look.
func sameFiles(first string, others ...string) error {
	failed := make([]error, len(others))
	var all sync.WaitGroup
	for i, other := range others {
		all.Go(func() {
			if err := sameFile(first, other); err != nil {
				failed[i] = fmt.Errorf("what arrived in %s is wrong: %w", other, err)
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

func sameFile(first, second string) error {
	a, err := os.Open(first)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }()
	b, err := os.Open(second)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	return sameText(a, b)
}

func sameText(a, b io.Reader) error {
	x, y := make([]byte, copyChunk), make([]byte, copyChunk)
	for at := 0; ; at += copyChunk {
		n, endA := io.ReadFull(a, x)
		m, endB := io.ReadFull(b, y)
		if !bytes.Equal(x[:n], y[:m]) {
			return fmt.Errorf("it differs within the %d bytes behind byte %d", copyChunk, at)
		}
		if err := errors.Join(endA, endB); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
