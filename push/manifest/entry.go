package manifest

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Limits of an entry.
const (
	MaxPath    = 4095          // bytes of a path, or of the target of a symlink
	MaxPart    = 255           // bytes of a path between two slashes
	MaxExtents = 4096          // of a file: who has more joins those with the smallest gaps
	MaxSize    = math.MaxInt64 // bytes of a file, and of all content
)

// ErrEntry: an entry is not one that a manifest may have.
var ErrEntry = errors.New("bad entry")

// Kind is what an entry is.
type Kind uint8

// The kinds of entries.
const (
	File Kind = iota + 1
	Directory
	Symlink
	Hardlink
)

// String is the kind in words.
func (k Kind) String() string {
	switch k {
	case File:
		return "file"
	case Directory:
		return "directory"
	case Symlink:
		return "symlink"
	case Hardlink:
		return "hard link"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Extent is a part of a file that has data.
type Extent struct{ Offset, Length uint64 }

// Entry is one thing in a tree. Entries come in the order of a walk: a directory, then all that is in it, then what is beside it.
type Entry struct {
	Path     string // relative to the destination, any bytes but NUL; see CheckPath
	Kind     Kind
	Mode     uint32 // at most 07777
	UID, GID uint32
	ModTime  int64    // nanoseconds since 1970
	Size     uint64   // of a file
	Extents  []Extent // of a sparse file: where its data is, ascending and disjoint. nil: all is data; empty: nothing is
	Link     string   // target of a symlink, any bytes but NUL; or path of the earlier File that a hard link names
}

// Content is how many bytes of the content stream are the entry's.
func (e *Entry) Content() uint64 {
	if e.Extents == nil {
		return e.Size
	}
	sum := uint64(0)
	for _, x := range e.Extents {
		sum += x.Length
	}
	return sum
}

// Check reports what is wrong with an entry, seen alone.
func (e *Entry) Check() error {
	if err := CheckPath(e.Path); err != nil {
		return err
	}
	if e.Mode > 0o7777 {
		return e.wrong("mode %o has more bits than 7777", e.Mode)
	}
	switch e.Kind {
	case File:
		return e.checkFile()
	case Directory, Symlink, Hardlink:
		if e.Size != 0 || e.Extents != nil {
			return e.wrong("a %s has no size", e.Kind)
		}
		return e.checkLink()
	}
	return e.wrong("there is no %s", e.Kind)
}

func (e *Entry) wrong(format string, args ...any) error {
	return fmt.Errorf("%w %q: %s", ErrEntry, e.Path, fmt.Sprintf(format, args...))
}

func (e *Entry) checkFile() error {
	if e.Link != "" {
		return e.wrong("a file has no target")
	}
	if e.Size > MaxSize {
		return e.wrong("%d bytes are more than a file can have", e.Size)
	}
	if len(e.Extents) > MaxExtents {
		return e.wrong("%d extents, allowed are %d", len(e.Extents), MaxExtents)
	}
	end := uint64(0)
	for _, x := range e.Extents {
		if x.Offset < end || x.Offset > e.Size || x.Length == 0 || x.Length > e.Size-x.Offset {
			return e.wrong("the extent of %d bytes at %d is empty, not in order, or beyond the end", x.Length, x.Offset)
		}
		end = x.Offset + x.Length
	}
	return nil
}

func (e *Entry) checkLink() error {
	switch e.Kind {
	case Symlink:
		if n := len(e.Link); n == 0 || n > MaxPath || strings.Contains(e.Link, "\x00") {
			return e.wrong("the target of a symlink has 1 to %d bytes, none of them NUL", MaxPath)
		}
	case Hardlink:
		if err := CheckPath(e.Link); err != nil {
			return e.wrong("target of the hard link: %v", err)
		}
		if e.Link == e.Path {
			return e.wrong("a hard link to itself")
		}
	default:
		if e.Link != "" {
			return e.wrong("a %s has no target", e.Kind)
		}
	}
	return nil
}

// CheckPath refuses paths that no entry may have: absolute ones, empty ones, too long ones, those with a NUL, and those with a part that
// is empty, ".", "..", or too long.
func CheckPath(path string) error {
	if len(path) == 0 || len(path) > MaxPath {
		return fmt.Errorf("%w: a path of %d bytes, must have 1 to %d", ErrEntry, len(path), MaxPath)
	}
	if strings.Contains(path, "\x00") {
		return fmt.Errorf("%w: path %q has a NUL", ErrEntry, path)
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || len(part) > MaxPart {
			return fmt.Errorf("%w: path %q has the part %q; allowed are names of up to %d bytes, without . and ..",
				ErrEntry, path, part, MaxPart)
		}
	}
	return nil
}
