package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/push/manifest"
)

// listed is a directory with so many names, the last of them first.
type listed struct {
	left   int
	length int // bytes of each
}

func (l *listed) Readdirnames(n int) (some []string, err error) {
	for ; l.left > 0 && len(some) < n; l.left-- {
		some = append(some, fmt.Sprintf("%0*d", l.length, l.left))
	}
	if len(some) == 0 {
		err = io.EOF
	}
	return some, err
}

func goesOn() error { return nil }

func TestNamesInPieces(t *testing.T) {
	for _, l := range []listed{{0, 1}, {1, 1}, {9, 1}, {pieceSpans, 5}, {pieceSpans + 1, 8}, {3*pieceSpans + 7, 40}, {20_000, 255}} {
		want := l
		n, err := readNames(&l, maxNames, goesOn)
		if err != nil || n.Len() != want.left || n.bytes != want.left*(want.length+spanBytes) {
			t.Fatalf("%+v: %v", want, err)
		}
		for i := range n.Len() {
			if name := fmt.Sprintf("%0*d", want.length, i+1); n.name(i) != name {
				t.Fatalf("name %d of %+v is %q", i, want, n.name(i))
			}
		}
	}
}

// What a directory with very many names takes is little more than these have.
func TestNamesTakeTheirBytes(t *testing.T) {
	l := &listed{200_000, 200}
	text := uint64(l.left * l.length)
	own := allocated(func() {
		for l := *l; ; {
			if _, err := l.Readdirnames(1024); err != nil {
				return
			}
		}
	})
	all := allocated(func() {
		if _, err := readNames(l, maxNames, goesOn); err != nil {
			t.Error(err)
		}
	})
	if taken := all - own; taken > text+text/2 {
		t.Errorf("%d bytes were allocated for names of %d", taken, text)
	}
}

func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// All directories that are being walked share the room for names; those that were walked have given it back.
func TestNamesAreBounded(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("n", 100)
	for _, path := range []string{"a/b/c", "a/c", "b/c", "c"} {
		path = filepath.Join(dir, path, long)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	deepest := 3*(1+spanBytes) + 2*(1+spanBytes) + 1 + spanBytes + len(long) + spanBytes // of dir, a, a/b and a/b/c
	for room, want := range map[int]error{deepest: nil, deepest - 1: errTooMany} {
		w := walkerOf(t, dir)
		w.room = room
		err := w.walkAll()
		if !errors.Is(err, want) {
			t.Errorf("with room for %d bytes: %v", room, err)
		}
		if err != nil && (!errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), "/a/b/c ")) {
			t.Errorf("the error does not say where: %v", err)
		}
		if w.room != room {
			t.Errorf("%d bytes of %d are left", w.room, room)
		}
	}
}

// walkerOf walks what is in a directory.
func walkerOf(t *testing.T, dir string) *walker {
	t.Helper()
	roots, err := openRoots([]string{dir + "/"})
	if err != nil {
		t.Fatal(err)
	}
	seen, err := openSpool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &Source{roots: roots, seen: seen}
	t.Cleanup(func() { s.Close() })
	return &walker{ctx: context.Background(), source: s, out: manifest.NewWriter(io.Discard), seen: newSightings(seen), links: newLinks(maxLinkMemory)}
}
