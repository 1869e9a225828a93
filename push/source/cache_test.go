package source_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/source"
)

// bytesRead is what this process has read from files so far.
func bytesRead(t testing.TB) (n int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip("the system does not count: ", err)
	}
	if _, err := fmt.Sscanf(string(text), "rchar: %d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// settled is a scan that may be cached.
func settled(t testing.TB, path string) *source.Source {
	s := scan(t, path)
	source.Settle(s)
	return s
}

func cache(t testing.TB) (*source.Cache, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "weft", "hashes")
	c, err := source.OpenCache(dir)
	must(t, err)
	return c, dir
}

func TestCache(t *testing.T) {
	path := t.TempDir() + "/f"
	data := pattern(40*block + 3)
	write(t, path, data)
	c, _ := cache(t)
	first := hasher(settled(t, path))
	if n := first.Recall(c); n != 0 {
		t.Fatalf("an empty cache knows %d blocks", n)
	}
	must(t, first.HashAll(background, nil))
	must(t, first.Save(c))

	s := settled(t, path)
	second := hasher(s)
	if n := second.Recall(c); n != 41 {
		t.Fatalf("the cache knows %d blocks", n)
	}
	before := bytesRead(t)
	must(t, second.HashAll(background, nil))
	if read := bytesRead(t) - before; read > block {
		t.Errorf("%d bytes were read although all hashes are known", read)
	}
	if root, known := second.Root(); !known || root != rootOf(s, data) {
		t.Errorf("root %v, known %v", root, known)
	}
	if _, err := second.Fill(0, memory(content(s), 0)); err != nil {
		t.Error(err)
	}
}

// TestCacheMisses changes what must not be taken for the same source.
func TestCacheMisses(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"rewritten": func(path string) error { return rewrite(path, []byte("other")) },
		"replaced":  func(path string) error { return replace(path, pattern(4*block)) },
		"backdated": func(path string) error {
			stat, err := os.Stat(path)
			if err != nil {
				return err
			}
			if err := rewrite(path, []byte("other")); err != nil {
				return err
			}
			return os.Chtimes(path, stat.ModTime(), stat.ModTime())
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir() + "/f"
			write(t, path, pattern(4*block))
			c, _ := cache(t)
			h := hasher(settled(t, path))
			must(t, h.HashAll(background, nil))
			must(t, h.Save(c))
			if n := hasher(scan(t, path)).Recall(c); n != 4 {
				t.Fatalf("before the change the cache knows %d blocks", n)
			}
			must(t, change(path))
			if n := hasher(scan(t, path)).Recall(c); n != 0 {
				t.Errorf("the cache knows %d blocks of another source", n)
			}
		})
	}
	path := t.TempDir() + "/f"
	write(t, path, pattern(4*block))
	c, _ := cache(t)
	s := settled(t, path)
	h := hasher(s)
	must(t, h.HashAll(background, nil))
	must(t, h.Save(c))
	seal, _ := signer()
	other := source.NewHasher(s, seal, manifest.NewLayout(manifest.ContentStream, s.Summary().Content, 2*block))
	if n := other.Recall(c); n != 0 {
		t.Errorf("the cache knows %d blocks of another size", n)
	}
}

// TestBlockOfTheLastPush: the size of the blocks is known for the same source, and no other.
func TestBlockOfTheLastPush(t *testing.T) {
	path := t.TempDir() + "/f"
	write(t, path, pattern(4*block))
	c, dir := cache(t)
	s := settled(t, path)
	if n := c.Block(s); n != 0 {
		t.Errorf("of a source that was never pushed it has blocks of %d", n)
	}
	seal, _ := signer()
	for i, size := range []int{2 * block, block} {
		h := source.NewHasher(s, seal, manifest.NewLayout(manifest.ContentStream, s.Summary().Content, size))
		must(t, h.HashAll(background, nil))
		must(t, h.Save(c))
		files, err := filepath.Glob(fmt.Sprint(dir, "/*-", size))
		must(t, err)
		when := time.Now().Add(time.Duration(i-2) * time.Hour)
		for _, f := range files {
			must(t, os.Chtimes(f, when, when))
		}
		if n := c.Block(s); n != size {
			t.Errorf("the last blocks were of %d, and not of %d", size, n)
		}
	}
	strange(t, dir, block)
	if n := c.Block(s); n != block {
		t.Errorf("beside files that nobody has saved the last blocks were of %d", n)
	}
	must(t, rewrite(path, []byte("other")))
	if n := c.Block(scan(t, path)); n != 0 {
		t.Errorf("of another source it has blocks of %d", n)
	}
}

