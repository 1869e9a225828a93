// Package manifest says what a push consists of: its entries, how their bytes are cut into blocks, and the signed pages of
// hashes by which every block can be checked. It is pure: bytes come by io.ReaderAt and go by io.Writer, keys come from the caller.
//
// # Streams
//
// Two streams travel: the manifest, which is made by a Writer and read by Open, and the content, which is the bytes of all files one after
// the other, in the manifest's order; of a sparse file only its extents. Index.Pieces says which parts of which files a part of the content
// is. A Layout cuts a stream into blocks, and blocks into pages.
//
// # What is believed
//
// A page has the hashes of up to 16 blocks and is signed with the push's own key, which the pusher's certificate has certified (Certify). On
// the wire each block has its page in front of it, so that it can be checked alone, in any order, by whomever it was passed on:
//
//	hash, err := pages.Take(block, header) // checks the signature, once a page
//	if err == nil {
//		err = manifest.CheckPayload(hash, payload)
//	}
//
// The root (RootHash) is one hash over the manifest's hash, the block size, and the hashes of all blocks. The pusher signs it at the end
// (Closing), and everybody compares it with its own. All signatures are over a word that says what for, a zero byte, the push's ID, and
// what is signed: nothing that is signed can be taken for anything else, or be of use in another push.
//
// What is not believed, Open refuses: paths that lead out of the destination, entries whose directory was not an entry before, numbers
// beyond their limits, and every form but the one that a Writer writes. Two things are left to whoever writes files, who has the names at
// hand: that no path comes twice, and that a hard link names an earlier file.
//
// # Format of the manifest
//
// Numbers in headers are big-endian; uvarint and varint are those of encoding/binary, in their shortest form.
//
//	manifest: "weftman1" chunk... end
//	chunk:    length of the entries uint32, number of entries uint32, entries
//	end:      a chunk of length 0 with 0 entries
//	entry:    first byte: kind (1 file, 2 directory, 3 symlink, 4 hard link) | 0x10 mode and owner as before | 0x20 extents follow
//	          path:       uvarint bytes in common with the path before, uvarint length of the rest, rest
//	          unless 0x10: uvarint mode, uvarint user, uvarint group
//	          varint time of modification, in nanoseconds since 1970
//	          file:       uvarint size; with 0x20: uvarint number of extents; each: uvarint gap after the one before, uvarint length
//	          links:      uvarint length of the target, target
//
// A chunk is full, and ends, with its 256th entry, or with the entry by which it has 32 KiB or more; only the last is not full. The first entry
// of a chunk has nothing in common with the one before, so that a chunk can be read alone. A path has as much in common with the one
// before as it can, and mode and owner are left out whenever they can be: a tree has one manifest, byte for byte, and a
// million files take some 20 MB of manifest and 100 KB of index.
//
// The format of pages is in page.go, next to the code.
package manifest
