package hugepages

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"unsafe"
)

// collapse is MADV_COLLAPSE, since Linux 6.1: it moves what is there to large pages, and does so before it returns.
const collapse = 25

// Reserve has the Go heap grow by so many bytes that will be on large pages from their first use. It holds none of them: they
// take no memory before they are used. It is a wish, too: where address space is scarce it does nothing.
func Reserve(bytes int) {
	if !room(bytes) {
		return
	}
	reserve := make([]byte, bytes)
	from := uintptr(unsafe.Pointer(unsafe.SliceData(reserve)))
	start, length := whole(from, from+uintptr(bytes))
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, start, length, syscall.MADV_HUGEPAGE)
	runtime.KeepAlive(reserve)
	debug.FreeOSMemory()
}

// room reports whether the system lets the process have so many bytes: to the Go heap it must not say no.
func room(bytes int) bool {
	trial, err := syscall.Mmap(-1, 0, 2*bytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	return err == nil && syscall.Munmap(trial) == nil
}

// Collapse puts the process's own memory on large pages, as far as the system has them to give. It is a wish: what
// cannot be moved stays where it is. To move a gigabyte takes some seconds; what is on large pages already costs next to nothing.
func Collapse() {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }() // it was only read
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if from, to, ok := parse(lines.Text()); ok {
			// One by one: of several, the system gives all up after one that it cannot move, such as one that was never used.
			for start, length := whole(from, to); length > 0; start, length = start+size, length-size {
				_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, start, size, collapse)
			}
		}
	}
}

// parse reads a line of /proc/self/maps. It is ok if that is memory of this process alone: not a file's, nor a stack.
func parse(line string) (from, to uintptr, ok bool) {
	var access, offset, device, inode, name string
	n, _ := fmt.Sscanf(line, "%x-%x %s %s %s %s %s", &from, &to, &access, &offset, &device, &inode, &name)
	own := n == 6 || n == 7 && strings.HasPrefix(name, "[anon:")
	return from, to, own && access == "rw-p" && inode == "0" && to > from
}
