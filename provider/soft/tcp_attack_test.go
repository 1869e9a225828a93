package soft

import (
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// narrow is a pipe that takes only as many bytes as there is room for, and then fails if it has an error.
type narrow struct {
	pipe
	room  int
	errno syscall.Errno
}

func (n *narrow) writev(from []iovec) (int, syscall.Errno) {
	if n.errno != 0 {
		return 0, n.errno
	}
	var cut []iovec
	for _, v := range from {
		v.length = min(v.length, uint64(n.room))
		n.room -= int(v.length)
		if v.length > 0 {
			cut = append(cut, v)
		}
	}
	if len(cut) == 0 {
		return 0, eagain
	}
	return n.pipe.writev(cut)
}

// narrowed makes the intruder's victim write through a narrow pipe.
func (i *intruder) narrowed(room int) *narrow {
	n := &narrow{pipe: i.q.wire.pipe, room: room}
	i.q.wire.pipe = n
	return n
}

// until polls the host until something is so.
func (i *intruder) until(what string, so func() bool) {
	i.t.Helper()
	for end := time.Now().Add(tolerance); !so(); i.h.poll() {
		if time.Now().After(end) {
			i.t.Fatalf("never: %s", what)
		}
	}
}

// sayTogether sends headers in one piece, so that they are read in one visit.
func (i *intruder) sayTogether(list ...header) {
	var b []byte
	for _, h := range list {
		b = append(b, make([]byte, headerSize)...)
		h.put(b[len(b)-headerSize:])
	}
	_, _ = i.conn.Write(b)
}

// drain reads the payload of a frame.
func (i *intruder) drain(h header) {
	i.t.Helper()
	for left := int64(h.length); left > 0; i.h.poll() {
		_ = i.conn.SetReadDeadline(time.Now().Add(time.Millisecond))
		n, err := io.CopyN(io.Discard, i.conn, left)
		if left -= n; err != nil && n == 0 && i.q.State() != driver.Ready {
			i.t.Fatalf("%d bytes are missing: %v", left, err)
		}
	}
}

// TestStarvedIsNotDone: a request that was sent back for want of a receive is not done before it was sent again. Who
// says so is dropped, and nothing is reported twice.
func TestStarvedIsNotDone(t *testing.T) {
	l := newLinkOn(t, Config{Name: t.Name(), Lanes: TCP, PeerTimeout: 10 * tolerance})
	for name, answers := range map[string][]header{
		"not ready, done":                {{op: frameNotReady}, {op: frameAck, ack: 1}},
		"not ready, ready, done, answer": {{op: frameNotReady}, {op: frameReady}, {op: frameRead, sequence: 1, ack: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			i := intrude(t, l.b, 4)
			i.t = t
			post(t, i.q, driver.Request{Tag: 5, Op: driver.OpSend, Span: span(l.memb, 0, 8)}, driver.Request{Tag: 6, Op: driver.OpRead})
			i.sayTogether(answers...)
			l.b.expect(5, driver.OpSend, driver.RetryExceeded)
			l.b.expect(6, driver.OpRead, driver.Flushed)
			l.b.silent()
			if n := i.q.requester.backlog.count; n != 0 {
				t.Errorf("%d requests are left", n)
			}
			i.dropped(l)
		})
	}
}

// TestFenceSeesTornRead: a Read whose header was written in part is under way, too.
func TestFenceSeesTornRead(t *testing.T) {
	h := newHostWith(t, Config{Name: t.Name(), Lanes: TCP, PeerTimeout: 10 * tolerance})
	m := h.memory(64, 0)
	i := intrude(t, h, 4)
	n := i.narrowed(20)
	post(t, i.q, driver.Request{Tag: 1, Op: driver.OpRead, Span: span(m, 0, 8), Remote: driver.RemoteSpan{Length: 8}},
		driver.Request{Tag: 2, Op: driver.OpWrite, Flags: driver.Fence, Span: span(m, 8, 8), Remote: driver.RemoteSpan{Length: 8}})
	n.room = 1 << 20
	w := i.q.wire
	i.until("the Read is written", func() bool { return !w.out.under })
	if w.sent != 1 {
		t.Fatalf("%d requests were sent before the Read was answered", w.sent)
	}
	if got := i.hear(); got.op != frameOp(driver.OpRead) {
		t.Fatalf("frame %d, want a Read", got.op)
	}
	i.say(header{op: frameRead, length: 8}, 8)
	h.expect(1, driver.OpRead, driver.OK)
	if got := i.hear(); got.op != frameOp(driver.OpWrite) {
		t.Fatalf("frame %d, want a Write", got.op)
	}
}

// TestStarvedBehindTornWrite: a Send that must be sent again is, though the memory of the Write behind it, whose frame is
// under way, has gone.
func TestStarvedBehindTornWrite(t *testing.T) {
	h := newHostWith(t, Config{Name: t.Name(), Lanes: TCP, PeerTimeout: 10 * tolerance})
	m, short := h.memory(1<<20, 0), h.memory(64, 0)
	i := intrude(t, h, 4)
	n := i.narrowed(headerSize + 8 + headerSize + 1000)
	post(t, i.q, driver.Request{Tag: 1, Op: driver.OpSend, Span: span(short, 0, 8)},
		driver.Request{Tag: 2, Op: driver.OpWrite, Span: span(m, 0, 1<<20), Remote: driver.RemoteSpan{Length: 1 << 20}})
	ok(t, m.Close())
	n.room = 1 << 30
	i.drain(i.hear())
	i.say(header{op: frameNotReady}, 0)
	i.until("it hears that there is no receive", func() bool { return i.q.wire.starving })
	i.say(header{op: frameReady}, 0)
	i.drain(i.hear())
	got := i.hear()
	if got.op != frameOp(driver.OpSend) || got.sequence != 0 {
		t.Fatalf("frame %d of request %d, want the Send again", got.op, got.sequence)
	}
	i.drain(got)
	i.say(header{op: frameAck, ack: 1}, 0)
	h.expect(1, driver.OpSend, driver.OK)
	h.expect(2, driver.OpWrite, driver.LocalProtection)
}

// TestPostToBroken: a Post that finds its connection broken touches nothing of what was under way on it.
func TestPostToBroken(t *testing.T) {
	h := newHostWith(t, Config{Name: t.Name(), Lanes: TCP, PeerTimeout: 10 * tolerance})
	m := h.memory(1<<20, 0)
	i := intrude(t, h, 4)
	n := i.narrowed(1 << 20)
	w := i.q.wire
	post(t, i.q, driver.Request{Tag: 1, Op: driver.OpRead, Span: span(m, 0, 1<<20), Remote: driver.RemoteSpan{Length: 1 << 20}})
	i.say(header{op: frameRead, length: pieceOf(1 << 20)}, 1000)
	i.until("a part of the Read has come", func() bool { return w.fetched == 1000 })
	_, err := i.conn.Write(make([]byte, 1000))
	ok(t, err)
	w.pinging.Store(true)
	w.life.breakTo(phaseOrphaned) // as the attendant does
	n.errno = syscall.EPIPE
	posted := make(chan struct{})
	go func() {
		defer close(posted)
		_, _ = i.q.Post([]driver.Request{{Tag: 2, Op: driver.OpWrite}})
	}()
	select {
	case <-posted:
	case <-time.After(tolerance):
		t.Fatal("Post does not return")
	}
	h.expect(1, driver.OpRead, driver.RetryExceeded)
	h.expect(2, driver.OpWrite, driver.Flushed)
	h.silent()
}

// TestPingsPassWhoLeaves: a connection that only waits for the peer to have heard a refusal does not answer for others.
func TestPingsPassWhoLeaves(t *testing.T) {
	h := newHostWith(t, Config{Name: t.Name(), Lanes: TCP, PeerTimeout: 400 * time.Millisecond})
	refused, other := intrude(t, h, 4), intrude(t, h, 4)
	refused.say(header{op: frameOp(driver.OpRead), total: 8}, 0)
	refused.until("it is refused", func() bool { return refused.q.wire == nil })
	for range 4 {
		if got := other.hear(); got.op != framePing {
			t.Fatalf("frame %d, want a ping", got.op)
		}
		other.say(header{op: framePong}, 0)
	}
}

// TestRouseAfterClose: who is late to wake the owner of a closed queue writes to nobody else's descriptor.
func TestRouseAfterClose(t *testing.T) {
	p, err := newPoller()
	ok(t, err)
	p.close()
	for range 16 {
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		ok(t, err)
		defer unix.Close(fd)
		if fd != p.event {
			continue
		}
		p.rouse()
		var count [8]byte
		if _, err := unix.Read(fd, count[:]); err != unix.EAGAIN {
			t.Fatalf("the new owner of the descriptor reads %v, %v", count, err)
		}
		return
	}
	t.Skip("somebody else has got the descriptor")
}

// TestNextReachesSleeper: what was found to be due while the owner was about to sleep is not slept through.
func TestNextReachesSleeper(t *testing.T) {
	h := newHostWith(t, Config{Name: t.Name(), Lanes: TCP, PeerTimeout: 10 * tolerance})
	i := intrude(t, h, 4, func(c *driver.QueueConfig) { c.ReceiverWait = 50 * time.Millisecond })
	post(t, i.q, driver.Request{Tag: 1, Op: driver.OpSend})
	next, _, _, err := h.cq.attend()
	ok(t, err)
	i.say(header{op: frameNotReady}, 0)
	for heard := false; !heard; {
		h.cq.mu.Lock()
		h.cq.serve() // as the attendant does
		heard = i.q.wire == nil || i.q.wire.starving
		h.cq.mu.Unlock()
	}
	woken := make(chan struct{})
	go func() {
		defer close(woken)
		h.cq.doze(next)
	}()
	select {
	case <-woken:
	case <-time.After(tolerance):
		t.Error("the owner sleeps for ever")
		h.cq.Wake()
		<-woken
	}
	h.expect(1, driver.OpSend, driver.ReceiverNotReady)
}

// held is a connection whose writes can be held back, to be sent together.
type held struct {
	net.Conn
	hold bool
	kept []byte
}

func (h *held) Write(b []byte) (int, error) {
	if h.hold {
		h.kept = append(h.kept, b...)
		return len(b), nil
	}
	return h.Conn.Write(b)
}

// TestTLSHearsWhatCameWithTheAnswer: package tls may have read it already, so that the kernel does not report it.
func TestTLSHearsWhatCameWithTheAnswer(t *testing.T) {
	a := newAuthority(t)
	h := newHostWith(t, Config{Name: t.Name(), Lanes: TCP, TLS: a.config(t, a), PeerTimeout: 10 * tolerance})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	defer listener.Close()
	for n := range uint32(few + 2) {
		q := h.pair()
		peer := address{host: process.host, process: 1, lifeName: lifeName{^identity(0), n + 1, 1}, tcp: listener.Addr().String()}
		ok(t, q.Connect(connectTag, driver.Address(peer.String())))
		raw, err := listener.Accept()
		ok(t, err)
		defer raw.Close()
		_ = raw.SetDeadline(time.Now().Add(tolerance))
		below := &held{Conn: raw}
		c := tls.Server(below, mutualTLS(a.config(t, a)))
		_, err = readHello(c)
		ok(t, err)
		binding, err := bindingOf(c)
		ok(t, err)
		below.hold = true
		_, err = c.Write(answerText(4, h.device.address(q.life.Load()).secret.prove(provesCalled, binding), nil))
		ok(t, err)
		ping := make([]byte, headerSize)
		(&header{op: framePing}).put(ping)
		_, err = c.Write(ping)
		ok(t, err)
		_, err = raw.Write(below.kept)
		ok(t, err)
		h.expect(connectTag, driver.OpConnect, driver.OK)
		pong := make(chan error, 1)
		go func() {
			_, err := io.ReadFull(c, ping)
			pong <- err
		}()
		for end := clock.Real.Now().Add(tolerance / 2); len(pong) == 0 && clock.Real.Now() < end; h.poll() {
		}
		if len(pong) == 0 {
			t.Fatalf("connection %d: no answer to what came with the answer", n)
		}
		if err := <-pong; err != nil || ping[0] != byte(framePong) {
			t.Fatalf("connection %d: got frame %d, %v", n, ping[0], err)
		}
	}
}

// TestSpoiledWhileBlocked: the peer hears that its message could not be received, though there was no room to say so, and
// the owner sees the error and the state together.
func TestSpoiledWhileBlocked(t *testing.T) {
	h := newHostWith(t, Config{Name: t.Name(), Lanes: TCP, PeerTimeout: 10 * tolerance})
	m := h.memory(64, 0)
	i := intrude(t, h, 4)
	receive(t, i.q, driver.Receive{Tag: 1, Span: span(m, 0, 8)})
	n := i.narrowed(0)
	w := i.q.wire
	i.say(header{op: frameOp(driver.OpSend), length: 16, total: 16}, 16)
	i.until("the message has come", func() bool { return w.in.refused })
	for range 10 {
		i.h.poll()
	}
	if len(h.kept) > 0 && i.q.State() != driver.Error {
		t.Errorf("got %+v in state %v", h.kept[0], i.q.State())
	}
	n.room = 1 << 20
	if got := i.hear(); got.op != frameNak || got.status != driver.RemoteInvalid {
		t.Fatalf("frame %d with status %v, want a refusal", got.op, got.status)
	}
	h.expect(1, driver.OpReceive, driver.LocalLength)
	if i.q.State() != driver.Error {
		t.Errorf("the state is %v", i.q.State())
	}
}

// trickle is a pipe that moves few bytes at a time, cut anywhere.
type trickle struct {
	pipe
	random *rand.Rand
	parts  [64]iovec
}

func (r *trickle) cut(list []iovec) []iovec {
	most := uint64(1) << r.random.IntN(17)
	room := 1 + r.random.Uint64N(most)
	n := 0
	for _, v := range list {
		if v.length = min(v.length, room); v.length == 0 {
			continue
		}
		room -= v.length
		r.parts[n] = v
		n++
	}
	return r.parts[:n]
}

func (r *trickle) readv(into []iovec) (int, syscall.Errno)  { return r.pipe.readv(r.cut(into)) }
func (r *trickle) writev(from []iovec) (int, syscall.Errno) { return r.pipe.writev(r.cut(from)) }

// TestCutAnywhere: whatever the sockets take and give at a time, in both directions at once, with Sends that find no
// receive, and over the end of the sequence numbers, requests take effect in their order and once.
func TestCutAnywhere(t *testing.T) {
	l := newLinkOn(t, Config{Name: t.Name(), Lanes: TCP, PeerTimeout: time.Hour}) // no ping comes before the numbers are set
	random := rand.New(rand.NewPCG(1, 2))
	for i, q := range []*QueuePair{l.qa, l.qb} {
		w := q.wire
		q.cq.mu.Lock() // the attendant may look at it, and later on may move bytes when this test is slow to
		w.pipe = &trickle{pipe: w.pipe, random: rand.New(rand.NewPCG(1, uint64(3+i)))}
		w.acked, w.in.expected, w.out.ack = 1<<32-100, 1<<32-100, 1<<32-100
		q.cq.mu.Unlock()
	}
	one := &crossing{h: l.a, q: l.qa, peer: l.qb, here: l.mema, there: l.memb}
	two := &crossing{h: l.b, q: l.qb, peer: l.qa, here: l.memb, there: l.mema}
	for range 60 {
		size := []int{1, 8, 15, 100, 256, 257, 300, 5000, 70000}[random.IntN(9)]
		one.post(t, size)
		two.post(t, size)
		for range random.IntN(60) { // the receives come late
			l.a.poll()
			l.b.poll()
		}
		one.receive(t)
		two.receive(t)
		for end := time.Now().Add(tolerance); len(l.a.kept) < crossed || len(l.b.kept) < crossed; {
			l.a.poll()
			l.b.poll()
			if time.Now().After(end) {
				t.Fatalf("stuck: got %+v and %+v", l.a.kept, l.b.kept)
			}
		}
		one.check(t, size)
		two.check(t, size)
	}
}

// crossing is one direction of TestCutAnywhere. Both memories have the same parts, each of a step: what is received, what
// is read, what is written to the peer, what the peer writes here, counters and what was counted.
type crossing struct {
	h           *host
	q, peer     *QueuePair
	here, there *Memory
	round       byte
}

const (
	step    = 128 << 10
	crossed = 7
)

func (c *crossing) post(t *testing.T, size int) {
	t.Helper()
	c.round++
	content := c.here.Region().Bytes
	paint(content[2*step:][:size], c.round)
	post(t, c.q,
		driver.Request{Tag: 1, Op: driver.OpSend, Span: span(c.here, 2*step, size)},
		driver.Request{Tag: 2, Op: driver.OpRead, Span: span(c.here, step, size), Remote: remote(c.there, 3*step, size)},
		driver.Request{Tag: 3, Op: driver.OpWrite, Flags: driver.Fence, Span: span(c.here, 2*step, size), Remote: remote(c.there, 3*step, size)},
		driver.Request{Tag: 4, Op: driver.OpFetchAdd, Span: span(c.here, 5*step, 8), Remote: remote(c.there, 4*step, 8), Swap: 1},
		driver.Request{Tag: 5, Op: driver.OpSend, Flags: driver.Inline, Span: span(c.here, 2*step, min(size, 64))})
}

func (c *crossing) receive(t *testing.T) {
	t.Helper()
	receive(t, c.q, driver.Receive{Tag: 6, Span: span(c.here, 0, 1000), More: []driver.Span{span(c.here, 1000, step-1000)}})
	for range 3 {
		c.h.poll()
	}
	receive(t, c.q, driver.Receive{Tag: 7, Span: span(c.here, 6*step, 64)})
}

func (c *crossing) check(t *testing.T, size int) {
	t.Helper()
	got := map[driver.Tag]bool{}
	for _, done := range c.h.kept {
		if got[done.Tag] = true; done.Status != driver.OK {
			t.Fatalf("got %+v", done)
		}
	}
	if c.h.kept = nil; len(got) != crossed {
		t.Fatalf("got %v", got)
	}
	b := c.here.Region().Bytes
	for part, want := range map[int]byte{0: c.round, 3: c.round} {
		if i := differs(b[part*step:][:size], want); i >= 0 {
			t.Fatalf("round %d: %d bytes in part %d differ from %d on", c.round, size, part, i)
		}
	}
	if c.round > 1 && b[step] != c.round-1 {
		t.Fatalf("round %d has read %d", c.round, b[step])
	}
	if b[4*step] != c.round || b[5*step] != c.round-1 {
		t.Fatalf("round %d: counted to %d, after %d", c.round, b[4*step], b[5*step])
	}
}

func paint(b []byte, round byte) {
	for i := range b {
		b[i] = round + byte(i*7)
	}
}

// differs returns the first byte that paint would not have put there, or -1.
func differs(b []byte, round byte) int {
	for i := range b {
		if b[i] != round+byte(i*7) {
			return i
		}
	}
	return -1
}
