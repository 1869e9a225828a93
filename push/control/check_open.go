package control

import (
	"crypto/ed25519"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weft-fabric/weft/push/manifest"
)

// Limits of what opens a push.
const (
	maxChain       = 8        // certificates
	maxCertificate = 16 << 10 // bytes
	maxSigned      = 1 << 10  // bytes of a signature
	maxLease       = time.Hour
)

// Validate refuses what no push can be. Signatures and certificates are another question, and so is whether the destination is allowed.
func (q *Open) Validate() error {
	notices(&q.Owner)
	return first(checkID(q.ID), CheckDest(q.Dest), q.checkManifest(), q.checkKey())
}

// CheckDest refuses destinations that cannot be meant. A pusher must not send one that is not UTF-8: JSON would change it.
func CheckDest(dest string) error {
	if dest == "" || len(dest) > manifest.MaxPath || strings.Contains(dest, "\x00") || !utf8.ValidString(dest) {
		return malformed("the destination %.80q must have 1 to %d bytes of UTF-8, without NUL", dest, manifest.MaxPath)
	}
	for part := range strings.SplitSeq(dest, "/") {
		if part == ".." || len(part) > manifest.MaxPart {
			return malformed("the destination %.80q must have no part that is .. or longer than %d bytes", dest, manifest.MaxPart)
		}
	}
	return nil
}

func (q *Open) checkManifest() error {
	m := &q.Manifest
	if err := m.Check(); err != nil {
		return malformed("%v", err)
	}
	if m.Size > MaxManifest {
		return malformed("a manifest of %d bytes, allowed are %d", m.Size, uint64(MaxManifest))
	}
	if q.Single && (m.Entries != 1 || m.Files != 1) {
		return malformed("a single file has one entry, not %d", m.Entries)
	}
	return first(checkBlock(q.Block), checkBlocks(manifest.ManifestStream, m.Size, q.Block), checkBlocks(manifest.ContentStream, m.Content, q.Block))
}

func checkBlock(block int) error {
	if block < MinBlock || block > MaxBlock || block%BlockUnit != 0 {
		return malformed("block size %d must be a multiple of %d, from %d to %d", block, BlockUnit, MinBlock, MaxBlock)
	}
	return nil
}

// checkBlocks is called with a block size that was checked, or its result is not looked at.
func checkBlocks(stream manifest.Stream, size uint64, block int) error {
	if block <= 0 || size > uint64(MaxBlocks)*uint64(block) {
		return malformed("the %v has %d bytes, which are more than %d blocks of %d: take larger blocks", stream, size, MaxBlocks, block)
	}
	return nil
}

func (q *Open) checkKey() error {
	if len(q.Key) != ed25519.PublicKeySize {
		return malformed("the key of the push has %d bytes, not %d", len(q.Key), ed25519.PublicKeySize)
	}
	if err := first(checkRange("certificates", len(q.Chain), 1, maxChain), checkRange("bytes of the signature", len(q.Signed), 1, maxSigned)); err != nil {
		return err
	}
	for _, c := range q.Chain {
		if err := checkRange("bytes of a certificate", len(c), 1, maxCertificate); err != nil {
			return err
		}
	}
	return nil
}

// Validate refuses a lease that is none.
func (a *Opened) Validate() error { return checkSpan("lease", a.Lease, maxLease) }
