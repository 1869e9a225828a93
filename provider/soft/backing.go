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

	moving sync.Mutex // held while pages are being moved; taken before mu

	mu      sync.Mutex // guards what follows
	size    int64      // of the file
	extents []extent
	shown   map[*neighbour]uint64 // who may have mapped it, and the region's serial and generation then
}

// extent says where in the file a piece of the memory lies. Later ones hide earlier ones.
type extent struct {
	offset uint64 // in the memory
	length uint64
	at     uint64 // in the file
}

// hide lets nobody see the file any more, and returns it, to be freed; -1: there is none.
func (b *backing) hide() int {
	if b == nil {
		return -1
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	fd := b.fd
	b.fd = -1
	return fd
}

// drop frees the file, which was hidden. Peers that still map it keep an empty one.
func (b *backing) drop(fd int) {
	if fd < 0 {
		return
	}
	if b.owned {
		_ = unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, b.size)
	}
	closeDescriptor(fd)
}

// close is both.
func (b *backing) close() { b.drop(b.hide()) }

// announceClosed tells the neighbours that have mapped the memory that they need not keep it.
func (m *Memory) announceClosed() {
	if m.backing == nil {
		return
	}
	for n := range m.backing.shown {
		_ = n.say(&note{Kind: noteClosed, Key: m.region.remoteKey, Domain: m.domain.number,
			Region: regionNote{LocalKey: m.region.localKey}}, nil, -1)
	}
}
