package source

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// readahead is how much the system is asked to read of a large file ahead of us, each time that we are half through it.
const readahead = 8 << 20

// Read fills into with a block's payload: exactly l.Len(block) bytes.
func (s *Source) Read(l manifest.Layout, block int, into []byte) error {
	if block < 0 || block >= l.Blocks() || len(into) != l.Len(block) {
		return fmt.Errorf("block %d of %d cannot be read into %d bytes", block, l.Blocks(), len(into))
	}
	at := l.Offset(block)
	switch l.Stream {
	case manifest.ManifestStream:
		return s.readManifest(into, int64(at))
	case manifest.ContentStream:
		return s.readContent(at, into)
	}
	clear(into) // a probe says nothing
	return nil
}

func (s *Source) readManifest(into []byte, at int64) error {
	if _, err := s.spool.ReadAt(into, at); err != nil && !(errors.Is(err, io.EOF) && len(into) == 0) {
		return fmt.Errorf("spool file of the manifest: %w", err)
	}
	return nil
}

// readContent reads a part of the content, which may be of many files.
func (s *Source) readContent(at uint64, into []byte) error {
	if len(into) == 0 {
		return nil
	}
	filled := uint64(0)
	err := s.index.Pieces(at, uint64(len(into)), func(p manifest.Piece) error {
		filled += p.Length
		return s.readPiece(&p, into[p.Start-at:][:p.Length])
	})
	if err == nil && filled != uint64(len(into)) {
		err = fmt.Errorf("the content has %d bytes at %d, not %d: the layout is not this manifest's", filled, at, len(into))
	}
	return err
}

func (s *Source) readPiece(p *manifest.Piece, into []byte) error {
	f, err := s.take(p.Number, p.Entry)
	if err != nil {
		return err
	}
	defer s.files.release(f)
	f.advise(p)
	return f.steady(p.Entry, func() error { return f.read(into, p.At) })
}

// advise has the system read on behind a piece, if the file goes on. It may refuse: then reading is slower.
func (f *file) advise(p *manifest.Piece) {
	const step = readahead / 2
	next := p.At + p.Length
	if next < p.Entry.Size && (p.At == 0 || p.At/step != next/step) {
		_ = unix.Fadvise(f.fd, int64(next), readahead, unix.FADV_WILLNEED)
	}
}

func (f *file) read(into []byte, at uint64) error {
	for len(into) > 0 {
		n, err := again(func() (int, error) { return unix.Pread(f.fd, into, int64(at)) })
		if err != nil {
			return found(f.path, err)
		}
		if n == 0 {
			return &Error{Path: f.path, Reason: ErrChanged, Detail: fmt.Sprintf("it ends at byte %d already", at)}
		}
		into = into[n:]
		at += uint64(n)
	}
	return nil
}
