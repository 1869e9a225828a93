package soft

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/verbs/driver"
)

// theatre is a host whose queue pairs talk to whoever the fuzzer makes up, and memory of every kind.
type theatre struct {
	*host
	open, readOnly, secret, closed *Memory
	lent, takenBack                uint64 // keys: of what may be read, and of what is secret again
}

func newTheatre(t testing.TB) *theatre {
	a := &theatre{host: newHostWith(t, Config{Name: "theatre", Lanes: TCP, PeerTimeout: time.Hour})}
	a.open, a.readOnly = a.memory(64<<10, driver.RemoteAll), a.memory(4096, driver.RemoteRead)
	a.secret, a.closed = a.memory(4096, 0), a.memory(4096, driver.RemoteAll)
	ok(t, a.closed.Close())
	for i := range 4096 / len(secretText) {
		copy(a.secret.Region().Bytes[i*len(secretText):], secretText)
	}
	return a
}

const secretText = "not for you! "

// stage is a queue pair with a wire whose other end is in the fuzzer's hands.
func (a *theatre) stage(t testing.TB, requests int) (q *QueuePair, other int) {
	t.Helper()
	q = a.pair()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	ok(t, err)
	q.cq.mu.Lock()
	p, err := q.cq.needPoller()
	ok(t, err)
	l := q.life.Load()
	l.moveTo(phaseNew, phaseReady)
	w := &wire{q: q, life: l, poller: p, pipe: &socket{fd: fds[0]}, fd: fds[0], depth: 8}
	ok(t, w.begin(1))
	q.cq.mu.Unlock()
	receive(t, q, driver.Receive{Span: span(a.open, 32<<10, 64)}, driver.Receive{Span: span(a.open, 33<<10, 4096)})
	own := a.lend(t, q)
	for i := range requests {
		op := driver.Op(1 + i%9)
		r := driver.Request{Op: op, Span: span(a.open, 48<<10, 8), Remote: driver.RemoteSpan{Length: 8}}
		switch op {
		case driver.OpRead:
			r.Span.Length, r.Remote.Length = 4096, 4096
		case driver.OpBind:
			r, _ = bind(0, own, span(a.open, 48<<10, 8), driver.RemoteAll)
		case driver.OpRevoke:
			r = revoke(0, own)
		}
		post(t, q, r)
	}
	return q, fds[1]
}

// lend lends something through the queue pair, takes something else back, and returns a window that is left.
func (a *theatre) lend(t testing.TB, q *QueuePair) *Window {
	t.Helper()
	first, second := a.window(q), a.window(q)
	open, lent := bind(0, first, span(a.readOnly, 0, 4096), driver.RemoteRead)
	over, takenBack := bind(0, second, span(a.secret, 0, 4096), driver.RemoteAll)
	post(t, q, open, over, revoke(0, second))
	a.lent, a.takenBack = lent.Key, takenBack.Key
	return second
}

// frameFrom makes a frame that is nearly right out of a few bytes: a fuzzer would never guess a key.
func (a *theatre) frameFrom(b []byte) (h header, payload int) {
	m := []*Memory{a.open, a.readOnly, a.secret, a.closed, a.readOnly, a.secret}[b[1]%6].region
	key := []uint64{4: a.lent, 5: a.takenBack}[b[1]%6]
	if key == 0 {
		key = m.remoteKey
	}
	h = header{op: frameOp(b[0] % 32), sequence: uint32(b[2] % 16), ack: uint32(b[3] % 16), total: uint32(b[4]) * uint32(b[5]),
		key: key + uint64(b[6]/250), address: m.base + uint64(b[7])*uint64(b[8]), imm: uint32(b[9]), operand: uint64(b[9])}
	if h.length = pieceOf(h.total); !h.op.hasPayload() || b[10] > 250 {
		h.length = uint32(b[10]) * 17 * uint32(b[11]/128)
	}
	if h.op == frameNak {
		h.status = driver.Status(b[9])
	}
	return h, int(min(h.length, 8192))
}

