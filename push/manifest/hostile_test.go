package manifest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

// What an entry may not be, and which words tell it.
var badEntries = map[string]Entry{
	"1 to 4095":           {Path: "", Kind: File},
	"4096 bytes":          {Path: strings.Repeat("a/", 2048), Kind: File},
	"NUL":                 {Path: "a\x00b", Kind: File},
	`part ""`:             {Path: "/etc/passwd", Kind: File},
	`"a//b" has`:          {Path: "a//b", Kind: File},
	`"a/" has`:            {Path: "a/", Kind: File},
	`part "."`:            {Path: "./a", Kind: File},
	`part ".."`:           {Path: "a/../../b", Kind: File},
	"up to 255":           {Path: strings.Repeat("a", 256), Kind: File},
	"kind 0":              {Path: "a"},
	"kind 5":              {Path: "a", Kind: 5},
	"mode 10000":          {Path: "a", Kind: File, Mode: 0o10000},
	"a file has no":       {Path: "a", Kind: File, Link: "b"},
	"than a file can":     {Path: "a", Kind: File, Size: MaxSize + 1},
	"1 bytes at 11":       {Path: "a", Kind: File, Size: 10, Extents: []Extent{{11, 1}}},
	"2 bytes at 9":        {Path: "a", Kind: File, Size: 10, Extents: []Extent{{9, 2}}},
	"0 bytes at 1":        {Path: "a", Kind: File, Size: 10, Extents: []Extent{{1, 0}}},
	"2 bytes at 2":        {Path: "a", Kind: File, Size: 10, Extents: []Extent{{1, 2}, {2, 2}}},
	"allowed are 4096":    {Path: "a", Kind: File, Size: 1 << 20, Extents: make([]Extent, MaxExtents+1)},
	"a directory has no ": {Path: "a", Kind: Directory, Size: 1},
	"directory has no ta": {Path: "a", Kind: Directory, Link: "b"},
	"target of a symlink": {Path: "a", Kind: Symlink},
	"none of them NUL":    {Path: "a", Kind: Symlink, Link: "\x00"},
	"1 to 4095 bytes, n":  {Path: "a", Kind: Symlink, Link: strings.Repeat("b", MaxPath+1)},
	"target of the hard":  {Path: "a", Kind: Hardlink, Link: "../b"},
	"to itself":           {Path: "a", Kind: Hardlink, Link: "a"},
	"extent":              {Path: "a", Kind: File, Size: 10, Extents: []Extent{{5, math.MaxUint64}}},
}

func TestBadEntries(t *testing.T) {
	for words, e := range badEntries {
		err := NewWriter(io.Discard).Add(&e)
		if !errors.Is(err, ErrEntry) || !strings.Contains(err.Error(), words) {
			t.Errorf("%+v: %v, want %q", e, err, words)
		}
	}
}

// Open judges as the Writer does: nobody needs a Writer to make a manifest.
func TestBadEntriesFromElsewhere(t *testing.T) {
	for words, e := range badEntries {
		if strings.Contains(words, " has no") {
			continue // there is no room for such things in the encoding
		}
		b := forged(e)
		if _, _, err := Open(bytes.NewReader(b), int64(len(b))); !errors.Is(err, ErrManifest) {
			t.Errorf("%s: %v", words, err)
		}
	}
}

// forged is a manifest of entries that nobody has checked.
func forged(entries ...Entry) []byte {
	var f front
	var body []byte
	for i := range entries {
		body = f.encode(body, &entries[i])
	}
	return closed(chunkOf(len(entries), body))
}

func chunkOf(count int, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	return append(binary.BigEndian.AppendUint32(b, uint32(count)), body...)
}

// closed is a manifest of these chunks.
func closed(chunks ...[]byte) []byte {
	b := append([]byte(magic), bytes.Join(chunks, nil)...)
	return append(b, make([]byte, chunkHeader)...)
}

