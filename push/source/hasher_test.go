package source_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"testing"

	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/source"
)

// rootOf computes the root as a receiver does.
func rootOf(s *source.Source, data []byte) manifest.Hash {
	l := content(s)
	sum := manifest.NewRoot(s.Summary().Hash, l)
	for i := range l.Blocks() {
		sum.Add(manifest.HashOf(data[l.Offset(i):][:l.Len(i)]))
	}
	return sum.Sum()
}

func TestFill(t *testing.T) {
	dir := t.TempDir()
	data := pattern(41*block + 100)
	write(t, dir+"/a", data[:5*block/2])
	write(t, dir+"/b", data[5*block/2:])
	s := scan(t, dir+"/")
	l, h := content(s), hasher(s)
	_, verifier := signer()
	pages := manifest.NewPages(l, verifier)
	var got []byte
	for page := range l.Pages() {
		if _, known := h.Root(); known {
			t.Fatal("the root is known too early")
		}
		into := memory(l, page)
		header, err := h.Fill(page, into)
		must(t, err)
		first, _ := l.PageRange(page)
		for i, wire := range into {
			hash, err := pages.Take(first+i, wire[:l.Header()])
			must(t, err)
			must(t, manifest.CheckPayload(hash, wire[l.Header():]))
			if known, ok := h.Hash(first + i); !ok || known != hash || !bytes.Equal(header, wire[:l.Header()]) {
				t.Fatalf("block %d has another header or hash", first+i)
			}
			got = append(got, wire[l.Header():]...)
		}
	}
	if !bytes.Equal(got, data) {
		t.Error("other bytes than the source's")
	}
	if root, known := h.Root(); !known || root != rootOf(s, data) {
		t.Errorf("root %v, known %v", root, known)
	}
	if _, err := h.Fill(1, memory(l, 1)); err != nil { // again
		t.Error(err)
	}
}

func TestBadFill(t *testing.T) {
	path := t.TempDir() + "/f"
	write(t, path, pattern(20*block))
	s := scan(t, path)
	l, h := content(s), hasher(s)
	short := memory(l, 0)
	short[3] = short[3][:len(short[3])-1]
	for name, fill := range map[string]func() ([]byte, error){
		"page -1":     func() ([]byte, error) { return h.Fill(-1, nil) },
		"page 2":      func() ([]byte, error) { return h.Fill(2, nil) },
		"few blocks":  func() ([]byte, error) { return h.Fill(0, memory(l, 1)) },
		"short block": func() ([]byte, error) { return h.Fill(0, short) },
		"unknown":     func() ([]byte, error) { return h.Header(0) },
		"fetch -1":    func() ([]byte, error) { return nil, h.Fetch(-1, short[0]) },
		"fetch 20":    func() ([]byte, error) { return nil, h.Fetch(20, short[0]) },
		"short fetch": func() ([]byte, error) { return nil, h.Fetch(0, short[3]) },
	} {
		if _, err := fill(); err == nil {
			t.Errorf("%s succeeds", name)
		}
	}
}

// TestFetch gives single blocks, in any order, of pages that were never filled.
func TestFetch(t *testing.T) {
	path := t.TempDir() + "/f"
	data := pattern(20*block + 5)
	write(t, path, data)
	s := scan(t, path)
	l, h := content(s), hasher(s)
	_, verifier := signer()
	for _, b := range []int{20, 3, 16, 0, 20} {
		wire := make([]byte, l.Header()+l.Len(b))
		must(t, h.Fetch(b, wire))
		hashes, err := verifier.OpenPage(l, b, wire[:l.Header()])
		must(t, err)
		must(t, manifest.CheckPayload(hashes[b%l.PageBlocks], wire[l.Header():]))
		if !bytes.Equal(wire[l.Header():], data[l.Offset(b):][:l.Len(b)]) {
			t.Errorf("block %d has other bytes", b)
		}
	}
	if root, known := h.Root(); !known || root != rootOf(s, data) {
		t.Errorf("root %v, known %v", root, known)
	}
}

// TestFilledAgain changes bytes behind the back of all times: by the hash it is noticed nevertheless.
func TestFilledAgain(t *testing.T) {
	s, h := secretlyChanged(t)
	_, err := h.Fill(0, memory(content(s), 0))
	wrong(t, err, source.ErrChanged, "hashed first")
}

// secretlyChanged returns a hasher that knows other hashes than those of the source. No test can change a file so that its time of
// change stays, so the hasher has read another source of the same form.
func secretlyChanged(t *testing.T) (*source.Source, *source.Hasher) {
	t.Helper()
	path := t.TempDir() + "/f"
	write(t, path, pattern(3*block))
	s := scan(t, path)
	h := hasher(s)
	source.Learn(h, 1, manifest.Hash{1})
	return s, h
}

