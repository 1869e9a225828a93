package agent

import (
	"fmt"
	"sync"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// store is the blocks of a push at this host: member.Blocks. Its methods may be called from any goroutine.
type store struct {
	delivery          delivery
	manifest, content *ledger
	counts            *metrics
	fail              func(error) // tells that the disk has failed
	tasks             tasks

	mu      sync.Mutex
	held    schedule.Set // blocks of the content that are verified and written
	isWhole bool         // the manifest is complete: what comes of it again is what is there
	counted counted
}

// counted is what has come.
type counted struct {
	received uint64 // bytes of blocks
	have     int    // blocks of the content that are held
	disk     control.Disk
}

func newStore(d delivery, v *manifest.Verifier, counts *metrics, fail func(error)) *store {
	return &store{delivery: d, counts: counts, fail: fail, held: schedule.NewSet(d.Content().Blocks()),
		manifest: &ledger{pages: manifest.NewPages(d.Manifest(), v)}, content: &ledger{pages: manifest.NewPages(d.Content(), v)}}
}

// ledger is the pages of a stream, for many.
type ledger struct {
	mu    sync.Mutex
	pages *manifest.Pages
}

func (g *ledger) take(block int, header []byte) (manifest.Hash, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pages.Take(block, header)
}

// look is what a page says of a block, if it is known.
func (g *ledger) look(block int) (header []byte, hash manifest.Hash, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	header, known = g.pages.Header(block)
	hash, _ = g.pages.Hash(block)
	return header, hash, known
}

// forget drops all pages: they take memory, and nothing comes any more that could be compared with them.
func (g *ledger) forget(v *manifest.Verifier) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pages = manifest.NewPages(g.pages.Layout(), v)
}

// ledgerOf is the ledger of a layout's stream.
func (s *store) ledgerOf(l manifest.Layout) (*ledger, error) {
	switch l.Stream {
	case manifest.ManifestStream:
		return s.manifest, nil
	case manifest.ContentStream:
		return s.content, nil
	}
	return nil, fmt.Errorf("blocks of stream %v are not kept here", l.Stream)
}

// Check verifies a block that has come: its page by the key of the push, its payload by the page.
func (s *store) Check(l manifest.Layout, block int, wire []byte) error {
	g, err := s.ledgerOf(l)
	if err != nil {
		return err
	}
	s.received(len(wire))
	if len(wire) != l.Header()+l.Len(block) {
		return corrupt("block %d of the %v has %d bytes", block, l.Stream, len(wire))
	}
	want, err := g.take(block, wire[:l.Header()])
	if err != nil {
		return err
	}
	if manifest.HashOf(wire[l.Header():]) != want {
		return fmt.Errorf("block %d of the %v: %w", block, l.Stream, manifest.ErrBlock)
	}
	return nil
}

func (s *store) received(bytes int) {
	s.counts.received.Add(float64(bytes))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counted.received += uint64(bytes)
}

// Keep writes a block that was checked.
func (s *store) Keep(l manifest.Layout, block int, wire []byte) error {
	payload := wire[l.Header():]
	if l.Stream == manifest.ManifestStream {
		return s.keepManifest(block, payload)
	}
	began := time.Now()
	err := s.delivery.Write(block, payload)
	took := time.Since(began)
	if err != nil {
		s.fail(err)
		return err
	}
	s.counts.written.Add(float64(len(payload)))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold(block)
	s.counted.disk.Bytes += uint64(len(payload))
	s.counted.disk.Busy += int64(took)
	return nil
}

func (s *store) keepManifest(block int, payload []byte) error {
	s.mu.Lock()
	isWhole := s.isWhole
	s.mu.Unlock()
	if isWhole {
		return nil
	}
	err := s.delivery.WriteManifest(block, payload)
	if err != nil {
		s.fail(err)
	}
	return err
}

// hold notes that a block is here. The lock is held.
func (s *store) hold(block int) {
	if !s.held.Has(block) {
		s.held.Add(block)
		s.counted.have++
	}
}

// Fetch reads a block that is here, so that it can be sent. What the disk gives back is not believed.
func (s *store) Fetch(l manifest.Layout, block int, into []byte) error {
	err := s.fetch(l, block, into)
	if err != nil {
		s.fail(err)
	}
	return err
}

func (s *store) fetch(l manifest.Layout, block int, into []byte) error {
	g, err := s.ledgerOf(l)
	if err != nil {
		return err
	}
	header, want, known := g.look(block)
	if !known || len(into) != l.Header()+l.Len(block) {
		return fmt.Errorf("block %d of the %v is not here", block, l.Stream)
	}
	payload := into[copy(into, header):]
	read := s.delivery.Read
	if l.Stream == manifest.ManifestStream {
		read = s.delivery.ReadManifest
	}
	if err := read(block, payload); err != nil {
		return err
	}
	if manifest.HashOf(payload) != want {
		return corrupt("block %d of the %v was written here, and what is read is something else: look after the disk", block, l.Stream)
	}
	return nil
}

// FillPage is for the root of a group.
func (s *store) FillPage(manifest.Layout, int, [][]byte) error {
	return fmt.Errorf("an agent is no root")
}

// takePage compares a page of the content with what was found on the disk.
func (s *store) takePage(page int, header []byte) error {
	first, end := s.delivery.Content().PageRange(page)
	for block := first; block < end; block++ {
		want, err := s.content.take(block, header)
		if err != nil {
			return err
		}
		if s.matches(block, want) {
			s.mu.Lock()
			s.hold(block)
			s.mu.Unlock()
		}
	}
	return nil
}

// matches compares a block on the disk with its hash, for which it may be read.
func (s *store) matches(block int, want manifest.Hash) bool {
	defer s.tasks.begin().end()
	return s.delivery.Match(block, want)
}

// forget gives back the memory that hashes take, when the push is over.
func (s *store) forget(v *manifest.Verifier) {
	s.manifest.forget(v)
	s.content.forget(v)
}

// seal notes that the manifest is whole, and reports whether that is news.
func (s *store) seal() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.isWhole
	s.isWhole = true
	return !was
}

// has is which blocks of the content are here.
func (s *store) has() schedule.Set {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held.Clone()
}

// isComplete reports whether all are.
func (s *store) isComplete() bool { return s.count().have == s.delivery.Content().Blocks() }

func (s *store) count() counted {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counted
}
