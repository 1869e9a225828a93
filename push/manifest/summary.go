package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxTops is how many names a summary has at most.
const MaxTops = 1000

// Summary is what is known of a manifest as a whole.
type Summary struct {
	Entries     uint64 `json:"entries"`
	Files       uint64 `json:"files"` // hard links are not among them
	Directories uint64 `json:"directories"`
	Content     uint64 `json:"content"` // bytes of the content stream
	Size        uint64 `json:"size"`    // bytes of the manifest
	Disk        uint64 `json:"disk"`    // bytes that the files take on a disk
	Hash        Hash   `json:"hash"`    // of the manifest
	Tops        Names  `json:"tops"`    // the first names at the top, at most MaxTops
}

// Equal reports whether both are of the same manifest and say the same of it.
func (s *Summary) Equal(other *Summary) bool {
	return s.numbers() == other.numbers() && s.Hash == other.Hash && slices.Equal(s.Tops, other.Tops)
}

func (s *Summary) numbers() [6]uint64 {
	return [6]uint64{s.Entries, s.Files, s.Directories, s.Content, s.Size, s.Disk}
}

// Names are names of files. They may have any bytes, which a string in JSON may not: so they travel as base64.
type Names []string

// MarshalJSON writes a list of base64 texts.
func (n Names) MarshalJSON() ([]byte, error) {
	list := make([][]byte, len(n))
	for i, name := range n {
		list[i] = []byte(name)
	}
	return json.Marshal(list)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Names) UnmarshalJSON(text []byte) error {
	var list [][]byte
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	*n = nil
	for _, name := range list {
		*n = append(*n, string(name))
	}
	return nil
}

// diskPage is the unit in which a disk gives space to files.
const diskPage = 4096

// count adds an entry to the summary.
func (s *Summary) count(e *Entry) {
	content := e.Content()
	s.Entries++
	s.Content += content
	switch e.Kind {
	case File:
		s.Files++
		s.Disk += (content + diskPage - 1) / diskPage * diskPage
	case Directory:
		s.Directories++
	}
	if len(s.Tops) < MaxTops && !strings.Contains(e.Path, "/") {
		s.Tops = append(s.Tops, e.Path)
	}
}

// ErrSummary: no manifest has such a summary.
var ErrSummary = errors.New("bad summary of a manifest")

// Check refuses numbers that no manifest has. Whether they are those of a certain one, Open tells.
func (s *Summary) Check() error {
	switch {
	case s.Size < uint64(len(magic)+chunkHeader) || s.Size > MaxSize:
		return fmt.Errorf("%w: it has %d bytes", ErrSummary, s.Size)
	case s.Entries > MaxEntries || s.Files > s.Entries || s.Directories > s.Entries-s.Files:
		return fmt.Errorf("%w: %d files and %d directories are among %d entries", ErrSummary, s.Files, s.Directories, s.Entries)
	case s.Content > MaxSize || s.Files == 0 && s.Content > 0 || s.Disk < s.Content || s.Disk > s.Content+s.Files*diskPage:
		return fmt.Errorf("%w: %d files of %d bytes take %d", ErrSummary, s.Files, s.Content, s.Disk)
	case len(s.Tops) > MaxTops || uint64(len(s.Tops)) > s.Entries || (len(s.Tops) == 0) != (s.Entries == 0):
		return fmt.Errorf("%w: %d names at the top of %d entries", ErrSummary, len(s.Tops), s.Entries)
	}
	for _, name := range s.Tops {
		if err := CheckPath(name); err != nil || strings.Contains(name, "/") {
			return fmt.Errorf("%w: there is no name %.40q at the top", ErrSummary, name)
		}
	}
	return nil
}
