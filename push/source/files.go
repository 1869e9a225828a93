package source

import (
	"sync"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// maxOpen is how many files stay open that nobody reads at the moment. The next block is of one of them, as a rule.
const maxOpen = 16

// file is an opened file of the source.
type file struct {
	number uint64 // of its entry
	fd     int
	seen   sight
	path   string // for people

	users int    // who read it at the moment
	used  uint64 // when it was taken last
}

// files are the opened files of a source.
type files struct {
	mutex sync.Mutex
	open  map[uint64]*file
	turns uint64
}

// take returns an open file, for release to be called with.
func (s *Source) take(number uint64, e *manifest.Entry) (*file, error) {
	if f := s.files.find(number); f != nil {
		return f, nil
	}
	seen, err := s.sightOf(number)
	if err != nil {
		return nil, err
	}
	r := s.roots[seen.root]
	fd, err := r.open(e.Path, unix.O_RDONLY)
	if err != nil {
		return nil, found(r.path(e.Path), err)
	}
	return s.files.insert(&file{number: number, fd: fd, seen: seen, path: r.path(e.Path)}), nil
}

func (o *files) find(number uint64) *file {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	f := o.open[number]
	if f != nil {
		o.use(f)
	}
	return f
}

func (o *files) use(f *file) {
	o.turns++
	f.used = o.turns
	f.users++
}

// insert adds a file, or gives the one that somebody else has opened at the same time.
func (o *files) insert(f *file) *file {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if other := o.open[f.number]; other != nil {
		shut(f.fd)
		f = other
	}
	if o.open == nil {
		o.open = make(map[uint64]*file)
	}
	o.open[f.number] = f
	o.use(f)
	return f
}

// release gives a file back. The one that was not used for longest is closed when there are too many.
func (o *files) release(f *file) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	f.users--
	if len(o.open) <= maxOpen {
		return
	}
	var oldest *file
	for _, f := range o.open {
		if f.users == 0 && (oldest == nil || f.used < oldest.used) {
			oldest = f
		}
	}
	if oldest != nil {
		delete(o.open, oldest.number)
		shut(oldest.fd)
	}
}

func (o *files) close() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for _, f := range o.open {
		shut(f.fd)
	}
	clear(o.open)
}

// steady does something with a file that must stay the same from before to after it.
func (f *file) steady(e *manifest.Entry, do func() error) error {
	if err := f.check(e); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return f.check(e)
}

// check compares a file with what was seen of it.
func (f *file) check(e *manifest.Entry) error {
	var now unix.Stat_t
	if err := unix.Fstat(f.fd, &now); err != nil {
		return found(f.path, err)
	}
	if difference := f.seen.difference(e, &now); difference != "" {
		return &Error{Path: f.path, Reason: ErrChanged, Detail: difference}
	}
	return nil
}
