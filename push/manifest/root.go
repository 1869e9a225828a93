package manifest

import (
	"encoding/binary"

	"github.com/zeebo/blake3"
)

const domainRoot = "weft push root 1\x00"

// RootHash makes the root: one hash for all that a push delivers.
type RootHash struct{ hash *blake3.Hasher }

// NewRoot begins a root: it is over the manifest's hash, the block size, and the hashes of all blocks of the content in their order.
func NewRoot(manifest Hash, l Layout) *RootHash {
	r := &RootHash{blake3.New()}
	b := append([]byte(domainRoot), manifest[:]...)
	r.write(binary.BigEndian.AppendUint64(b, uint64(l.Block)))
	return r
}

func (r *RootHash) write(b []byte) { _, _ = r.hash.Write(b) } // never fails

// Add adds the hash of the next block.
func (r *RootHash) Add(h Hash) { r.write(h[:]) }

// Sum is the root.
func (r *RootHash) Sum() (h Hash) {
	r.hash.Sum(h[:0])
	return h
}
