package source

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// sight is what was seen of an entry and is not in the manifest. It is kept for every entry, in the order of their numbers.
type sight struct {
	root          uint32 // of which source it is
	device, inode uint64
	change        int64 // ctime, nanoseconds since 1970
}

const sightSize = 4 + 8 + 8 + 8

// sightings writes sights to a spool file.
type sightings struct {
	file *os.File
	out  *bufio.Writer
	sum  hash.Hash
}

func newSightings(file *os.File) *sightings {
	s := &sightings{file: file, sum: sha256.New()}
	s.out = bufio.NewWriterSize(io.MultiWriter(file, s.sum), 64<<10)
	return s
}

func (s *sightings) add(v sight) error {
	record := make([]byte, 0, sightSize)
	record = binary.LittleEndian.AppendUint32(record, v.root)
	record = binary.LittleEndian.AppendUint64(record, v.device)
	record = binary.LittleEndian.AppendUint64(record, v.inode)
	record = binary.LittleEndian.AppendUint64(record, uint64(v.change))
	_, err := s.out.Write(record)
	return err
}

// close flushes, and returns the hash of all.
func (s *sightings) close() (sum [32]byte, err error) {
	err = s.out.Flush()
	return [32]byte(s.sum.Sum(nil)), err
}

// sightOf reads what was seen of an entry.
func (s *Source) sightOf(number uint64) (sight, error) {
	var record [sightSize]byte
	if _, err := s.seen.ReadAt(record[:], int64(number)*sightSize); err != nil {
		return sight{}, fmt.Errorf("spool file of the source: %w", err)
	}
	v := sight{
		root:   binary.LittleEndian.Uint32(record[:]),
		device: binary.LittleEndian.Uint64(record[4:]),
		inode:  binary.LittleEndian.Uint64(record[12:]),
		change: int64(binary.LittleEndian.Uint64(record[20:])),
	}
	if int(v.root) >= len(s.roots) {
		return sight{}, fmt.Errorf("spool file of the source: entry %d is of source %d of %d", number, v.root, len(s.roots))
	}
	return v, nil
}

// difference says how a file differs from what was seen of it, or "".
func (v sight) difference(e *manifest.Entry, now *unix.Stat_t) string {
	switch {
	case now.Dev != v.device || now.Ino != v.inode:
		return "another file has its name"
	case uint64(now.Size) != e.Size:
		return fmt.Sprintf("it had %d bytes, and has %d", e.Size, now.Size)
	case now.Mtim.Nano() != e.ModTime:
		return "it was written to"
	case now.Ctim.Nano() != v.change:
		return "it was written to, or its name, mode or owner was changed"
	}
	return ""
}