// strange puts copies of a file of the cache, which are newer, beside it, under names that no such file has.
func strange(t *testing.T, dir string, block int) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprint(dir, "/*-", block))
	must(t, err)
	data, err := os.ReadFile(files[0])
	must(t, err)
	for _, text := range []string{"100001", "+16384", "016384", "+32768", "032768", "9223372036854775807", "9223372036854775808", "0", "-16384", "", "16384 ", "32768-", "4096"} {
		write(t, strings.TrimSuffix(files[0], fmt.Sprint(block))+text, data)
	}
}

// TestInterrupted saves what is known of a push that got to its second page.
func TestInterrupted(t *testing.T) {
	path := t.TempDir() + "/f"
	data := pattern(40 * block)
	write(t, path, data)
	c, _ := cache(t)
	h := hasher(settled(t, path))
	_, err := h.Fill(1, memory(content(settled(t, path)), 1))
	must(t, err)
	must(t, h.Save(c))
	s := settled(t, path)
	again := hasher(s)
	if n := again.Recall(c); n != 16 {
		t.Fatalf("the cache knows %d blocks", n)
	}
	if _, known := again.Hash(0); known {
		t.Error("a block is known that was never read")
	}
	before := bytesRead(t)
	must(t, again.HashAll(background, nil))
	if read := bytesRead(t) - before; read > 25*block {
		t.Errorf("%d blocks were read, 24 are unknown", read/block)
	}
	if root, known := again.Root(); !known || root != rootOf(s, data) {
		t.Errorf("root %v, known %v", root, known)
	}
}

// TestInterruptedWhileAllIsReadAnew: as with --checksum. What was known before is not lost, unless it was wrong.
func TestInterruptedWhileAllIsReadAnew(t *testing.T) {
	path := t.TempDir() + "/f"
	data := pattern(40 * block)
	write(t, path, data)
	s := settled(t, path)
	for _, c := range []struct {
		wrong int // block whose hash is not right in the cache
		known int // blocks, after the interruption
	}{{-1, 40}, {20, 16}, {35, 40}} { // of what nobody has read again nothing is known to be wrong
		hashes, _ := cache(t)
		before := hasher(s)
		if c.wrong >= 0 {
			source.Learn(before, c.wrong, manifest.Hash{7})
		}
		for b := range 40 {
			if b != c.wrong {
				source.Learn(before, b, manifest.HashOf(data[b*block:][:block]))
			}
		}
		must(t, before.Save(hashes))
		h := hasher(s)
		_, err := h.Fill(1, memory(content(s), 1)) // blocks 16 to 31
		must(t, err)
		must(t, h.Save(hashes))
		if _, known := h.Root(); known {
			t.Error("who reads all anew has taken hashes from the cache")
		}
		after := hasher(s)
		if n := after.Recall(hashes); n != c.known {
			t.Errorf("with a wrong hash of block %d the cache knows %d blocks, not %d", c.wrong, n, c.known)
		}
		if hash, known := after.Hash(20); !known || hash != manifest.HashOf(data[20*block:][:block]) {
			t.Errorf("what was read last is not what the cache has: %v", known)
		}
	}
}

// TestFreshIsNotCached: a file that was written a moment before the scan could be written to again at the same time, as its file
// system counts.
func TestFreshIsNotCached(t *testing.T) {
	path := t.TempDir() + "/f"
	write(t, path, pattern(block))
	c, dir := cache(t)
	h := hasher(scan(t, path))
	must(t, h.HashAll(background, nil))
	must(t, h.Save(c))
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Error("a file that is not settled was cached")
	}
	age(t)
	if !source.Settled(scan(t, path)) {
		t.Error("a file that nobody touched for two seconds is not settled")
	}
}