// Entries whose directory is not there, or not there any more, or no directory.
func TestBadOrder(t *testing.T) {
	dir := func(path string) Entry { return Entry{Path: path, Kind: Directory} }
	file := func(path string) Entry { return Entry{Path: path, Kind: File} }
	for name, entries := range map[string][]Entry{
		"no directory":               {file("a/b")},
		"no directory between":       {dir("a"), dir("a/b/c")},
		"a directory that is closed": {dir("a"), dir("b"), file("a/x")},
		"a prefix is no parent":      {dir("ab"), file("a/x")},
		"a longer name is no parent": {dir("a"), file("ab/x")},
		"a file":                     {file("a"), file("a/x")},
		"a symlink":                  {{Path: "a", Kind: Symlink, Link: "/etc"}, file("a/passwd")},
		"replaced by a symlink":      {dir("a"), {Path: "a", Kind: Symlink, Link: "/etc"}, file("a/passwd")},
	} {
		b := forged(entries...)
		if _, _, err := Open(bytes.NewReader(b), int64(len(b))); !errors.Is(err, ErrManifest) || !errors.Is(err, ErrEntry) {
			t.Errorf("%s: %v", name, err)
		}
	}
	written(t, dir("a"), dir("a/b"), dir("a/b/c"), file("a/b/c/d"), file("a/b/x"), file("a/y"), file("z"), dir("b"), file("b/a"))
}

func TestTooMuchContent(t *testing.T) {
	b := forged(Entry{Path: "a", Kind: File, Size: MaxSize}, Entry{Path: "b", Kind: File, Size: 1})
	if _, _, err := Open(bytes.NewReader(b), int64(len(b))); !errors.Is(err, ErrManifest) {
		t.Error(err)
	}
}

