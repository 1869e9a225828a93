package target

import (
	"container/list"
	"errors"
	"os"
	"sync"
	"sync/atomic"
)

// maxOpen is how many files of content stay open; those in use count, and may be more.
const maxOpen = 64

// fileKey names an open file: the number of its entry, and whether it is the one in place or the one in the partial.
type fileKey struct {
	number uint64
	placed bool
}

// openFile is a file in use.
type openFile struct {
	*os.File
	key   fileKey
	users int
	dirty atomic.Int64 // bytes written since write-back was last started
}

// files keeps the files that were used last open.
type files struct {
	mutex  sync.Mutex
	byKey  map[fileKey]*list.Element
	recent *list.List // of *openFile, the last used first
	failed error      // of a close: bytes may be lost
}

func newFiles() *files { return &files{byKey: make(map[fileKey]*list.Element), recent: list.New()} }

// use returns an open file; the caller gives it back by done.
func (f *files) use(key fileKey, open func() (*os.File, error)) (*openFile, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	element := f.byKey[key]
	if element == nil {
		file, err := open()
		if err != nil {
			return nil, err
		}
		element = f.recent.PushFront(&openFile{File: file, key: key})
		f.byKey[key] = element
	}
	f.recent.MoveToFront(element)
	used := element.Value.(*openFile)
	used.users++
	f.trim(maxOpen)
	return used, nil
}

func (f *files) done(file *openFile) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	file.users--
}

// trim closes files that nobody uses, the least recent first, until at most limit are open.
func (f *files) trim(limit int) {
	for element := f.recent.Back(); element != nil && f.recent.Len() > limit; {
		older := element.Prev()
		if file := element.Value.(*openFile); file.users == 0 {
			f.recent.Remove(element)
			delete(f.byKey, file.key)
			f.failed = errors.Join(f.failed, file.Close())
		}
		element = older
	}
}

// close closes all, and says whether all that was closed went well.
func (f *files) close() error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.trim(0)
	return f.failed
}
