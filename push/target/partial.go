package target

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// What is in the folder of a partial.
const (
	infoFile     = "info"
	manifestFile = "manifest"
	mapFile      = "map"
	dataFolder   = "data"
	newSuffix    = ".new" // of what will be another when it is whole
	groupSize    = 1024   // files of a folder in data
)

// partial is the folder of a push that is not finished. Only this process can enter it, so names in it are plain.
type partial struct {
	parent   *os.Root // of all partials
	name     string
	folder   *os.Root
	dir      *os.File // folder: its lock keeps other processes out
	data     *os.File
	manifest *os.File
	marks    *os.File // the map: which blocks were written
	inMemory bool     // the filesystem is: to reserve room is to fill it with zeros
	shares   bool     // copies of files share their blocks with them
	info     info     // of the push that was here before
	old      bool     // there was one
}

// info is for the next push of the same, and for people who look into the folder.
type info struct {
	ID    manifest.ID `json:"id"`
	Owner string      `json:"owner"`
	Dest  string      `json:"dest"`
	Block int         `json:"block"`
	Since time.Time   `json:"since"`
}

// partialName is the same for the same manifest at the same place.
func partialName(o *Order, p *place) string {
	place := manifest.HashOf([]byte(p.path))
	return fmt.Sprintf("%x-%x", o.Manifest.Hash[:16], place[:4])
}

// openPartial opens or makes the folder of a push.
func (r *Root) openPartial(o *Order, where *place) (*partial, error) {
	parent, err := r.partials(true)
	if err != nil {
		return nil, err
	}
	p := &partial{parent: parent, name: partialName(o, where)}
	if err := p.open(o); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// How often the folder of a push is opened that is just being swept away, and how long a sweep may take with it.
const (
	openTries = 5
	sweepTime = 20 * time.Millisecond
)

func (p *partial) open(o *Order) (err error) {
	for range openTries {
		err = p.lock(o)
		switch {
		case err == nil:
			p.old = p.readInfo() == nil
			return p.openFiles()
		case !missing(err) && !errors.Is(err, ErrInUse) && !errors.Is(err, errSwept):
			return err
		}
		time.Sleep(sweepTime)
		err = errors.Join(err, p.unlock())
	}
	return err
}

var errSwept = fmt.Errorf("the folder of the push was swept away: %w", ErrChanged)

// lock opens the folder, and keeps others out of it.
func (p *partial) lock(o *Order) (err error) {
	if p.folder, err = openFolder(p.parent, p.name, true); err != nil {
		return err
	}
	if p.dir, err = p.folder.Open("."); err != nil {
		return err
	}
	if err := unix.Flock(int(p.dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = p.readInfo() // it may be gone already
		return inUse(o.Dest, &InUse{p.info.ID, p.info.Owner, p.info.Dest, p.info.Since})
	}
	if !isStill(p.parent, p.name, p.dir) { // before it was locked
		return errSwept
	}
	return nil
}

// isStill reports whether a name is that of a folder which was opened by it.
func isStill(parent *os.Root, name string, folder *os.File) bool {
	opened, err := folder.Stat()
	there, other := parent.Lstat(name)
	return err == nil && other == nil && os.SameFile(opened, there)
}

// unlock lets go of the folder.
func (p *partial) unlock() (err error) {
	if p.dir != nil {
		err = p.dir.Close()
	}
	if p.folder != nil {
		err = errors.Join(err, p.folder.Close())
	}
	p.dir, p.folder = nil, nil
	return err
}

func (p *partial) openFiles() (err error) {
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(p.dir.Fd()), &s); err != nil {
		return explain(err, "look at", p.folder.Name())
	}
	p.inMemory = s.Type == unix.TMPFS_MAGIC
	p.shares = s.Type == unix.BTRFS_SUPER_MAGIC || s.Type == unix.XFS_SUPER_MAGIC
	if p.manifest, err = p.file(manifestFile); err != nil {
		return err
	}
	if err = p.takeMap(p.info.Block); err != nil {
		return err
	}
	if err := p.folder.Mkdir(dataFolder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return explain(err, "create", p.shown(dataFolder))
	}
	p.data, err = p.folder.Open(dataFolder)
	return err
}

func (p *partial) file(name string) (*os.File, error) {
	f, err := p.folder.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	return f, explain(err, "open", p.shown(name))
}

func (p *partial) shown(name string) string { return p.folder.Name() + "/" + name }

func (p *partial) readInfo() error {
	p.info = info{}
	text, err := p.folder.ReadFile(infoFile)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, &p.info)
}

func (p *partial) writeInfo(i info) error {
	text, err := json.Marshal(i)
	if err != nil {
		return err
	}
	if err := p.folder.WriteFile(infoFile+newSuffix, append(text, '\n'), 0o600); err != nil {
		return explain(err, "write", p.shown(infoFile))
	}
	return explain(p.folder.Rename(infoFile+newSuffix, infoFile), "write", p.shown(infoFile))
}