// A manifest has one form: everything else is refused.
func TestOtherForms(t *testing.T) {
	one := (&front{}).encode(nil, &Entry{Path: "a", Kind: File})
	var f front
	longer := f.encode(f.encode(nil, &Entry{Path: "abc", Kind: File}), &Entry{Path: "x", Kind: File})
	full := bytes.Repeat(one, chunkEntries) // not what an encoder would write, but of the right length
	for name, b := range map[string][]byte{
		"empty":               {},
		"another word":        []byte("weftman2"),
		"no end":              append([]byte(magic), chunkOf(1, one)...),
		"bytes after the end": append(closed(chunkOf(1, one)), 0),
		"a chunk not full":    closed(chunkOf(1, one), chunkOf(1, one)),
		"count without bytes": closed(chunkOf(1, nil)),
		"bytes without count": closed(chunkOf(0, one)),
		"too many in a chunk": closed(chunkOf(chunkEntries+1, append(full, one...))),
		"bytes left":          closed(chunkOf(1, append(one, 0))),
		"bytes missing":       closed(chunkOf(2, one)),
		"a long number":       closed(chunkOf(1, append(one[:len(one)-1:len(one)-1], 0x80, 0x00))),
		"unknown flag":        closed(chunkOf(1, append([]byte{0x41}, one[1:]...))),
		"same as nobody":      closed(chunkOf(1, append([]byte{byte(File) | flagSame}, one[1:]...))),
		"shares with nobody":  closed(chunkOf(1, append([]byte{byte(File), 1}, one[2:]...))),
		"shares too much":     closed(chunkOf(3, append(longer, byte(File)|flagSame, 2, 1, 'b', 0, 0))),
		"sparse directory":    closed(chunkOf(1, append([]byte{byte(Directory) | flagSparse}, one[1:]...))),
		"could share, does not": closed(chunkOf(2, append(one[:len(one):len(one)],
			(&front{}).encode(nil, &Entry{Path: "ab", Kind: File, Mode: 1})...))),
		"could be same, is not": closed(chunkOf(2, append(one[:len(one):len(one)],
			(&front{}).encode(nil, &Entry{Path: "b", Kind: File})...))),
	} {
		if _, _, err := Open(bytes.NewReader(b), int64(len(b))); !errors.Is(err, ErrManifest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b := closed(chunkOf(1, one)); !bytes.Equal(b, forged(Entry{Path: "a", Kind: File})) {
		t.Error("the form that the others are compared with is not right")
	}
}

// A chunk that goes on after it has enough bytes would make an entry cost more than it should.
func TestOverfullChunk(t *testing.T) {
	var entries []Entry
	for i := range 12 {
		entries = append(entries, Entry{Path: string(rune('a' + i)), Kind: Symlink, Link: strings.Repeat("x", MaxPath)})
	}
	b := forged(entries...)
	if _, _, err := Open(bytes.NewReader(b), int64(len(b))); !errors.Is(err, ErrManifest) {
		t.Error(err)
	}
}

// The longest entries fit into a chunk.
func TestLongestEntry(t *testing.T) {
	e := Entry{
		Path: strings.Repeat("a", MaxPart), Kind: File, Mode: 0o7777, UID: math.MaxUint32, GID: math.MaxUint32,
		ModTime: math.MinInt64, Size: MaxSize, Extents: []Extent{},
	}
	for i := range uint64(MaxExtents) {
		e.Extents = append(e.Extents, Extent{i << 51, 1 << 50})
	}
	b, _ := written(t, e)
	opened(t, b)
	if len(b)+2*MaxPath+chunkBytes > maxChunk {
		t.Errorf("an entry of %d bytes does not always fit", len(b))
	}
}

// Bytes that change after Open was content: an error, not a panic.
func TestManifestChangesLater(t *testing.T) {
	b, s := written(t, Entry{Path: "a", Kind: File, Size: 10})
	x, _ := opened(t, b)
	for i := range b {
		b[i] ^= 0xff
		_ = x.Pieces(0, s.Content, func(Piece) error { return nil })
		_ = x.Entries(func(uint64, uint64, *Entry) error { return nil })
		b[i] ^= 0xff
	}
}

type brokenDisk struct{ room int }

func (d *brokenDisk) Write(b []byte) (int, error) {
	if d.room -= len(b); d.room < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

func TestWriterKeepsItsFirstError(t *testing.T) {
	w := NewWriter(&brokenDisk{room: 10})
	if err := w.Add(&Entry{Path: "a", Kind: File}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
	w = NewWriter(io.Discard)
	bad := w.Add(&Entry{})
	if err := w.Add(&Entry{Path: "a", Kind: File}); bad == nil || !errors.Is(err, bad) {
		t.Errorf("after %v: %v", bad, err)
	}
	w = NewWriter(io.Discard)
	if _, err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := w.Add(&Entry{Path: "a", Kind: File}); err == nil {
		t.Error("a closed writer takes an entry")
	}
}

// What Open takes, a Writer makes again, byte for byte.
func FuzzOpen(f *testing.F) {
	dir, file := Entry{Path: "d", Kind: Directory, Mode: 0o755}, Entry{Path: "d/f", Kind: File, Mode: 0o644, Size: 100}
	f.Add(forged())
	f.Add(forged(dir, file, Entry{Path: "d/g", Kind: File, Mode: 0o644, Size: 100, Extents: []Extent{{10, 20}, {40, 60}}}))
	f.Add(forged(file))
	f.Add(forged(dir, Entry{Path: "d/l", Kind: Symlink, Link: "/etc"}, Entry{Path: "h", Kind: Hardlink, Link: "d/f"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, s, err := Open(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		entries, _ := all(t, x)
		again, summary := written(t, entries...)
		if !bytes.Equal(again, b) || !summary.Equal(&s) {
			t.Errorf("%x was read, %x is written", b, again)
		}
		sum := uint64(0)
		if err := x.Pieces(0, s.Content, func(p Piece) error { sum += p.Length; return nil }); err != nil || sum != s.Content {
			t.Errorf("pieces of %d bytes in %d: %v", sum, s.Content, err)
		}
	})
}

// Whatever comes as a header, it is the one that was sealed or it is refused.
func FuzzOpenPage(f *testing.F) {
	s, v := pair(1)
	l := NewLayout(ContentStream, 20<<10, 1<<10)
	pages, _ := sealed(s, l)
	f.Add(pages[0], 0)
	f.Add(pages[1], 17)
	f.Add(pages[1], 20)
	f.Add([]byte{}, -1)
	f.Fuzz(func(t *testing.T, header []byte, block int) {
		hash, err := NewPages(l, v).Take(block, header)
		if right := l.has(block) && bytes.Equal(header, pages[l.Page(block)]); right != (err == nil) {
			t.Errorf("block %d: %v, %v", block, hash, err)
		}
		if _, err := v.OpenClosing(header); err == nil {
			t.Error("a page is a closing record")
		}
	})
}

func FuzzOpenClosing(f *testing.F) {
	s, v := pair(1)
	f.Add(s.SealClosing(Closing{}))
	f.Add([]byte("wcl1"))
	f.Fuzz(func(t *testing.T, record []byte) {
		c, err := v.OpenClosing(record)
		if err == nil && !bytes.Equal(s.SealClosing(c), record) {
			t.Errorf("%x is taken", record)
		}
		if c, err := v.OpenClosing(s.seal(domainClosing, record)); err == nil && !bytes.Equal(s.SealClosing(c)[:len(record)], record) {
			t.Errorf("%x is taken when it is signed", record)
		}
	})
}
