package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
)

// names are the names in one directory, sorted. There may be millions: they lie in pieces, as one piece that grows would be there twice
// whenever it is copied.
type names struct {
	text  [][]byte // names as they came, none in two pieces
	at    [][]span // all pieces but the last have pieceSpans
	count int
	bytes int // that all this takes
}

// span is where a name is.
type span struct {
	start  uint32 // in its piece
	piece  uint16
	length uint16
}

// Measures of names.
const (
	pieceText  = 1 << 20 // bytes
	pieceSpans = 1 << 16
	spanBytes  = 8
	maxNames   = 128 << 20 // bytes of the names in one directory and in all that it lies in, which are being walked: they are sorted in memory
)

var errTooMany = fmt.Errorf("the names in it, and in the directories that it is in, take more than %d MiB: spread them over several directories", maxNames>>20)

// lister tells the names in a directory: an os.File.
type lister interface {
	Readdirnames(n int) ([]string, error)
}

// readNames reads a directory whose names may take so many bytes. It ends when alive fails.
func readNames(directory lister, room int, alive func() error) (*names, error) {
	n := new(names)
	for {
		if err := alive(); err != nil {
			return nil, err
		}
		some, err := directory.Readdirnames(1024)
		for _, name := range some {
			n.add(name)
		}
		if n.bytes > room {
			return nil, errTooMany
		}
		if errors.Is(err, io.EOF) {
			sort.Sort(n)
			return n, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (n *names) add(name string) {
	if last := len(n.text) - 1; last < 0 || len(n.text[last])+len(name) > pieceText {
		n.text = another(n.text, pieceText)
	}
	if n.count%pieceSpans == 0 {
		n.at = another(n.at, pieceSpans)
	}
	piece, spans := len(n.text)-1, len(n.at)-1
	n.at[spans] = append(n.at[spans], span{uint32(len(n.text[piece])), uint16(piece), uint16(len(name))})
	n.text[piece] = append(n.text[piece], name...)
	n.count++
	n.bytes += len(name) + spanBytes
}

// another begins a piece. The first one grows, as most directories are small.
func another[T any](pieces [][]T, room int) [][]T {
	if len(pieces) == 0 {
		return append(pieces, nil)
	}
	return append(pieces, make([]T, 0, room))
}

func (n *names) span(i int) *span { return &n.at[i/pieceSpans][i%pieceSpans] }

func (n *names) octets(i int) []byte {
	s := n.span(i)
	return n.text[s.piece][s.start:][:s.length]
}

func (n *names) name(i int) string  { return string(n.octets(i)) }
func (n *names) Len() int           { return n.count }
func (n *names) Less(i, j int) bool { return bytes.Compare(n.octets(i), n.octets(j)) < 0 }
func (n *names) Swap(i, j int)      { *n.span(i), *n.span(j) = *n.span(j), *n.span(i) }
