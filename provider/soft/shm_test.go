package soft

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/verbs/driver"
)

// newNeighbours is a link by shared memory.
func newNeighbours(t testing.TB, edit ...func(*driver.QueueConfig)) *link {
	t.Helper()
	return newLinkOn(t, Config{Name: t.Name(), Lanes: SharedMemory, PeerTimeout: tolerance}, edit...) // a busy machine may take a second
}

// file returns a file of zeros, mapped shared and registered at h.
func (h *host) file(size int) (*os.File, *Memory) {
	h.t.Helper()
	f, err := os.Create(filepath.Join(h.t.TempDir(), "file"))
	ok(h.t, err)
	ok(h.t, f.Truncate(int64(size)))
	return f, h.register(f, size)
}

func (h *host) register(f *os.File, size int) *Memory {
	h.t.Helper()
	b, err := mapShared(int(f.Fd()), 0, size)
	ok(h.t, err)
	m, err := h.domain.Register(b, driver.RemoteAll)
	ok(h.t, err)
	h.shut = append(h.shut, func() error { return unix.Munmap(b) }, f.Close, m.Close)
	return m.(*Memory)
}

// A registered file can be written to by a neighbour. When somebody truncates it, a request ends with an error and the
// process goes on: at the target, and at the source.
func TestTruncatedFile(t *testing.T) {
	const size = 1 << 16
	l := newNeighbours(t)
	target, there := l.b.file(size)
	source, here := l.a.file(size)
	copy(here.Region().Bytes, "to a file")
	write := driver.Request{Op: driver.OpWrite, Span: span(here, 0, size), Remote: remote(there, 0, size)}
	post(t, l.qa, write)
	l.a.expect(0, driver.OpWrite, driver.OK)
	if got := string(there.Region().Bytes[:9]); got != "to a file" {
		t.Fatalf("the file begins with %q", got)
	}
	ok(t, target.Truncate(4096))
	post(t, l.qa, write)
	l.a.expect(0, driver.OpWrite, driver.RemoteAccess)
	reconnect(l)
	ok(t, source.Truncate(4096))
	write.Remote = remote(l.memb, 0, size)
	post(t, l.qa, write)
	l.a.expect(0, driver.OpWrite, driver.LocalProtection)
}

// reconnect resets both ends and connects them again.
func reconnect(l *link) {
	ok(l.a.t, l.qa.Reset(1))
	ok(l.b.t, l.qb.Reset(1))
	l.a.expect(1, driver.OpReset, driver.OK)
	l.b.expect(1, driver.OpReset, driver.OK)
	join(l.a, l.qa, l.b, l.qb)
}

// Private memory is a source for neighbours and nothing else: they cannot map it.
func TestPrivateMemoryIsOnlyASource(t *testing.T) {
	l := newNeighbours(t)
	b, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	ok(t, err)
	for _, h := range []*host{l.a, l.b} {
		m, err := h.domain.Register(b, driver.RemoteAll)
		ok(t, err)
		h.shut = append(h.shut, m.Close)
		mem := m.(*Memory)
		if h == l.a {
			post(t, l.qa, driver.Request{Tag: 1, Op: driver.OpWrite, Span: span(mem, 0, 8), Remote: remote(l.memb, 0, 8)})
			l.a.expect(1, driver.OpWrite, driver.OK)
			continue
		}
		post(t, l.qa, driver.Request{Tag: 2, Op: driver.OpWrite, Span: span(l.mema, 0, 8), Remote: remote(mem, 0, 8)})
		l.a.expect(2, driver.OpWrite, driver.RemoteAccess)
		reconnect(l)
		receive(t, l.qb, driver.Receive{Tag: 3, Span: span(mem, 0, 8)})
		post(t, l.qa, driver.Request{Tag: 4, Op: driver.OpSend, Span: span(l.mema, 0, 8)})
		l.a.expect(4, driver.OpSend, driver.RemoteInvalid)
		l.b.expect(3, driver.OpReceive, driver.LocalProtection)
	}
}
