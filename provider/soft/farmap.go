package soft

import (
	"fmt"
	"maps"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file is how memory that a neighbour shows is mapped.

// takeRegion maps memory that was asked for, and tells those who wait.
func (n *neighbour) takeRegion(in noteWithFD) error {
	r := n.present(&in)
	if r == nil && in.Found != 0 && in.fd >= 0 && n.hasRoom() {
		var err error
		if r, err = n.mapRegion(&in); err != nil {
			n.device.config.Log.Warn("map a neighbour's memory", "device", n.device.config.Name, "peer", n.peer.String(),
				"error", err)
		}
	}
	closeDescriptor(in.fd)
	keys := []viewKey{{in.Domain, in.Key}}
	if in.Found != 0 {
		keys = []viewKey{{0, in.Key}, {in.Domain, uint64(in.Region.LocalKey)}}
	}
	waiting := make(map[*bell]bool)
	n.mu.Lock()
	for _, k := range keys {
		if r != nil {
			n.views[k] = r
		} else if n.asked[k] != nil {
			n.refused[k] = true
		}
		maps.Copy(waiting, n.asked[k])
		delete(n.asked, k)
	}
	n.mu.Unlock()
	for b := range waiting {
		b.ring()
	}
	return nil
}

// present returns the view of memory that is mapped already: it may be asked for while it is being shown.
func (n *neighbour) present(in *noteWithFD) *region {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.views[viewKey{0, in.Key}]
	if r == nil || in.Found == 0 || r.serial != in.Region.Serial || r.localKey != in.Region.LocalKey || r.stale() {
		return nil
	}
	return r
}

// maxViews is how much of one neighbour's memory is mapped: the kernel allows a process some 65,000 mappings.
const maxViews = 1 << 15

func (n *neighbour) hasRoom() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.views) < 2*maxViews // each is known by two keys
}

// mapRegion maps memory of a neighbour. What the neighbour says of it is checked; that the file stays as long as it is, is
// the seal's business, or else the region is fragile.
func (n *neighbour) mapRegion(in *noteWithFD) (*region, error) {
	d := &in.Region
	if err := in.checkRegion(); err != nil {
		return nil, err
	}
	control, err := seeOne[regionControl](n.arena.bytes, ref(d.Control))
	if err != nil {
		return nil, err
	}
	pages, err := mapExtents(in.fd, in.extents)
	if err != nil {
		return nil, err
	}
	r := &region{placedControl: placedControl{control, ref(d.Control)}, bytes: pages[:d.Length], base: d.Base,
		localKey: d.LocalKey, remoteKey: d.RemoteKey, fragile: d.Fragile != 0, sight: n.arena,
		mask: serialMask | generationMask | moving, serial: d.Serial}
	hold(&n.device.resources, r, pages, -1)
	return r, nil
}

// checkRegion reports what is wrong with what a neighbour says of its memory.
func (in *noteWithFD) checkRegion() error {
	d := &in.Region
	if d.Length == 0 || d.Length > maxAlloc || d.Base+d.Length < d.Base || len(in.extents) == 0 {
		return fmt.Errorf("memory of %d bytes at %#x in %d pieces", d.Length, d.Base, len(in.extents))
	}
	size := uint64(wholePages(int(d.Length)))
	if first := in.extents[0]; first.offset != 0 || first.length != size {
		return fmt.Errorf("a first piece of %d bytes at %d in memory of %d", first.length, first.offset, size)
	}
	var end uint64 // in the file
	for _, e := range in.extents {
		if e.offset > size || e.length > size-e.offset || e.at > 1<<62 {
			return fmt.Errorf("a piece of %d bytes at %d, from %d on, in memory of %d", e.length, e.offset, e.at, size)
		}
		end = max(end, e.at+e.length)
	}
	if d.Fragile != 0 {
		return nil // whoever touches it is prepared
	}
	return checkFile(in.fd, end)
}

// mapExtents maps the first extent, which is all of the memory, and over it those that were moved since.
func mapExtents(fd int, extents []extent) ([]byte, error) {
	pages, err := mapShared(fd, int64(extents[0].at), int(extents[0].length))
	if err != nil {
		return nil, err
	}
	for _, e := range extents[1:] {
		if err := mapOver(pages[e.offset:][:e.length], fd, int64(e.at)); err != nil {
			unmap(pages)
			return nil, err
		}
	}
	return pages, nil
}

// mapOver replaces the pages under b by those of a file.
func mapOver(b []byte, fd int, at int64) error {
	_, err := unix.MmapPtr(fd, at, unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b)), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_FIXED|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("map %d bytes over others: %w", len(b), err)
	}
	return nil
}