// TestStaleCache has a cache that is wrong although its key fits: the push fails, and the next one does not.
func TestStaleCache(t *testing.T) {
	path := t.TempDir() + "/f"
	write(t, path, pattern(3*block))
	c, _ := cache(t)
	s := settled(t, path)
	liar := hasher(s)
	source.Learn(liar, 2, manifest.Hash{7})
	must(t, liar.Save(c))
	h := hasher(s)
	if h.Recall(c) != 1 {
		t.Fatal("the cache is not used")
	}
	_, err := h.Fill(0, memory(content(s), 0))
	wrong(t, err, source.ErrChanged, path)
	must(t, h.Save(c)) // as a push does however it ends
	next := hasher(s)
	if n := next.Recall(c); n != 0 {
		t.Fatalf("a cache that was wrong still knows %d blocks", n)
	}
	must(t, next.HashAll(background, nil))
}

func TestDamagedCache(t *testing.T) {
	path := t.TempDir() + "/f"
	write(t, path, pattern(20*block))
	c, dir := cache(t)
	s := settled(t, path)
	h := hasher(s)
	must(t, h.HashAll(background, nil))
	must(t, h.Save(c))
	files, err := filepath.Glob(dir + "/*")
	must(t, err)
	if len(files) != 1 {
		t.Fatalf("the cache has %q", files)
	}
	good, err := os.ReadFile(files[0])
	must(t, err)
	for at := 0; at < len(good); at += 7 {
		bad := append([]byte(nil), good...)
		bad[at] ^= 1
		must(t, os.WriteFile(files[0], bad, 0o600))
		if n := hasher(s).Recall(c); n != 0 {
			t.Fatalf("with byte %d changed it knows %d blocks", at, n)
		}
	}
	for _, bad := range [][]byte{nil, good[:len(good)-1], append(good, 0)} {
		must(t, os.WriteFile(files[0], bad, 0o600))
		if n := hasher(s).Recall(c); n != 0 {
			t.Fatalf("with %d of %d bytes it knows %d blocks", len(bad), len(good), n)
		}
	}
	must(t, os.WriteFile(files[0], good, 0o600))
	if n := hasher(s).Recall(c); n != 20 {
		t.Fatalf("when it is right again it knows %d blocks", n)
	}
}

func TestBoundedCache(t *testing.T) {
	path := t.TempDir() + "/f"
	write(t, path, pattern(block))
	c, dir := cache(t)
	for i := range source.MaxCached + 10 {
		name := fmt.Sprintf("%s/old%03d", dir, i)
		write(t, name, nil)
		when := time.Now().Add(-time.Duration(i+1) * time.Hour)
		must(t, os.Chtimes(name, when, when))
	}
	h := hasher(settled(t, path))
	must(t, h.HashAll(background, nil))
	must(t, h.Save(c))
	files, err := os.ReadDir(dir)
	must(t, err)
	if len(files) != source.MaxCached {
		t.Errorf("%d files are kept", len(files))
	}
	if _, err := os.Stat(dir + "/old000"); err != nil {
		t.Error("a young file was removed")
	}
	must(t, os.Truncate(dir+"/old001", source.MaxCachedBytes))
	must(t, h.Save(c))
	if files, _ := os.ReadDir(dir); len(files) != source.MaxCached-1 {
		t.Errorf("%d files are kept beside a huge one", len(files))
	}
	if n := hasher(scan(t, path)).Recall(c); n != 1 {
		t.Errorf("the newest was not kept")
	}
}

func TestCacheDirectory(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	_, err := source.OpenCache("")
	must(t, err)
	info, err := os.Stat(home + "/weft/hashes")
	must(t, err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("others may look into the cache: %v", info.Mode())
	}
	write(t, home+"/file", nil)
	if _, err := source.OpenCache(home + "/file/below"); err == nil || !strings.Contains(err.Error(), "cache") {
		t.Errorf("a cache below a file: %v", err)
	}
	if c, dir := cache(t); os.RemoveAll(dir) == nil { // somebody removes it meanwhile
		h := hasher(settled(t, home+"/file"))
		must(t, h.HashAll(background, nil))
		if err := h.Save(c); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("saved in a directory that is gone: %v", err)
		}
	}
}
