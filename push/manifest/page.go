package manifest

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/internal/cursor"
)

// A sealed page, all numbers big-endian:
//
//	word        4   "wpg1"
//	stream      1
//	count       1   blocks that the page has
//	zero        2
//	page        4
//	block size  4
//	size        8   of the stream
//	hashes     32   each: as many as a page of the layout has; zeros where there is no block
//	signature  64   over domainPage, the push's ID, and all that stands before
const (
	wordPage    = "wpg1"
	wordClosing = "wcl1"

	domainPage    = "weft push page 1\x00"
	domainClosing = "weft push closing 1\x00"
)

var (
	// ErrPage: it is not the page that it should be, of this push.
	ErrPage = errors.New("bad page of hashes")
	// ErrClosing: it is not the closing record of this push.
	ErrClosing = errors.New("bad closing record")
	// ErrBlock: a payload does not fit its hash.
	ErrBlock = errors.New("the block does not fit its hash")
)

// CheckPayload compares a block's payload with its hash. The error is ErrBlock.
func CheckPayload(want Hash, payload []byte) error {
	if HashOf(payload) != want {
		return ErrBlock
	}
	return nil
}

// Signer seals pages with the key of a push. Safe for concurrent use.
type Signer struct {
	id  ID
	key ed25519.PrivateKey
}

// NewSigner makes a signer for a push.
func NewSigner(id ID, key ed25519.PrivateKey) *Signer { return &Signer{id, key} }

// Seal makes the header of all blocks of a page, of which these are the hashes. The same page has the same bytes, always.
func (s *Signer) Seal(l Layout, page int, hashes []Hash) []byte {
	first, end := l.PageRange(page)
	if page < 0 || first >= end || len(hashes) != end-first {
		panic(fmt.Sprintf("manifest: %d hashes for page %d of %+v", len(hashes), page, l))
	}
	b := appendPrefix(make([]byte, 0, l.Header()), l, page)
	for _, h := range hashes {
		b = append(b, h[:]...)
	}
	b = append(b, make([]byte, hashBytes*(l.PageBlocks-len(hashes)))...)
	return s.seal(domainPage, b)
}

// appendPrefix appends what stands before the hashes.
func appendPrefix(to []byte, l Layout, page int) []byte {
	first, end := l.PageRange(page)
	to = append(to, wordPage...)
	to = append(to, byte(l.Stream), byte(end-first), 0, 0)
	to = binary.BigEndian.AppendUint32(to, uint32(page))
	to = binary.BigEndian.AppendUint32(to, uint32(l.Block))
	return binary.BigEndian.AppendUint64(to, l.Size)
}

// seal appends the signature.
func (s *Signer) seal(domain string, b []byte) []byte {
	return append(b, ed25519.Sign(s.key, signedText(domain, s.id, b))...)
}

// signedText is what a signature is over.
func signedText(domain string, id ID, text []byte) []byte {
	b := make([]byte, 0, len(domain)+len(id)+len(text))
	return append(append(append(b, domain...), id[:]...), text...)
}

// Verifier checks what a Signer has sealed. Safe for concurrent use.
type Verifier struct {
	id  ID
	key ed25519.PublicKey
}

// NewVerifier makes a verifier for a push. It panics if the key has not the length of one.
func NewVerifier(id ID, key ed25519.PublicKey) *Verifier {
	if len(key) != ed25519.PublicKeySize {
		panic(fmt.Sprintf("manifest: a key of %d bytes", len(key)))
	}
	return &Verifier{id, key}
}

// open checks the signature, and returns what stands before it.
func (v *Verifier) open(domain string, sealed []byte) (text []byte, ok bool) {
	if len(sealed) < sealBytes {
		return nil, false
	}
	cut := len(sealed) - sealBytes
	text = sealed[:cut]
	return text, ed25519.Verify(v.key, signedText(domain, v.id, text), sealed[cut:])
}

// OpenPage checks a header that came with a block, and returns the hashes of the page's blocks.
func (v *Verifier) OpenPage(l Layout, block int, header []byte) ([]Hash, error) {
	if !l.has(block) {
		return nil, fmt.Errorf("%w: there is no block %d", ErrPage, block)
	}
	page := l.Page(block)
	first, end := l.PageRange(page)
	if len(header) != l.Header() || string(header[:pagePrefix]) != string(appendPrefix(nil, l, page)) {
		return nil, fmt.Errorf("%w: it is not page %d of the %s", ErrPage, page, l.Stream)
	}
	text, ok := v.open(domainPage, header)
	if !ok {
		return nil, fmt.Errorf("%w: the signature of page %d is not that of this push", ErrPage, page)
	}
	hashes := make([]Hash, end-first)
	for i := range hashes {
		hashes[i] = hashIn(text, i)
	}
	return hashes, nil
}

// hashIn is the hash of a page's block.
func hashIn(header []byte, index int) Hash {
	return Hash(header[pagePrefix+index*hashBytes:][:hashBytes])
}

// MaxClosing is how many bytes a closing record has at most.
const MaxClosing = 256

// Closing is what a pusher says at the end: what all must have by now.
type Closing struct {
	Manifest, Root Hash
	Content        uint64 // bytes
	Files          uint64
}

// SealClosing signs the closing record.
func (s *Signer) SealClosing(c Closing) []byte {
	b := append([]byte(wordClosing), c.Manifest[:]...)
	b = binary.BigEndian.AppendUint64(append(b, c.Root[:]...), c.Content)
	return s.seal(domainClosing, binary.BigEndian.AppendUint64(b, c.Files))
}

// OpenClosing checks a closing record.
func (v *Verifier) OpenClosing(sealed []byte) (Closing, error) {
	text, ok := v.open(domainClosing, sealed)
	if !ok {
		return Closing{}, fmt.Errorf("%w: its signature is not that of this push", ErrClosing)
	}
	var closing Closing
	c := cursor.New(text)
	if word := c.Take("word", len(wordClosing)); string(word) != wordClosing {
		c.Fail("it begins with %q", word)
	}
	copy(closing.Manifest[:], c.Take("hash of the manifest", hashBytes))
	copy(closing.Root[:], c.Take("root", hashBytes))
	closing.Content, closing.Files = c.Uint64("content"), c.Uint64("files")
	if err := c.End(); err != nil {
		return Closing{}, fmt.Errorf("%w: %w", ErrClosing, err)
	}
	return closing, nil
}
