// Package source is what a push sends: files and trees of the pusher's disk. Scan walks them and writes the manifest; Read gives
// blocks of either stream; a Hasher reads every block once, hashes it ahead of its sending, and seals the pages of hashes.
//
// Nothing is held in memory for each file: the manifest, and what was seen of every file, lie in spool files that have no name. So a
// million files take as little as one.
//
// What Scan has seen of a file (device, inode, size, times of modification and change) is compared before and after every read, so
// that a file that somebody writes to meanwhile is an error, and not a mixture of two states at all hosts.
package source

import (
	"errors"
	"io"
	"os"

	"github.com/weft-fabric/weft/push/manifest"
)

// Config says what to scan.
type Config struct {
	// Paths are files and directories. A directory arrives under its own name; one with a slash (or "/.") behind it stands for
	// what is in it. A symbolic link that is named here is followed; one that is found in a directory is sent as a link.
	Paths []string
	Spool string // directory for spool files; empty: that of the system
	// Progress is told now and then how far the scan is: entries, and bytes of content. May be nil.
	Progress func(entries, bytes uint64)
}

// MaxSkipped is how many of the skipped a Source names.
const MaxSkipped = 100

// Skipped is what a push cannot send: sockets, devices, pipes.
type Skipped struct {
	Count uint64
	Names []string // the first MaxSkipped, with what they are
}

// Source is a scanned source. Its methods may be called by several goroutines at a time, Close when the others have returned.
type Source struct {
	roots   []*root
	spool   *os.File // the manifest
	seen    *os.File // what was seen of every entry, by number
	index   *manifest.Index
	summary manifest.Summary
	skipped Skipped
	state   [32]byte // hash of all that was seen, which no manifest has: devices, inodes, times of change
	span    uint64   // see Span
	settled bool     // nothing changed so shortly before the scan that another change could have the same time
	files   files
}

// Summary is what is known of the manifest as a whole.
func (s *Source) Summary() manifest.Summary { return s.summary }

// Index finds entries, and what lies where in the content.
func (s *Source) Index() *manifest.Index { return s.index }

// Manifest is the manifest itself: Summary().Size bytes.
func (s *Source) Manifest() io.ReaderAt { return s.spool }

// Span is how many bytes all names have: their holes are counted, and other names of a file.
func (s *Source) Span() uint64 { return s.span }

// Skipped says what will not be sent.
func (s *Source) Skipped() Skipped { return s.skipped }

// Single reports whether the source is one file that was named as such, and nothing else: it may get another name at the receiver. The only
// file in a directory keeps its own.
func (s *Source) Single() bool {
	return len(s.roots) == 1 && s.roots[0].name != "" && s.summary.Entries == 1 && s.summary.Files == 1
}

// Close closes all files. The spool files are gone with it.
func (s *Source) Close() error {
	s.files.close()
	var err error
	for _, f := range []*os.File{s.spool, s.seen} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	closeRoots(s.roots)
	return err
}
