package soft

import (
	"errors"
	"net"
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// stranger is a process that speaks to a device by hand, as a neighbour does.
type stranger struct {
	t     testing.TB
	me    identity
	conn  *net.UnixConn
	arena *arena
}

// strangers have names that come before all others, so that it is they who call.
var strangers identity

// newStranger prepares one that has not said anything yet.
func newStranger(t testing.TB) *stranger {
	t.Helper()
	strangers++
	a, err := newArena()
	ok(t, err)
	s := &stranger{t: t, me: strangers, arena: a}
	t.Cleanup(func() { s.arena.close(false) })
	return s
}

func (s *stranger) dial(d *Device) {
	s.t.Helper()
	c, err := net.DialUnix("unixpacket", nil, meetingName(d.identity))
	ok(s.t, err)
	s.adopt(c)
}

func (s *stranger) adopt(c *net.UnixConn) {
	s.conn = c
	s.t.Cleanup(func() { c.Close() })
	ok(s.t, c.SetDeadline(time.Now().Add(tolerance)))
}

// greet calls a device and is taken for a neighbour.
func (s *stranger) greet(d *Device) {
	s.t.Helper()
	s.dial(d)
	s.say(&note{Kind: noteHello, Device: uint64(s.me), There: noteName{Device: uint64(d.identity)}}, nil, s.arena.fd)
	in := s.hear()
	if in.Kind != noteHello || in.fd < 0 {
		s.t.Fatalf("%+v instead of a hello", in.note)
	}
	closeDescriptor(in.fd)
}

// known waits until the device has entered the stranger: its hello comes before that.
func (s *stranger) known(d *Device) {
	s.t.Helper()
	until(s.t, "it is known", func() bool {
		d.neighbours.mu.Lock()
		defer d.neighbours.mu.Unlock()
		return d.neighbours.known[s.me] != nil
	})
}

// say sends a note. The other side may have hung up.
func (s *stranger) say(m *note, extents []extent, fd int) {
	_ = send(s.conn, m.encode(extents), fd, true)
}

func (s *stranger) hear() noteWithFD {
	s.t.Helper()
	in, err := hear(s.conn)
	ok(s.t, err)
	return in
}

// until hears notes up to one of a kind, and closes what comes with the others.
func (s *stranger) until(kind noteKind) noteWithFD {
	s.t.Helper()
	for {
		in := s.hear()
		if in.Kind == kind {
			return in
		}
		closeDescriptor(in.fd)
	}
}

// gone hears the device out until it hangs up.
func (s *stranger) gone() {
	s.t.Helper()
	for {
		in, err := hear(s.conn)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			s.t.Fatal("the device has not hung up")
		}
		if err != nil {
			return
		}
		closeDescriptor(in.fd)
	}
}

// words places what a life of the stranger's consists of.
func (s *stranger) words() lifeNote {
	s.t.Helper()
	place := func(size uintptr) uint64 {
		r, err := s.arena.take(uint64(size))
		ok(s.t, err)
		return uint64(r)
	}
	n := lifeNote{End: place(unsafe.Sizeof(end{})), Order: place(8 * unsafe.Sizeof(arrival{})), OrderLength: 8,
		Words: place(unsafe.Sizeof(queueWords{})), Leaf: place(64), Bit: 1, Group: 1, Domain: 1,
		Pool: place(unsafe.Sizeof(poolWords{})), Slots: place(8 * unsafe.Sizeof(slot{})), Spans: place(8 * 16),
		Posts: place(8 * 4), Depth: 8, PostsLength: 8, MaxSpans: 2}
	e := (*end)(unsafe.Pointer(&s.arena.bytes[n.End]))
	e.phaseWord.Store(uint32(phaseConnecting))
	e.access.Store(uint32(driver.RemoteAll))
	return n
}

// address is that of a queue pair of the stranger's.
func (s *stranger) address(number uint32) driver.Address {
	a := address{host: process.host, process: 1, lifeName: lifeName{s.me, number, 1}, shm: process.user}
	return driver.Address(a.String())
}

// event returns a descriptor that wakes a completion queue.
func (s *stranger) event() int {
	s.t.Helper()
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	ok(s.t, err)
	return fd
}

