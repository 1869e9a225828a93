package source

import "github.com/weft-fabric/weft/push/manifest"

// table is what is known of the hashes of a stream's blocks.
type table struct {
	hashes []manifest.Hash
	bits   []byte // of block i: bit i%8 of byte i/8 says that its hash is known
	count  int    // that are known
}

func newTable(blocks int) *table {
	return &table{hashes: make([]manifest.Hash, blocks), bits: make([]byte, (blocks+7)/8)}
}

func (t *table) known(block int) bool { return t.bits[block/8]>>(block%8)&1 != 0 }

// learn keeps a block's hash, and reports whether it is the one that was known, if one was.
func (t *table) learn(block int, hash manifest.Hash) bool {
	if t.known(block) {
		return t.hashes[block] == hash
	}
	t.hashes[block] = hash
	t.bits[block/8] |= 1 << (block % 8)
	t.count++
	return true
}

// knows reports whether all hashes of blocks that follow each other are known.
func (t *table) knows(first, end int) bool {
	for block := first; block < end; block++ {
		if !t.known(block) {
			return false
		}
	}
	return true
}