// newMap is the name of a map that is not the map yet.
//
// Invariant: if there is one for blocks of the size that info has, it is whole, and the map. It is written before info is, and takes its
// place after that: whoever is killed in between, or finds the disk full, has lost nothing.
func newMap(block int) string { return mapFile + newSuffix + strconv.Itoa(block) }

func (p *partial) writeMap(block int, octets []byte) error {
	return explain(p.folder.WriteFile(newMap(block), octets, 0o600), "write", p.shown(mapFile))
}

// takeMap opens the map for blocks of the size that info has.
func (p *partial) takeMap(block int) (err error) {
	if p.marks != nil {
		drop(p.marks) // it was only read
		p.marks = nil
	}
	if err := p.folder.Rename(newMap(block), mapFile); err != nil && !missing(err) {
		return explain(err, "write", p.shown(mapFile))
	}
	p.marks, err = p.file(mapFile)
	return err
}

// close leaves the folder as it is, for the next push.
func (p *partial) close() error {
	var errs []error
	for _, f := range []*os.File{p.data, p.marks, p.manifest} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(append(errs, p.unlock(), p.parent.Close())...)
}

// remove deletes the folder, and closes it.
func (p *partial) remove() error {
	return errors.Join(explain(p.parent.RemoveAll(p.name), "remove", p.shown("")), p.close())
}

// dataName is where the file of an entry is.
func dataName(number uint64) string {
	return strconv.FormatUint(number/groupSize, 10) + "/" + strconv.FormatUint(number, 10)
}

// openData opens the file of an entry.
func (p *partial) openData(name string, flags int) (*os.File, error) {
	fd, err := p.openFile(name, flags, privateMode)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// privateMode is that of a file until it is placed, in a folder that is closed to others.
const privateMode = 0o600

// create opens an empty file for an entry, to write; one that was there keeps its mode.
func (p *partial) create(name string, mode uint32) (fd int, err error) {
	return p.openFile(name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, mode)
}

func (p *partial) openFile(name string, flags int, mode uint32) (fd int, err error) {
	open := func() (int, error) {
		return unix.Openat(int(p.data.Fd()), name, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, mode)
	}
	fd, err = open()
	switch {
	case flags&unix.O_CREAT != 0 && missing(err):
		if err := p.makeGroup(name); err != nil {
			return -1, err
		}
		fd, err = open()
	case errors.Is(err, unix.EACCES): // an earlier attempt has given it its own mode, and did not get to name it
		if err := unix.Fchmodat(int(p.data.Fd()), name, privateMode, 0); err != nil {
			return -1, err
		}
		fd, err = open()
	}
	return fd, err
}

// makeGroup makes the folder that a name of data is in.
func (p *partial) makeGroup(name string) error {
	group, _ := split(name)
	if err := unix.Mkdirat(int(p.data.Fd()), group, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}

func (p *partial) has(number uint64) bool {
	_, err := statAt(p.data, dataName(number))
	return err == nil
}

// allocated is how many bytes the file of an entry takes on the disk.
func (p *partial) allocated(number uint64) uint64 {
	const unit = 512 // of the kernel, whatever the filesystem has
	s, err := statAt(p.data, dataName(number))
	if err != nil {
		return 0
	}
	return uint64(s.Blocks) * unit
}

// discard removes what may be under a name of data.
func (p *partial) discard(name string) error {
	if err := unix.Unlinkat(int(p.data.Fd()), name, 0); err != nil && !missing(err) {
		return err
	}
	return nil
}

// claimed reads the map: blocks of the layout of now that were written, as far as the layout of then tells.
func (p *partial) claimed(l manifest.Layout) (bitset, error) {
	set := newBitset(uint64(l.Blocks()))
	if !p.old || p.info.Block <= 0 {
		return set, nil
	}
	then := manifest.NewLayout(manifest.ContentStream, l.Size, p.info.Block)
	octets, err := io.ReadAll(io.NewSectionReader(p.marks, 0, int64(then.Blocks()+7)/8))
	if err != nil {
		return nil, err
	}
	for block := range l.Blocks() {
		if covered(octets, then, l.Offset(block), uint64(l.Len(block))) {
			set.add(uint64(block))
		}
	}
	return set, nil
}

// covered reports whether all blocks of a part of the content are marked.
func covered(octets []byte, l manifest.Layout, offset, length uint64) bool {
	last := (offset + max(length, 1) - 1) / uint64(l.Block)
	for block := offset / uint64(l.Block); block <= last; block++ {
		if block/8 >= uint64(len(octets)) || octets[block/8]&(1<<(block%8)) == 0 {
			return false
		}
	}
	return true
}
