package manifest

import (
	"encoding/hex"
	"fmt"

	"github.com/zeebo/blake3"
)

// Hash is a BLAKE3 hash.
type Hash [32]byte

// HashOf is the hash of a block's payload. It allocates nothing.
func HashOf(payload []byte) Hash { return blake3.Sum256(payload) }

// String is the hash in hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes hexadecimal digits.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText reads what MarshalText writes.
func (h *Hash) UnmarshalText(text []byte) error { return fromHex("hash", h[:], text) }

// ID names a push.
type ID [16]byte

// String is the ID in hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText writes hexadecimal digits.
func (id ID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText reads what MarshalText writes.
func (id *ID) UnmarshalText(text []byte) error { return fromHex("ID of a push", id[:], text) }

func fromHex(what string, into, text []byte) error {
	if len(text) != hex.EncodedLen(len(into)) {
		return fmt.Errorf("%s has %d characters, must have %d hexadecimal digits", what, len(text), hex.EncodedLen(len(into)))
	}
	if _, err := hex.Decode(into, text); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Stream is one of the things that a push sends.
type Stream uint8

// The streams of a push.
const (
	ManifestStream Stream = iota + 1 // the entries
	ContentStream                    // the bytes of all files
	ProbeStream                      // nothing: how fast is it?
)

// String is the stream's name.
func (s Stream) String() string {
	switch s {
	case ManifestStream:
		return "manifest"
	case ContentStream:
		return "content"
	case ProbeStream:
		return "probe"
	}
	return fmt.Sprintf("stream %d", uint8(s))
}
