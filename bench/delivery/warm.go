package delivery

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/bench/cast"
)

// warmth is memory that is held between deliveries, so that nobody finds it cold. What has been free for some seconds a virtual
// machine may have returned to its host, and who uses it next pays for that: 2 s a gigabyte where it was measured, against 0.1.
// Without this it would always be the one whose turn follows the plain copy, which needs little memory.
type warmth struct {
	memory []byte
	wanted int // bytes, before what there is was looked at
}

// take uses so much memory, as far as there is, and holds it.
func (w *warmth) take(ctx context.Context, bytes int) error {
	if w.wanted == bytes {
		return nil
	}
	w.give()
	held := min(bytes, int(cast.FreeMemory()/2))
	if held == 0 {
		return nil
	}
	var err error
	if w.memory, err = unix.Mmap(-1, 0, held, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE); err != nil {
		return fmt.Errorf("%d bytes of memory: %w", held, err)
	}
	w.wanted = bytes
	_ = unix.Madvise(w.memory, unix.MADV_HUGEPAGE) // a wish: ordinary pages do too
	for at := 0; at < held && ctx.Err() == nil; at += os.Getpagesize() {
		w.memory[at] = 1
	}
	return context.Cause(ctx)
}

// give gives it up.
func (w *warmth) give() {
	if w.memory != nil {
		_ = unix.Munmap(w.memory) // it is ours
	}
	*w = warmth{}
}
