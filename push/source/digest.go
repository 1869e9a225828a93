package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"sync"

	"github.com/weft-fabric/weft/push/manifest"
)

// digest is the SHA-256 of a single file. It follows the blocks that are read in order; the rest it reads itself.
type digest struct {
	mutex sync.Mutex
	sum   hash.Hash // nil: nobody wants it
	want  [32]byte
	alive func() error // see Expect
	next  int          // block that comes next
	at    uint64       // bytes of the file that are in the sum, holes too
}

// Expect says which SHA-256 the source should have, which must be a single file. Expected tells whether it has. A hole is hashed as zeros, which may take
// long: alive is called now and then meanwhile, and its error ends it.
func (h *Hasher) Expect(want [32]byte, alive func() error) error {
	if !h.source.Single() || h.layout.Stream != manifest.ContentStream {
		return errors.New("the SHA-256 of a single file can be expected, not that of a tree or of several files")
	}
	d := &h.digest
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.want, d.alive = want, alive
	if d.sum == nil {
		d.sum = sha256.New()
	}
	return nil
}

// Expected returns the SHA-256 of the file, and ErrUnexpected if it is not that of Expect. What was not read in order before is read
// once more, of which progress is told in bytes.
func (h *Hasher) Expected(ctx context.Context, progress func(done, total uint64)) (sum [32]byte, err error) {
	d := &h.digest
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.sum == nil {
		return sum, errors.New("no SHA-256 is expected")
	}
	if err := h.finishDigest(ctx, progress); err != nil {
		return sum, err
	}
	copy(sum[:], d.sum.Sum(nil))
	if sum != d.want {
		path := h.source.roots[0].path(h.source.summary.Tops[0])
		return sum, &Error{Path: path, Reason: ErrUnexpected, Detail: "it is " + hex.EncodeToString(sum[:])}
	}
	return sum, nil
}

// follow adds blocks to the digest, if they come next.
func (h *Hasher) follow(first int, payloads [][]byte) error {
	d := &h.digest
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for i, payload := range payloads {
		if d.sum == nil || first+i != d.next {
			continue
		}
		if err := h.digestBlock(payload); err != nil {
			return err
		}
	}
	return nil
}

// finishDigest reads the blocks that are missing, and adds the hole at the end.
func (h *Hasher) finishDigest(ctx context.Context, progress func(done, total uint64)) error {
	d := &h.digest
	memory := make([]byte, min(uint64(h.layout.Block), h.layout.Size))
	for d.next < h.layout.Blocks() {
		if err := ctx.Err(); err != nil {
			return err
		}
		payload := memory[:h.layout.Len(d.next)]
		if err := h.hash(d.next, payload); err != nil {
			return err
		}
		if err := h.digestBlock(payload); err != nil {
			return err
		}
		if progress != nil {
			progress(h.layout.Offset(d.next-1)+uint64(len(payload)), h.layout.Size)
		}
	}
	return h.source.index.Entries(func(_, _ uint64, e *manifest.Entry) error { return d.zeros(e.Size) })
}

// digestBlock adds the next block, and the holes before and in it.
func (h *Hasher) digestBlock(payload []byte) error {
	d := &h.digest
	start := h.layout.Offset(d.next)
	d.next++
	if len(payload) == 0 {
		return nil
	}
	err := h.source.index.Pieces(start, uint64(len(payload)), func(p manifest.Piece) error {
		if err := d.zeros(p.At); err != nil {
			return err
		}
		d.sum.Write(payload[p.Start-start:][:p.Length])
		d.at += p.Length
		return nil
	})
	if err != nil {
		return fmt.Errorf("block %d: %w", d.next-1, err)
	}
	return nil
}

var zeros [64 << 10]byte

// zeros adds a hole that goes up to, not including, a byte of the file.
func (d *digest) zeros(end uint64) error {
	for d.at < end {
		n := min(end-d.at, uint64(len(zeros)))
		d.sum.Write(zeros[:n])
		if d.at += n; d.at%zerosAtOnce < n {
			if err := d.alive(); err != nil {
				return err
			}
		}
	}
	return nil
}

// zerosAtOnce is how much of a hole is hashed before somebody hears of it.
const zerosAtOnce = 16 << 20
