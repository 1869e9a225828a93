package delivery

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/bench/cast"
)

// warm uses as much memory as a delivery will, as far as there is, and gives it back. What has been free for some seconds a
// virtual machine may have returned to its host, and who uses it next pays for that: 2 s a gigabyte where it was measured,
// against 0.1. It says how many pages it used. Without this it would always be the one whose turn follows the plain copy, which needs little memory.
func warm(ctx context.Context, bytes int) (pages int, err error) {
	bytes = min(bytes, int(cast.FreeMemory()/2))
	if bytes == 0 {
		return 0, nil
	}
	memory, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return 0, fmt.Errorf("%d bytes of memory: %w", bytes, err)
	}
	defer func() { _ = unix.Munmap(memory) }()   // it is ours
	_ = unix.Madvise(memory, unix.MADV_HUGEPAGE) // a wish: ordinary pages do too
	for at := 0; at < bytes && ctx.Err() == nil; at += os.Getpagesize() {
		memory[at] = 1
		pages++
	}
	return pages, context.Cause(ctx)
}
