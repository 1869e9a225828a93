package target

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"
	"strings"

	"github.com/weft-fabric/weft/push/manifest"
)

// firsts are the files that the manifest has named so far: only of these are there to be other names, or a push could give names in DEST to
// whatever lies below it. They are known by the hashes of their paths, which nobody can foresee; a table in a file without a name.
type firsts struct {
	records[uint64]
	seed  maphash.Seed
	slots uint64 // a power of two, so many that half of them stay empty
}

func (r *Root) newFirsts(entries uint64) (*firsts, error) {
	file, err := r.scratch()
	if err != nil {
		return nil, err
	}
	return &firsts{records[uint64]{file}, maphash.MakeSeed(), 1 << bits.Len64(2*entries)}, nil
}

// find is the hash of a path, and where it is in the table, or the empty slot where it would be.
func (f *firsts) find(path string) (hash, slot uint64, known bool, err error) {
	hash = max(maphash.String(f.seed, path), 1) // 0 is an empty slot
	for slot = hash; ; slot++ {
		slot %= f.slots
		there, err := f.get(slot)
		if err != nil || there == hash || there == 0 {
			return hash, slot, there == hash, err
		}
	}
}

func (f *firsts) add(path string) error {
	hash, slot, known, err := f.find(path)
	if err != nil || known {
		return err
	}
	return f.put(slot, hash)
}

var errFound = errors.New("found")

// check refuses entries that would touch what is not the push's: no pusher of ours has such.
func (s *survey) check(number uint64, e *manifest.Entry) error {
	if s.isOwnFolder(e.Path) || e.Kind == manifest.Hardlink && s.isOwnFolder(e.Link) {
		return fmt.Errorf("%q is in the agent's own folder: %w", cmp.Or(e.Link, e.Path), ErrOutside)
	}
	switch {
	case e.Kind == manifest.Hardlink:
		return s.checkLink(number, e)
	case e.Kind == manifest.File && s.firsts != nil:
		return s.firsts.add(e.Path)
	}
	return nil
}

func (s *survey) isOwnFolder(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return first == weftFolder && s.place.path == s.root.dir
}

// checkLink refuses a hard link of anything but an earlier file. Most manifests have no hard links: files are remembered from the first on.
func (s *survey) checkLink(number uint64, e *manifest.Entry) error {
	if s.firsts == nil {
		if err := s.rememberFirsts(number); err != nil {
			return err
		}
	}
	_, _, known, err := s.firsts.find(e.Link)
	if err == nil && !known {
		err = fmt.Errorf("%w %q: it is to be another name of %q, which is no file that came before it", manifest.ErrEntry, e.Path, e.Link)
	}
	return err
}

// rememberFirsts goes through the entries before a number once more.
func (s *survey) rememberFirsts(before uint64) (err error) {
	if s.firsts, err = s.root.newFirsts(s.order.Manifest.Entries); err != nil {
		return err
	}
	err = s.index.Entries(func(number, _ uint64, e *manifest.Entry) error {
		switch {
		case number == before:
			return errFound
		case e.Kind == manifest.File:
			return errors.Join(s.firsts.add(e.Path), s.step())
		}
		return nil
	})
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}

// end closes what a survey has opened.
func (s *survey) end() {
	s.folders.close()
	if s.firsts != nil {
		drop(s.firsts.file)
	}
}
