package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/weft-fabric/weft/push/manifest"
)

// Bounds of a cache. The hashes of 1 TiB in blocks of 1 MiB take 33 MiB.
const (
	maxCached      = 128
	maxCachedBytes = 256 << 20
)

// Cache remembers the hashes of sources that have not changed since: a file for each, in a directory. It is a help and no more: what
// is damaged or cannot be read is as if it were not there.
type Cache struct{ directory string }

// OpenCache opens the cache in a directory; empty: weft/hashes in the user's folder for caches (XDG_CACHE_HOME).
func OpenCache(directory string) (*Cache, error) {
	if directory == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("no folder for the cache of hashes: %w", err)
		}
		directory = filepath.Join(user, "weft", "hashes")
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, fmt.Errorf("make the cache of hashes: %w", err)
	}
	return &Cache{directory}, nil
}

// key names a source in a state, cut into blocks of a size.
type key struct {
	source [32]byte
	block  int
}

// name is that of the file.
func (k key) name() string { return fmt.Sprint(hex.EncodeToString(k.source[:]), blockMark, k.block) }

// blockMark stands before the size of the blocks in the name of a file.
const blockMark = "-"

func (c *Cache) file(k key) string { return filepath.Join(c.directory, k.name()) }

func (h *Hasher) key() key { return key{h.source.cacheKey(), h.layout.Block} }

// cacheKey is the hash of all that says that no byte has changed: the manifest has names, sizes and times; the state has devices,
// inodes and times of change.
func (s *Source) cacheKey() (k [32]byte) {
	sum := sha256.New()
	sum.Write([]byte("weft block hashes 2"))
	sum.Write(s.summary.Hash[:])
	sum.Write(s.state[:])
	sum.Write(binary.LittleEndian.AppendUint64(nil, s.summary.Content))
	copy(k[:], sum.Sum(nil))
	return k
}

// Block is the size of the blocks in which a source was cut when its hashes were saved last; 0: they are not known. Who takes the same again finds
// the hashes, here and beside what hosts have kept.
func (c *Cache) Block(s *Source) int {
	files, err := c.list()
	if err != nil {
		return 0
	}
	source := s.cacheKey()
	var last time.Time
	size := 0
	for _, f := range files {
		if k, ours := keyFor(source, f.Name()); ours && f.ModTime().After(last) && c.begins(k) {
			size, last = k.block, f.ModTime()
		}
	}
	return size
}

// keyFor is the key of which a file of a source has the name. Nobody but us should write to the directory, but there is no telling what lies there.
func keyFor(source [32]byte, name string) (key, bool) {
	_, text, _ := strings.Cut(name, blockMark)
	block, err := strconv.Atoi(text)
	k := key{source, block}
	return k, err == nil && block > 0 && k.name() == name
}

// begins reports whether the file of a key begins as it should: what has only the name says nothing.
func (c *Cache) begins(k key) bool {
	file, err := os.Open(c.file(k))
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // it was read only
	want := k.start()
	start := make([]byte, len(want))
	_, err = io.ReadFull(file, start)
	return err == nil && bytes.Equal(start, want)
}

// Recall takes the hashes that an earlier push has left in a cache, before anything is read. It returns for how many blocks.
func (h *Hasher) Recall(c *Cache) int {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.layout.Stream != manifest.ContentStream || h.table.count > 0 {
		return 0
	}
	t, err := c.load(h.key(), h.layout.Blocks())
	if err != nil {
		return 0
	}
	h.table, h.origin = t, c
	return t.count
}

// Save leaves the hashes that are known in a cache, for a later push of the same source. Of an interrupted push too.
// A source that changed within the last seconds before its scan is not saved: another change could have the same time.
func (h *Hasher) Save(c *Cache) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.layout.Stream != manifest.ContentStream || h.table.count == 0 || h.wrong || !h.source.settled {
		return nil
	}
	if err := c.save(h.key(), c.completed(h.key(), h.table)); err != nil {
		return fmt.Errorf("save hashes in %s: %w", c.directory, err)
	}
	return nil
}

// completed is a table with the hashes that are there already of blocks which it lacks: with --checksum all is read anew, and that may be interrupted.
// If any hash that is there is another one, none of them is kept.
func (c *Cache) completed(k key, ours *table) *table {
	blocks := len(ours.hashes)
	if ours.count == blocks {
		return ours
	}
	all, err := c.load(k, blocks)
	if err != nil {
		return ours
	}
	for block, hash := range ours.hashes {
		if ours.known(block) && !all.learn(block, hash) {
			return ours
		}
	}
	return all
}

func (c *Cache) load(k key, blocks int) (*table, error) {
	file, err := os.Open(c.file(k))
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was read only
	t, err := readTable(file, k, blocks)
	if err != nil {
		c.forget(k)
		return nil, err
	}
	now := time.Now()
	_ = os.Chtimes(file.Name(), now, now) // what is used is kept longer
	return t, nil
}

// save writes a file under another name first, so that nobody ever sees half of it.
func (c *Cache) save(k key, t *table) error {
	file, err := os.CreateTemp(c.directory, "new-")
	if err != nil {
		return err
	}
	err = errors.Join(writeTable(file, k, t), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), c.file(k))
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return err
	}
	return c.tidy()
}

func (c *Cache) forget(k key) { _ = os.Remove(c.file(k)) }

// tidy removes the oldest files when there are too many, or too large ones.
func (c *Cache) tidy() error {
	files, err := c.list()
	if err != nil {
		return err
	}
	sort.Slice(files, func(i, j int) bool { return files[i].ModTime().After(files[j].ModTime()) })
	var kept, bytes int64
	for _, f := range files {
		if kept == maxCached || bytes+f.Size() > maxCachedBytes {
			_ = os.Remove(filepath.Join(c.directory, f.Name()))
			continue
		}
		kept++
		bytes += f.Size()
	}
	return nil
}

func (c *Cache) list() (files []fs.FileInfo, err error) {
	entries, err := os.ReadDir(c.directory)
	for _, e := range entries {
		if f, err := e.Info(); err == nil && f.Mode().IsRegular() { // else somebody has removed it meanwhile
			files = append(files, f)
		}
	}
	return files, err
}
