package verbstest

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// This file is memory that an end maps itself, to register it.

// ownPages is the mapping of a memfd, which stays open as long as the mapping: a provider may have to send it to a peer.
type ownPages struct {
	file  *os.File
	bytes []byte
}

func mapOwnPages(size int) (ownPages, error) {
	fd, err := unix.MemfdCreate("verbstest", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return ownPages{}, fmt.Errorf("verbstest: make a memfd: %w", err)
	}
	p := ownPages{file: os.NewFile(uintptr(fd), "memfd")}
	if err := p.file.Truncate(int64(size)); err != nil {
		return ownPages{}, errors.Join(err, p.file.Close())
	}
	p.bytes, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return ownPages{}, errors.Join(fmt.Errorf("verbstest: map %d bytes of a memfd: %w", size, err), p.file.Close())
	}
	return p, nil
}

func (p ownPages) close() error { return errors.Join(unix.Munmap(p.bytes), p.file.Close()) }
