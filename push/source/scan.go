package source

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/weft-fabric/weft/push/manifest"
)

// Scan walks the source and writes its manifest. The caller closes the Source.
func Scan(ctx context.Context, c Config) (*Source, error) {
	roots, err := openRoots(c.Paths)
	if err != nil {
		return nil, err
	}
	s := &Source{roots: roots}
	if err := s.scan(ctx, c); err != nil {
		return nil, closing(err, s)
	}
	return s, nil
}

// closing closes what could not be opened wholly. The first error is the one to tell.
func closing(err error, s *Source) error {
	_ = s.Close()
	return err
}

func (s *Source) scan(ctx context.Context, c Config) (err error) {
	for _, file := range []**os.File{&s.spool, &s.seen} {
		if *file, err = openSpool(c.Spool); err != nil {
			return err
		}
	}
	out := bufio.NewWriterSize(s.spool, 256<<10)
	w := &walker{
		ctx: ctx, source: s, progress: c.Progress, out: manifest.NewWriter(out), seen: newSightings(s.seen),
		began: time.Now().UnixNano(), told: time.Now(), links: newLinks(maxLinkMemory), room: maxNames,
	}
	if err := w.walkAll(); err != nil {
		return err
	}
	if _, err = w.out.Close(); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the manifest to a spool file: %w", err)
	}
	return s.open(w)
}

// open reads the manifest back, which checks it too.
func (s *Source) open(w *walker) (err error) {
	if s.state, err = w.seen.close(); err != nil {
		return fmt.Errorf("write a spool file: %w", err)
	}
	s.settled = w.youngest < w.began-coarsestClock
	size, err := s.spool.Seek(0, 1)
	if err != nil {
		return fmt.Errorf("spool file of the manifest: %w", err)
	}
	if s.index, s.summary, err = manifest.Open(s.spool, size); err != nil {
		return fmt.Errorf("the manifest that was just written is not right: %w", err)
	}
	return nil
}

// openSpool makes a file without a name.
func openSpool(directory string) (*os.File, error) {
	file, err := os.CreateTemp(directory, "weft-spool-")
	if err != nil {
		return nil, fmt.Errorf("make a spool file (TMPDIR says where): %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("remove the name of a spool file: %w", err)
	}
	return file, nil
}
