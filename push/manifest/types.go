// Package manifest says what a push consists of: its entries, how their bytes are cut into blocks, and the signed pages of
// hashes by which every block can be checked.
package manifest

// Hash is a BLAKE3 hash.
type Hash [32]byte

// ID names a push.
type ID [16]byte

// Stream is one of the things that a push sends.
type Stream uint8

// The streams of a push.
const (
	ManifestStream Stream = iota + 1 // the entries
	ContentStream                    // the bytes of all files
	ProbeStream                      // nothing: how fast is it?
)

// Summary is what is known of a manifest as a whole.
type Summary struct {
	Entries     uint64   `json:"entries"`
	Files       uint64   `json:"files"`
	Directories uint64   `json:"directories"`
	Content     uint64   `json:"content"` // bytes of the content stream
	Size        uint64   `json:"size"`    // bytes of the manifest
	Disk        uint64   `json:"disk"`    // bytes that the files take on a disk
	Hash        Hash     `json:"hash"`
	Tops        []string `json:"tops"` // names at the top, at most 1000
}
