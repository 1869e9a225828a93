package push

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/source"
)

// object is the source as blocks: what the root of a group has. It is a member.Blocks.
type object struct {
	hashers map[manifest.Stream]*source.Hasher
	cache   *source.Cache // nil: none
	failed  func(error)   // hears once that the source cannot be read, or has changed

	reads atomic.Int64 // that are under way
	read  atomic.Int64 // when one has begun or ended last, in nanoseconds
}

// newObject makes the blocks of both streams, with what a cache knows of their hashes.
func (p *pusher) newObject(ctx context.Context, fail func(error)) (*object, error) {
	signer := manifest.NewSigner(p.id, p.key)
	o := &object{hashers: make(map[manifest.Stream]*source.Hasher), failed: fail}
	o.read.Store(time.Now().UnixNano())
	for _, l := range []manifest.Layout{p.manifest, p.content} {
		o.hashers[l.Stream] = source.NewHasher(p.source, signer, l)
	}
	alive := func() error {
		p.holes.Add(1)
		return context.Cause(ctx)
	}
	if err := o.expect(p.Expect, alive); err != nil {
		return nil, err
	}
	if o.cache = p.cache; o.cache != nil && !p.Checksum {
		o.content().Recall(o.cache)
	}
	return o, nil
}

// openCache opens that of the hashes of earlier pushes, if there is to be one.
func (p *pusher) openCache() {
	if p.CacheDir == "" {
		return
	}
	var err error
	if p.cache, err = source.OpenCache(p.CacheDir); err != nil {
		p.Log.Warn("hashes are not remembered", "error", err)
	}
}

// blockBefore is the size of the blocks in which the source was pushed before; 0: it is not known.
func (p *pusher) blockBefore() int {
	if p.cache == nil {
		return 0
	}
	return p.cache.Block(p.source)
}

func (o *object) content() *source.Hasher { return o.hashers[manifest.ContentStream] }

// expect says which hash was asked for, if any.
func (o *object) expect(text string, alive func() error) error {
	if text == "" {
		return nil
	}
	sum, err := hex.DecodeString(strings.TrimPrefix(text, expectPrefix))
	if err != nil || len(sum) != 32 {
		return fmt.Errorf("%w: %q is no SHA-256", ErrUsage, text)
	}
	if err := o.content().Expect([32]byte(sum), alive); err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	return nil
}

// close saves what is known of hashes.
func (o *object) close() error {
	if o.cache == nil {
		return nil
	}
	return o.content().Save(o.cache)
}

var errRoot = errors.New("the root of a group receives nothing")

// Check is for those who receive.
func (o *object) Check(manifest.Layout, int, []byte) error { return errRoot }

// Keep is for those who receive.
func (o *object) Keep(manifest.Layout, int, []byte) error { return errRoot }

// Fetch reads a block, for a repair.
func (o *object) Fetch(l manifest.Layout, block int, into []byte) error {
	defer o.reading()()
	return o.tell(o.hashers[l.Stream].Fetch(block, into))
}

// reading notes that something is read until it is told otherwise.
func (o *object) reading() (ended func()) {
	note := func(n int64) { o.reads.Add(n); o.read.Store(time.Now().UnixNano()) }
	note(1)
	return func() { note(-1) }
}

// sinceRead is for how long the source has given nothing that it was asked for.
func (o *object) sinceRead() time.Duration {
	if o.reads.Load() == 0 {
		return 0
	}
	return time.Duration(time.Now().UnixNano() - o.read.Load())
}

// FillPage reads the blocks of a page.
func (o *object) FillPage(l manifest.Layout, page int, into [][]byte) error {
	defer o.reading()()
	_, err := o.hashers[l.Stream].Fill(page, into)
	return o.tell(err)
}

// tell ends the push if something is wrong with the source: a group that ended would say less.
func (o *object) tell(err error) error {
	if err != nil {
		o.failed(ofSource(err))
	}
	return err
}

// asExpected compares the hash of the whole file with the one that was asked for.
func (p *pusher) asExpected(ctx context.Context) error {
	if p.Expect == "" {
		return nil
	}
	sum, err := p.object.content().Expected(ctx, p.hashed)
	p.sha256 = hex.EncodeToString(sum[:])
	switch {
	case errors.Is(err, source.ErrUnexpected):
		return &control.Trouble{Class: control.Integrity, Text: err.Error()}
	case err != nil && ctx.Err() == nil:
		return ofSource(err)
	}
	return orCauseOf(ctx, err)
}

// hashed hears how much of the source was read, only to be hashed.
func (p *pusher) hashed(done, total uint64) {
	if p.stage.Load() != "hash" {
		p.phase("hash")
	}
	p.work.Store(done)
	p.total.Store(total)
}
