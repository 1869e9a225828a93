package target

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/push/manifest"
)

// started is a delivery of items below a fresh root, up to where content comes.
func started(t *testing.T, items ...item) (*Delivery, *parcel) {
	t.Helper()
	r, _ := openTest(t)
	p := pack(t, items...)
	d, err := p.start(r, p.order("."))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Keep() })
	return d, p
}

// mustWrite writes blocks of the content.
func (p *parcel) mustWrite(t *testing.T, d *Delivery, blocks ...int) {
	t.Helper()
	for _, block := range blocks {
		if err := d.Write(block, cut(d.Content(), p.content, block)); err != nil {
			t.Fatal(err)
		}
	}
}

// canReserve reports whether the filesystem of tests reserves room.
func canReserve(t *testing.T) bool {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return unix.Fallocate(int(f.Fd()), 0, 0, 1) == nil
}

// When the first block of a file comes, the disk has room for all of it; of one with holes it has not.
func TestRoomIsReserved(t *testing.T) {
	large, hollow := file("large", noise(1, 16*testBlock)), file("s", noise(2, 16*testBlock))
	hollow.Extents = []manifest.Extent{{Length: 2 * testBlock}}
	d, p := started(t, large, hollow)
	if d.partial.inMemory || !canReserve(t) {
		t.Skip("on this filesystem no room is reserved")
	}
	p.mustWrite(t, d, 3, 16)
	room := func(number uint64) int64 {
		s, err := statAt(d.partial.data, dataName(number))
		if err != nil {
			t.Fatal(err)
		}
		return s.Blocks * 512
	}
	if got := room(0); got < 16*testBlock {
		t.Errorf("a block of 16 has come, and there is room for %d bytes", got)
	}
	if got := room(1); got >= 16*testBlock {
		t.Errorf("a file with holes takes %d bytes", got)
	}
}

// Bytes that are written are counted, and when there are many the kernel is asked to begin with them.
func TestSteadyWriteBack(t *testing.T) {
	blocks := writeBack / testBlock
	d, p := started(t, file("large", noise(1, writeBack+testBlock)))
	dirty := func() int64 {
		f := d.files.recent.Front().Value.(*openFile)
		return f.dirty.Load()
	}
	for block := range blocks - 1 {
		p.mustWrite(t, d, block)
	}
	if got := dirty(); got != writeBack-testBlock {
		t.Errorf("%d bytes are not on their way to the disk, of %d", got, writeBack-testBlock)
	}
	if p.mustWrite(t, d, blocks-1); dirty() != 0 {
		t.Errorf("after %d bytes %d are not on their way", writeBack, dirty())
	}
}

// The kernel hears of it: what it cannot write is an error, and only then.
func TestWriteBackAsksTheKernel(t *testing.T) {
	fd, err := unix.Open(t.TempDir(), unix.O_PATH, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := &openFile{File: os.NewFile(uintptr(fd), "only named")}
	defer f.Close()
	if err := f.startWriteBack(writeBack - 1); err != nil {
		t.Errorf("the kernel is asked too early: %v", err)
	}
	if err := f.startWriteBack(1); !errors.Is(err, unix.EBADF) {
		t.Errorf("the kernel is not asked: %v", err)
	}
}
