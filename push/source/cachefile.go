package source

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"math/bits"
)

// A file of the cache is: the magic, the source, the size of a block and the number of blocks (8 bytes each), a bit for every block, the known hashes in order, and the SHA-256 of
// all that.
const cacheMagic = "weft hashes 2\n"

var errDamaged = errors.New("a file in the cache of hashes is damaged, or not what it is named for")

func writeTable(w io.Writer, k key, t *table) error {
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(w, sum), 64<<10)
	out.Write(k.head(len(t.hashes))) //nolint:errcheck // Flush returns it
	out.Write(t.bits)                //nolint:errcheck // as above
	for block := range t.hashes {
		if t.known(block) {
			out.Write(t.hashes[block][:]) //nolint:errcheck // as above
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := w.Write(sum.Sum(nil))
	return err
}

// head is how the file of a source in so many blocks begins.
func (k key) head(blocks int) []byte {
	return binary.LittleEndian.AppendUint64(k.start(), uint64(blocks))
}

// start is the part of it that says for what the file is.
func (k key) start() []byte {
	start := append([]byte(cacheMagic), k.source[:]...)
	return binary.LittleEndian.AppendUint64(start, uint64(k.block))
}

// readTable reads what writeTable has written for the same key and number of blocks. Memory is taken for so many blocks, whatever
// the file says.
func readTable(r io.Reader, k key, blocks int) (*table, error) {
	in := &summing{bufio.NewReaderSize(r, 64<<10), sha256.New()}
	want := k.head(blocks)
	head := make([]byte, len(want))
	if !in.read(head) || !bytes.Equal(head, want) {
		return nil, errDamaged
	}
	t := newTable(blocks)
	if !in.read(t.bits) || !t.readHashes(in) {
		return nil, errDamaged
	}
	var sum [sha256.Size]byte
	computed := [sha256.Size]byte(in.sum.Sum(nil))
	if !in.read(sum[:]) || sum != computed {
		return nil, errDamaged
	}
	if _, err := in.from.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, errDamaged
	}
	return t, nil
}

// readHashes reads the hashes of which the bits are set. No bit behind the last block may be.
func (t *table) readHashes(in *summing) bool {
	for block := range t.hashes {
		if t.known(block) {
			if !in.read(t.hashes[block][:]) {
				return false
			}
			t.count++
		}
	}
	set := 0
	for _, b := range t.bits {
		set += bits.OnesCount8(b)
	}
	return set == t.count
}

// summing reads, and hashes what was read.
type summing struct {
	from *bufio.Reader
	sum  hash.Hash
}

func (s *summing) read(into []byte) bool {
	_, err := io.ReadFull(s.from, into)
	s.sum.Write(into)
	return err == nil
}
