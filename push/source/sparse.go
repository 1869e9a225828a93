package source

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// isSparse reports whether a file has fewer blocks than bytes.
func isSparse(s *unix.Stat_t) bool { return s.Blocks*512 < s.Size }

// extentsOf finds where the data of a file is; nil: everywhere. In a file of many holes the smallest are sent as zeros.
func extentsOf(fd int, size uint64) ([]manifest.Extent, error) {
	list := extents{list: []manifest.Extent{}, limit: manifest.MaxExtents}
	for at := uint64(0); at < size; {
		start, err := unix.Seek(fd, int64(at), unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) { // only a hole is left
			break
		}
		if errors.Is(err, unix.EINVAL) { // the file system does not know holes
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		end, err := unix.Seek(fd, start, unix.SEEK_HOLE)
		if err != nil {
			return nil, err
		}
		list.add(uint64(start), min(uint64(end), size))
		at = uint64(end)
	}
	if len(list.list) == 1 && list.list[0] == (manifest.Extent{Length: size}) {
		return nil, nil
	}
	return list.list, nil
}

// extents is a list of data that stays short: holes smaller than gap count as data, and gap grows as it must.
type extents struct {
	list  []manifest.Extent
	limit int
	gap   uint64
}

func (x *extents) add(start, end uint64) {
	x.list = x.join(x.list, start, end)
	for len(x.list) > x.limit {
		x.gap = max(4096, 2*x.gap)
		shorter := x.list[:0]
		for _, e := range x.list {
			shorter = x.join(shorter, e.Offset, e.Offset+e.Length)
		}
		x.list = shorter
	}
}

// join appends data to a list, or makes its last extent longer.
func (x *extents) join(list []manifest.Extent, start, end uint64) []manifest.Extent {
	if start >= end { // the file was cut while we looked
		return list
	}
	if n := len(list); n > 0 {
		last := &list[n-1]
		if before := last.Offset + last.Length; start-before <= x.gap {
			last.Length = end - last.Offset
			return list
		}
	}
	return append(list, manifest.Extent{Offset: start, Length: end - start})
}
