package soft

import (
	"sync"

	"golang.org/x/sys/unix"
)

// backing is the file that a memory's pages belong to: how other processes can map them.
type backing struct {
	fd      int
	fragile bool // anybody may truncate it
	owned   bool // made by Alloc: its pages may be moved, and are freed with the memory

	mu      sync.Mutex // guards what follows
	size    int64      // of the file
	extents []extent
}

// extent says where in the file a piece of the memory lies. Later ones hide earlier ones.
type extent struct {
	offset uint64 // in the memory
	length uint64
	at     uint64 // in the file
}

// close frees the file. Peers that still map it keep an empty one.
func (b *backing) close() {
	if b == nil {
		return
	}
	if b.owned {
		unix.Fallocate(b.fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, b.size)
	}
	unix.Close(b.fd)
}

// layout returns a copy of the extents.
func (b *backing) layout() []extent {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]extent(nil), b.extents...)
}
