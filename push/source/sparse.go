package source

import (
	"errors"
	"slices"
	"sort"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// isSparse reports whether a file has fewer blocks than bytes.
func isSparse(s *unix.Stat_t) bool { return s.Blocks*512 < s.Size }

// extentsOf finds where the data of a file is; nil: everywhere. In a file of many holes the smallest are sent as zeros. It ends when alive fails.
func extentsOf(fd int, size uint64, alive func() error) ([]manifest.Extent, error) {
	list := extents{list: []manifest.Extent{}, limit: manifest.MaxExtents}
	for at := uint64(0); at < size; {
		if err := alive(); err != nil {
			return nil, err
		}
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
	list.finish()
	if len(list.list) == 1 && list.list[0] == (manifest.Extent{Length: size}) {
		return nil, nil
	}
	return list.list, nil
}

// extents is a list of data that stays short: when there are too many, those with the smallest holes between them are joined.
type extents struct {
	list  []manifest.Extent
	limit int // that finish leaves; up to twice as many are collected
}

func (x *extents) add(start, end uint64) {
	if start >= end { // the file was cut while we looked
		return
	}
	x.list = append(x.list, manifest.Extent{Offset: start, Length: end - start})
	if len(x.list) == 2*x.limit {
		x.finish()
	}
}

// finish joins extents until there are no more than the limit.
func (x *extents) finish() {
	surplus := len(x.list) - x.limit
	if surplus <= 0 {
		return
	}
	holes := x.holes()
	slices.Sort(holes)
	largest := holes[surplus-1]                                                                 // that is filled
	equal := surplus - sort.Search(len(holes), func(i int) bool { return holes[i] >= largest }) // how many that large are filled
	joined := x.list[:1]
	for _, e := range x.list[1:] {
		last := &joined[len(joined)-1]
		hole := e.Offset - last.Offset - last.Length
		if hole == largest {
			equal--
		}
		if hole < largest || hole == largest && equal >= 0 {
			last.Length += hole + e.Length
		} else {
			joined = append(joined, e)
		}
	}
	x.list = joined
}

// holes are the bytes between each two extents.
func (x *extents) holes() (holes []uint64) {
	for i, e := range x.list[1:] {
		holes = append(holes, e.Offset-x.list[i].Offset-x.list[i].Length)
	}
	return holes
}