// connect is the peer of a new queue pair of h. It calls.
func (s *stranger) connect(h *host) *QueuePair {
	s.t.Helper()
	q := h.pair()
	ok(s.t, q.Connect(connectTag, s.address(q.number)))
	l := q.life.Load()
	fd := s.event()
	s.say(&note{Kind: noteCall, Here: noteName{uint64(s.me), q.number, 1},
		There: noteName{uint64(h.device.identity), q.number, l.epoch}, Life: s.words()}, nil, fd)
	closeDescriptor(fd)
	closeDescriptor(s.until(noteAccept).fd)
	h.expect(connectTag, driver.OpConnect, driver.OK)
	return q
}

// file makes a memfd: sealed or not.
func (s *stranger) file(size int64, sealed bool) int {
	s.t.Helper()
	fd, err := unix.MemfdCreate("stranger", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	ok(s.t, err)
	ok(s.t, unix.Ftruncate(fd, size))
	if sealed {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK)
		ok(s.t, err)
	}
	return fd
}

// region describes memory of the stranger's at a key, all granted.
func (s *stranger) region(key, size uint64) *note {
	r, err := s.arena.take(8)
	ok(s.t, err)
	c := (*regionControl)(unsafe.Pointer(&s.arena.bytes[r]))
	c.word.Store(1<<serialBits | alive | uint64(driver.RemoteAll))
	return &note{Kind: noteRegion, Found: 1, Key: key, Domain: 1, Region: regionNote{Control: uint64(r), Serial: 1 << serialBits,
		Base: 1 << 30, Length: size, RemoteKey: key, LocalKey: uint32(key)}}
}

func countDescriptors(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	ok(t, err)
	return len(list)
}

// sameDescriptors checks that as many are open as before, once the collector has closed what nobody holds.
func sameDescriptors(t testing.TB, before int) {
	t.Helper()
	limit := clock.Real.Now().Add(tolerance)
	for countDescriptors(t) > before {
		if clock.Real.Now() > limit {
			t.Fatalf("%d descriptors are open, before there were %d", countDescriptors(t), before)
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

// Who does not greet as he should is turned away, and the file that he brought is not mapped.
func TestStrangersAreTurnedAway(t *testing.T) {
	l := newNeighbours(t)
	d := l.b.device
	before := countDescriptors(t)
	var pipe [2]int
	ok(t, unix.Pipe(pipe[:]))
	for name, arena := range map[string]func(*stranger) int{
		"no file":      func(*stranger) int { return -1 },
		"a pipe":       func(*stranger) int { fd, _ := unix.Dup(pipe[0]); return fd },
		"not sealed":   func(s *stranger) int { return s.file(arenaSize, false) },
		"too short":    func(s *stranger) int { return s.file(arenaSize-4096, true) },
		"a plain file": func(*stranger) int { fd, _ := unix.Open("/proc/self/exe", unix.O_RDONLY, 0); return fd },
	} {
		s := newStranger(t)
		s.dial(d)
		fd := arena(s)
		s.say(&note{Kind: noteHello, Device: uint64(s.me), There: noteName{Device: uint64(d.identity)}}, nil, fd)
		closeDescriptor(fd)
		s.gone()
		s.conn.Close()
		s.arena.close(false)
		s.arena = nil
		d.neighbours.mu.Lock()
		if n := len(d.neighbours.known); n != 1 {
			t.Errorf("%s: there are %d neighbours", name, n)
		}
		d.neighbours.mu.Unlock()
	}
	ok(t, errors.Join(unix.Close(pipe[0]), unix.Close(pipe[1])))
	sameDescriptors(t, before)
	l.works()
}

// works writes a word from a to b.
func (l *link) works() {
	l.a.t.Helper()
	l.mema.Region().Bytes[0]++
	post(l.a.t, l.qa, driver.Request{Tag: 77, Op: driver.OpWrite, Span: span(l.mema, 0, 8), Remote: remote(l.memb, 0, 8)})
	l.a.expect(77, driver.OpWrite, driver.OK, l.b)
	if l.memb.Region().Bytes[0] != l.mema.Region().Bytes[0] {
		l.a.t.Fatal("a write of the other connection has not landed")
	}
}
