package target

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"io"
	"math/bits"
	"os"

	"golang.org/x/sys/unix"
)

// records are numbered, and lie in a file without a name: there may be as many as entries, and memory does not grow with those.
type records[T any] struct{ file *os.File }

func (r *records[T]) put(number uint64, record T) error {
	octets, err := binary.Append(nil, binary.LittleEndian, record)
	if err != nil {
		return err
	}
	_, err = r.file.WriteAt(octets, int64(number)*int64(len(octets)))
	return explain(err, "write", "what is in place")
}

// get reads a record. One that was never put is zero.
func (r *records[T]) get(number uint64) (record T, err error) {
	octets := make([]byte, binary.Size(record))
	if _, err := r.file.ReadAt(octets, int64(number)*int64(len(octets))); err != nil && !errors.Is(err, io.EOF) {
		return record, explain(err, "read", "what is in place")
	}
	_, err = binary.Decode(octets, binary.LittleEndian, &record)
	return record, err
}

// linked is a file in place whose ctime changes by our own doing, and how it went on: one that has several names, or is closed to us.
type linked struct {
	Inode    inode
	From, To int64 // before the first change and after the last; 0: there was none
}

// links are those files: a table, by the hash of the inode.
type links struct {
	records[linked]
	seed  maphash.Seed
	slots uint64 // a power of two, so many that half of them stay empty
	some  bool
}

// reset empties the table, and makes it large enough for so many files.
func (l *links) reset(files uint64) error {
	l.seed, l.slots, l.some = maphash.MakeSeed(), 1<<bits.Len64(2*files), false
	return l.file.Truncate(0)
}

// find is where a file is in the table, or the empty slot where it would be.
func (l *links) find(of inode) (slot uint64, there linked, err error) {
	for slot = maphash.Comparable(l.seed, of); ; slot++ {
		slot %= l.slots
		there, err = l.get(slot)
		if err != nil || there.Inode == of || there == (linked{}) {
			return slot, there, err
		}
	}
}

func (l *links) add(of inode) error {
	slot, there, err := l.find(of)
	if err != nil || there.Inode == of {
		return err
	}
	l.some = true
	return l.put(slot, linked{Inode: of})
}

// note says that it was us who changed the ctime of a file, whose names or mode we change and not its content: if that has another time, somebody
// else was there too, and nothing is noted.
func (l *links) note(before, after *unix.Stat_t) error {
	was, is := stampOf(before), stampOf(after)
	slot, there, err := l.find(was.Inode)
	if err != nil || there.Inode != was.Inode || before.Mtim != after.Mtim {
		return err
	}
	if there.To != was.Ctime {
		there.From = was.Ctime
	}
	there.To = is.Ctime
	return l.put(slot, there)
}

// explains reports whether we alone have made of a file what it is.
func (l *links) explains(was, is stamp) (bool, error) {
	if !l.some || was.Inode != is.Inode || was.Mtime != is.Mtime {
		return false, nil
	}
	_, there, err := l.find(is.Inode)
	return there == linked{is.Inode, was.Ctime, is.Ctime}, err
}
