package source_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/source"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const block = 16 << 10

// scan scans, and closes at the end of the test.
func scan(t testing.TB, paths ...string) *source.Source {
	t.Helper()
	s, err := source.Scan(t.Context(), source.Config{Paths: paths, Spool: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// refuse expects a scan to fail with a reason, and to say certain words.
func refuse(t *testing.T, reason error, says string, paths ...string) {
	t.Helper()
	s, err := source.Scan(t.Context(), source.Config{Paths: paths, Spool: t.TempDir()})
	if err == nil {
		s.Close()
		t.Fatalf("a scan of %q succeeds", paths)
	}
	wrong(t, err, reason, says)
}

func wrong(t *testing.T, err, reason error, says string) {
	t.Helper()
	var e *source.Error
	if !errors.As(err, &e) || !errors.Is(err, reason) || !strings.Contains(err.Error(), says) {
		t.Fatalf("the error is %v; it should be %q and say %q", err, reason, says)
	}
}

// entries returns copies of all entries by path, and their order.
func entries(t testing.TB, s *source.Source) (byPath map[string]manifest.Entry, order []string) {
	t.Helper()
	byPath = make(map[string]manifest.Entry)
	must(t, s.Index().Entries(func(_, _ uint64, e *manifest.Entry) error {
		copied := *e
		copied.Extents = append([]manifest.Extent(nil), e.Extents...)
		if e.Extents != nil && copied.Extents == nil {
			copied.Extents = []manifest.Extent{}
		}
		byPath[e.Path] = copied
		order = append(order, e.Path)
		return nil
	}))
	return byPath, order
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write makes a file, and its directories.
func write(t testing.TB, path string, data []byte) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, data, 0o644))
}

// pattern is data of which no two blocks are alike.
func pattern(size int) []byte {
	data := make([]byte, size)
	state := uint64(size) | 1
	for i := range data {
		state = state*6364136223846793005 + 1442695040888963407
		data[i] = byte(state >> 56)
	}
	return data
}

func content(s *source.Source) manifest.Layout {
	return manifest.NewLayout(manifest.ContentStream, s.Summary().Content, block)
}

// readAll reads a stream block by block.
func readAll(t testing.TB, s *source.Source, l manifest.Layout) []byte {
	t.Helper()
	var all []byte
	for i := range l.Blocks() {
		payload := make([]byte, l.Len(i))
		must(t, s.Read(l, i, payload))
		all = append(all, payload...)
	}
	return all
}

var testID = manifest.ID{1, 2, 3}

func signer() (*manifest.Signer, *manifest.Verifier) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	return manifest.NewSigner(testID, key), manifest.NewVerifier(testID, key.Public().(ed25519.PublicKey))
}

func hasher(s *source.Source) *source.Hasher {
	seal, _ := signer()
	return source.NewHasher(s, seal, content(s))
}

// age makes files look as if nobody had touched them for long. Their time of change cannot be set: it has to pass.
func age(t testing.TB) {
	t.Helper()
	time.Sleep(2100 * time.Millisecond)
}

// memory is room for a page.
func memory(l manifest.Layout, page int) (into [][]byte) {
	first, end := l.PageRange(page)
	for b := first; b < end; b++ {
		into = append(into, make([]byte, l.Header()+l.Len(b)))
	}
	return into
}

var background = context.Background()