// FuzzFrames sends made-up frames, whole, cut and glued together, to a queue pair. It must not panic or hang, write where
// it may not, or give away what it may not.
func FuzzFrames(f *testing.F) {
	a := newTheatre(f)
	before := bytes.Clone(a.readOnly.Region().Bytes)
	seed := func(requests uint8, raw bool, frames ...byte) { f.Add(requests, raw, frames) }
	for op := range byte(frameOpEnd) {
		seed(op, false, op, 0, 0, 0, 8, 1, 0, 0, 0, 7, 0, 0, op, 0, 1, 0, 200, 40, 0, 8, 3, 7, 0, 0)
		seed(7, false, op, 2, 0, 1, 8, 8, 0, 0, 0, 5, 0, 0)
		seed(15, false, op, 4, 0, 9, 8, 8, 0, 0, 0, 5, 0, 0, op, 5, 1, 9, 8, 8, 0, 0, 0, 5, 0, 0)
	}
	seed(3, true, 1, 2, 3, 4)
	f.Fuzz(func(t *testing.T, requests uint8, raw bool, data []byte) {
		if len(data) > 4096 {
			return
		}
		a.t = t
		defer func() { a.t = f }()
		q, other := a.stage(t, int(requests%16))
		defer unix.Close(other)
		var said []byte
		if raw {
			said = data
		}
		for b := data; !raw && len(b) >= 12; b = b[12:] {
			h, n := a.frameFrom(b)
			said = append(said, make([]byte, headerSize+n)...)
			h.put(said[len(said)-headerSize-n:])
		}
		heard := a.talk(t, other, said, data)
		if bytes.Contains(heard, []byte(secretText)) {
			t.Error("a secret was given away")
		}
		if !bytes.Equal(a.readOnly.Region().Bytes, before) {
			t.Error("memory was written that may only be read")
		}
		ok(t, q.Close())
		a.poll()
		a.kept, a.shut = nil, a.shut[:len(a.shut)-1]
	})
}

// talk sends said in pieces, as long as data says, and returns what was answered.
func (a *theatre) talk(t *testing.T, fd int, said, data []byte) (heard []byte) {
	var into [64 << 10]byte
	least := 1 + len(said)/512 // so that it comes to an end
	for i := 0; len(said) > 0; i++ {
		n := min(len(said), least+int(data[i%len(data)])*31)
		n, err := unix.Write(fd, said[:n])
		if err == nil {
			said = said[n:]
		} else if err != unix.EAGAIN {
			break
		}
		a.poll()
		if n, _ := unix.Read(fd, into[:]); n > 0 {
			heard = append(heard, into[:n]...)
		}
	}
	for range 8 {
		a.poll()
		if n, _ := unix.Read(fd, into[:]); n > 0 {
			heard = append(heard, into[:n]...)
		}
	}
	return heard
}

// FuzzHello: no text makes the reader of hellos, or of answers, do anything but read it or refuse it, and what it reads it
// can say.
func FuzzHello(f *testing.F) {
	h := hello{depth: 4, to: lifeName{1, 2, 3}, proof: proof{7, 8}, from: address{process: 1, lifeName: lifeName{4, 5, 6}, tcp: "127.0.0.1:1"}}
	f.Add(h.text())
	f.Add(answerText(3, proof{9}, nil))
	f.Add(answerText(0, proof{}, errNoHello))
	h.from.secret = secret{1}
	f.Add(append(h.text(), h.from.text()...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := readHello(bytes.NewReader(b)); err == nil && !bytes.HasPrefix(b, h.text()) {
			t.Errorf("%x was read as %+v", b, h)
		}
		if depth, p, err := readAnswer(bytes.NewReader(b)); err == nil && !bytes.HasPrefix(b, answerText(depth, p, nil)) {
			t.Errorf("%x was read as depth %d", b, depth)
		}
	})
}

// FuzzHeader: a header that is taken is written again as it was.
func FuzzHeader(f *testing.F) {
	for op := range byte(frameOpEnd) {
		f.Add(append([]byte{op}, make([]byte, headerSize-1)...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h header
		if len(b) < headerSize || h.parse(b) != nil {
			return
		}
		var again [headerSize]byte
		if h.put(again[:]); !bytes.Equal(again[:], b[:headerSize]) {
			t.Errorf("%x became %x", b[:headerSize], again)
		}
		if binary.LittleEndian.Uint32(b[4:]) > maxPiece {
			t.Errorf("a piece of %d bytes was taken", h.length)
		}
	})
}
