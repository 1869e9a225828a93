package soft

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// backingOf finds the file behind memory that a program registers: a memfd, or a file that it has mapped shared. Peers of
// other processes can reach only such memory; nil without an error is memory that is private to this process.
func backingOf(b []byte, start uintptr) (*backing, error) {
	m, err := findMapping(start, uintptr(len(b)))
	if err != nil || m == nil {
		return nil, err
	}
	fd := m.open()
	if fd < 0 {
		return nil, nil
	}
	size := uint64(wholePages(len(b)))
	return &backing{fd: fd, fragile: !cannotShrink(fd), extents: []extent{{length: size, at: m.offset}}}, nil
}

// mapping is a line of /proc/self/maps, cut to the memory in question.
type mapping struct {
	offset uint64 // in the file
	device uint64
	inode  uint64
	path   string
}

// findMapping returns the shared mapping that all of the memory lies in, from a page's beginning on, or nil.
func findMapping(start, length uintptr) (*mapping, error) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil, fmt.Errorf("soft: register: %w", err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		from, to, m := parseMapping(lines.Text())
		if start < from || start >= to {
			continue
		}
		if m == nil || start+length > to || start%uintptr(os.Getpagesize()) != 0 {
			return nil, nil
		}
		m.offset += uint64(start - from)
		return m, nil
	}
	return nil, lines.Err()
}

// parseMapping takes a line apart: range, permissions, offset, device, inode, path. Of private memory there is no mapping.
func parseMapping(line string) (from, to uintptr, m *mapping) {
	fields := strings.Fields(line)
	if len(fields) < 5 {
		return 0, 0, nil
	}
	first, last, _ := strings.Cut(fields[0], "-")
	begin, _ := strconv.ParseUint(first, 16, 64)
	end, _ := strconv.ParseUint(last, 16, 64)
	from, to = uintptr(begin), uintptr(end)
	inode, _ := strconv.ParseUint(fields[4], 10, 64)
	if !strings.HasPrefix(fields[1], "rw") || !strings.HasSuffix(fields[1], "s") || inode == 0 {
		return from, to, nil
	}
	m = &mapping{inode: inode}
	m.offset, _ = strconv.ParseUint(fields[2], 16, 64)
	major, minor, _ := strings.Cut(fields[3], ":")
	high, _ := strconv.ParseUint(major, 16, 32)
	low, _ := strconv.ParseUint(minor, 16, 32)
	m.device = unix.Mkdev(uint32(high), uint32(low))
	if len(fields) > 5 {
		m.path = fields[5]
	}
	return from, to, m
}

// open returns a descriptor of the file, or -1: a copy of one that the process has open, or by its path.
func (m *mapping) open() int {
	open, _ := filepath.Glob("/proc/self/fd/*")
	for _, name := range open {
		fd, err := strconv.Atoi(filepath.Base(name))
		if err != nil || !m.is(fd) {
			continue
		}
		if copied, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0); err == nil && m.is(copied) {
			return copied
		}
	}
	fd, err := unix.Open(m.path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil && m.is(fd) {
		return fd
	}
	closeDescriptor(fd)
	return -1
}

// is reports whether fd is the mapping's file.
func (m *mapping) is(fd int) bool {
	var s unix.Stat_t
	return unix.Fstat(fd, &s) == nil && s.Ino == m.inode && s.Dev == m.device
}