func TestHashAll(t *testing.T) {
	path := t.TempDir() + "/f"
	data := pattern(70*block + 1)
	write(t, path, data)
	s := scan(t, path)
	h := hasher(s)
	_, err := h.Fill(1, memory(content(s), 1))
	must(t, err)
	var last uint64
	must(t, h.HashAll(background, func(done, total uint64) {
		if done <= last || total != uint64(len(data)) {
			t.Errorf("progress from %d to %d of %d", last, done, total)
		}
		last = done
	}))
	if root, known := h.Root(); !known || root != rootOf(s, data) || last != uint64(len(data)) {
		t.Errorf("root %v, known %v; progress ended at %d", root, known, last)
	}
	ctx, cancel := context.WithCancel(background)
	cancel()
	if err := hasher(s).HashAll(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	must(t, os.Truncate(path, 5))
	wrong(t, hasher(s).HashAll(background, nil), source.ErrChanged, path)
}

func TestManifestHasher(t *testing.T) {
	path := t.TempDir() + "/f"
	write(t, path, nil)
	s := scan(t, path)
	seal, verifier := signer()
	l := manifest.NewLayout(manifest.ManifestStream, s.Summary().Size, block)
	h := source.NewHasher(s, seal, l)
	into := memory(l, 0)
	header, err := h.Fill(0, into)
	must(t, err)
	hashes, err := verifier.OpenPage(l, 0, header)
	must(t, err)
	must(t, manifest.CheckPayload(hashes[0], into[0][l.Header():]))
}

// TestExpected gets the SHA-256 by blocks in order, partly so, and by none; of dense and sparse files.
func TestExpected(t *testing.T) {
	dense := t.TempDir() + "/dense"
	write(t, dense, pattern(40*block+9))
	holes := t.TempDir() + "/holes"
	sparse(t, holes, 2<<20+11, map[int64]string{0: "begin", 1 << 20: "middle"})
	hole := t.TempDir() + "/hole"
	sparse(t, hole, 1<<20, nil)
	for _, path := range []string{dense, holes, hole} {
		data, err := os.ReadFile(path)
		must(t, err)
		want := sha256.Sum256(data)
		s := scan(t, path)
		for _, fill := range [][]int{nil, {0}, {1}, {0, 1, 2}, {2, 0, 1}, {0, 0, 2}} {
			h := hasher(s)
			must(t, h.Expect(want, nobodyAsks))
			for _, page := range fill {
				if page < content(s).Pages() {
					_, err := h.Fill(page, memory(content(s), page))
					must(t, err)
				}
			}
			if sum, err := h.Expected(background, nil); err != nil || sum != want {
				t.Errorf("%s filled %v: %x, %v", path, fill, sum, err)
			}
			if sum, err := h.Expected(background, nil); err != nil || sum != want { // again
				t.Errorf("%s filled %v: %x, %v", path, fill, sum, err)
			}
		}
		h := hasher(s)
		must(t, h.Expect([32]byte{1}, nobodyAsks))
		must(t, h.HashAll(background, nil))
		sum, err := h.Expected(background, nil)
		wrong(t, err, source.ErrUnexpected, path)
		if sum != want {
			t.Errorf("%s is %x", path, sum)
		}
	}
}

func TestNotExpected(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/f", nil)
	h := hasher(scan(t, dir))
	if h.Expect([32]byte{}, nobodyAsks) == nil || hasher(scan(t, dir+"/")).Expect([32]byte{}, nobodyAsks) == nil {
		t.Error("a tree may have an expected SHA-256")
	}
	if _, err := h.Expected(background, nil); err == nil {
		t.Error("what was not expected is there")
	}
}

// TestReadOnce counts what the process reads: a push reads every byte of the source once, its SHA-256 included.
func TestReadOnce(t *testing.T) {
	path := t.TempDir() + "/f"
	data := pattern(64 * block)
	write(t, path, data)
	s := scan(t, path)
	h := hasher(s)
	must(t, h.Expect(sha256.Sum256(data), nobodyAsks))
	before := bytesRead(t)
	for page := range content(s).Pages() {
		_, err := h.Fill(page, memory(content(s), page))
		must(t, err)
	}
	_, err := h.Expected(background, nil)
	must(t, err)
	if read := bytesRead(t) - before; read < len(data) || read > len(data)+len(data)/4 {
		t.Errorf("%d bytes were read of a file of %d", read, len(data))
	}
}

// nobodyAsks whether holes are hashed.
func nobodyAsks() error { return nil }

// TestExpectOfAHole: a hole is hashed for long, of which is told, and which can be ended.
func TestExpectOfAHole(t *testing.T) {
	path := t.TempDir() + "/f"
	write(t, path, []byte("data"))
	must(t, os.Truncate(path, 100<<20))
	told, over := 0, errors.New("it is over")
	h := hasher(scan(t, path))
	must(t, h.Expect([32]byte{}, func() error { told++; return nil }))
	_, err := h.Expected(background, nil)
	wrong(t, err, source.ErrUnexpected, path)
	if told < 4 {
		t.Errorf("of a hole of 100 MiB was told %d times", told)
	}
	h = hasher(scan(t, path))
	must(t, h.Expect([32]byte{}, func() error { return over }))
	if _, err := h.Expected(background, nil); !errors.Is(err, over) {
		t.Errorf("it was not ended: %v", err)
	}
}
