package soft

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/verbs/driver"
)

// intruder is a client that speaks the TCP lane by hand, to a queue pair that awaits it.
type intruder struct {
	t    testing.TB
	h    *host
	q    *QueuePair
	conn net.Conn
}

// intrude makes a queue pair that expects a peer, and is that peer up to the first frame. Its name comes before all
// others, so that it is the one that calls.
func intrude(t testing.TB, h *host, depth uint32, edit ...func(*driver.QueueConfig)) *intruder {
	t.Helper()
	i := &intruder{t: t, h: h, q: h.pair(edit...)}
	me := address{host: process.host, process: 1, lifeName: lifeName{0, i.q.number, 1}, tcp: "127.0.0.1:1"}
	ok(t, i.q.Connect(connectTag, driver.Address(me.String())))
	here := h.device.address(i.q.life.Load())
	i.conn = i.dial(hello{depth: depth, to: here.lifeName, proof: here.secret.prove(provesCaller, nil), from: me})
	_, _, err := readAnswer(i.conn)
	ok(t, err)
	h.expect(connectTag, driver.OpConnect, driver.OK)
	return i
}

func (i *intruder) dial(h hello) net.Conn {
	i.t.Helper()
	c, err := net.Dial("tcp", i.h.device.dialled)
	ok(i.t, err)
	i.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(tolerance))
	_, err = c.Write(h.text())
	ok(i.t, err)
	return c
}

// say sends a frame with n bytes behind it.
func (i *intruder) say(h header, n int) {
	b := make([]byte, headerSize+n)
	h.put(b)
	_, _ = i.conn.Write(b) // the other side may have hung up
}

// hear reads a header.
func (i *intruder) hear() (h header) {
	i.t.Helper()
	b := make([]byte, headerSize)
	for end := time.Now().Add(tolerance); time.Now().Before(end); {
		i.h.poll()
		_ = i.conn.SetReadDeadline(time.Now().Add(time.Millisecond))
		n, err := io.ReadFull(i.conn, b)
		if err == nil {
			ok(i.t, h.parse(b))
			return h
		}
		if n > 0 {
			i.t.Fatalf("a torn header: %v", err)
		}
	}
	i.t.Fatal("nothing was said")
	return h
}

// dropped checks that the connection was ended, and only that: the host's other connection still works.
func (i *intruder) dropped(other *link) {
	i.t.Helper()
	for end := time.Now().Add(tolerance); i.q.State() != driver.Error; i.h.poll() {
		if time.Now().After(end) {
			i.t.Fatal("the connection goes on")
		}
	}
	ok(i.t, i.q.Close())
	post(i.t, other.qa, driver.Request{Tag: 77, Op: driver.OpWrite, Span: span(other.mema, 0, 64), Remote: remote(other.memb, 0, 64)})
	other.a.kept = nil
	other.a.expect(77, driver.OpWrite, driver.OK, other.b)
	other.b.kept = nil
}

// TestIntruders: whatever a peer says, it harms nothing but its own connection.
func TestIntruders(t *testing.T) {
	l := newLinkOn(t, Config{Name: t.Name(), Lanes: TCP, PeerTimeout: 10 * tolerance}) // nobody is dropped for silence
	const write, send, read = frameOp(driver.OpWrite), frameOp(driver.OpSend), frameOp(driver.OpRead)
	r := l.memb.Region()
	for name, attack := range map[string]func(*intruder){
		"unknown frame": func(i *intruder) { i.say(header{op: 99}, 0) },
		"frame 0":       func(i *intruder) { i.say(header{}, 0) },
		"a Bind": func(i *intruder) {
			i.say(header{op: frameOp(driver.OpBind), total: 64, key: lentKey(1, 0), address: r.Address}, 0)
		},
		"a Revoke": func(i *intruder) { i.say(header{op: frameOp(driver.OpRevoke), quiet: true}, 0) },
		"text": func(i *intruder) {
			_, _ = i.conn.Write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n"))
		},
		"too long a piece": func(i *intruder) { i.say(header{op: send, length: 1<<32 - 1, total: 1<<32 - 1}, 0) },
		"too long a message": func(i *intruder) {
			i.say(header{op: write, length: pieceSize, total: maxMessage + 1, key: r.RemoteKey, address: r.Address}, 0)
		},
		"pieces cut wrong":      func(i *intruder) { i.say(header{op: send, length: 3, total: 8}, 3) },
		"sequence from nowhere": func(i *intruder) { i.say(header{op: send, sequence: 5}, 0) },
		"sequence twice": func(i *intruder) {
			i.say(header{op: write}, 0)
			i.say(header{op: write}, 0)
		},
		"piece of nothing": func(i *intruder) { i.say(header{op: frameMore, length: 8}, 8) },
		"message in message": func(i *intruder) {
			i.say(header{op: write, length: pieceSize, total: 2 * pieceSize, key: r.RemoteKey, address: r.Address}, pieceSize)
			i.say(header{op: write, sequence: 1}, 0)
		},
		"ack of nothing":       func(i *intruder) { i.say(header{op: frameAck, ack: 1}, 0) },
		"answer to nothing":    func(i *intruder) { i.say(header{op: frameRead, length: 8}, 8) },
		"old value of nothing": func(i *intruder) { i.say(header{op: frameAtomic}, 0) },
		"refusal of nothing":   func(i *intruder) { i.say(header{op: frameNak, status: driver.RemoteAccess}, 0) },
		"nak that is good":     func(i *intruder) { i.say(header{op: frameNak}, 0) },
		"not ready of nothing": func(i *intruder) { i.say(header{op: frameNotReady}, 0) },
		"ready of nothing":     func(i *intruder) { i.say(header{op: frameReady}, 0) },
		"a header cut short": func(i *intruder) {
			_, _ = i.conn.Write([]byte{byte(write), 0, 0})
			i.conn.Close()
		},
		"a payload cut short": func(i *intruder) {
			i.say(header{op: write, length: 4096, total: 4096, key: r.RemoteKey, address: r.Address}, 100)
			i.conn.Close()
		},
		"reads without end": func(i *intruder) {
			for n := range uint32(64) {
				i.say(header{op: read, sequence: n, total: 4 << 20, key: r.RemoteKey, address: r.Address}, 0)
			}
		},
		"a key that was not given": func(i *intruder) {
			i.say(header{op: write, length: 8, total: 8, key: r.RemoteKey ^ 1, address: r.Address}, 8)
		},
		"an address outside": func(i *intruder) {
			i.say(header{op: read, total: 8, key: r.RemoteKey, address: r.Address - 8}, 0)
		},
		"an address that wraps": func(i *intruder) {
			i.say(header{op: read, total: 64, key: r.RemoteKey, address: ^uint64(0) - 8}, 0)
		},
		"an atomic between words": func(i *intruder) {
			i.say(header{op: frameOp(driver.OpFetchAdd), key: r.RemoteKey, address: r.Address + 4}, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := intrude(t, l.b, 4)
			i.t = t
			attack(i)
			i.dropped(l)
		})
	}
}

// TestIntrudersAnswers: a peer that answers what was not asked, or not so, is dropped, and what was asked ends.
func TestIntrudersAnswers(t *testing.T) {
	l := newLinkOn(t, Config{Name: t.Name(), Lanes: TCP, PeerTimeout: 10 * tolerance})
	for name, c := range map[string]struct {
		op     driver.Op
		answer header
	}{
		"ack of a Read":           {driver.OpRead, header{op: frameAck, ack: 1}},
		"too little for a Read":   {driver.OpRead, header{op: frameRead, length: 8}},
		"too much for a Read":     {driver.OpRead, header{op: frameRead, length: 101}},
		"old value for a Read":    {driver.OpRead, header{op: frameAtomic}},
		"bytes for a Send":        {driver.OpSend, header{op: frameRead, length: 8}},
		"wrong request":           {driver.OpSend, header{op: frameNak, status: driver.RemoteAccess, sequence: 1}},
		"too many acks":           {driver.OpSend, header{op: frameAck, ack: 2}},
		"no receive for a Write":  {driver.OpWrite, header{op: frameNotReady}},
		"ready without not ready": {driver.OpSend, header{op: frameReady}},
	} {
		t.Run(name, func(t *testing.T) {
			i := intrude(t, l.b, 4)
			i.t = t
			post(t, i.q, driver.Request{Tag: 5, Op: c.op, Span: span(l.memb, 0, 100), Remote: driver.RemoteSpan{Length: 100}})
			i.say(c.answer, int(c.answer.length))
			l.b.expect(5, c.op, driver.RetryExceeded)
			i.dropped(l)
		})
	}
}

// TestHelloIsChecked: who says nonsense is told so, and hung up on.
func TestHelloIsChecked(t *testing.T) {
	h := newHostWith(t, Config{Name: t.Name(), Lanes: TCP})
	here := h.device.address(h.pair().life.Load())
	good := hello{depth: 1, to: here.lifeName, proof: here.secret.prove(provesCaller, nil), from: address{host: process.host, process: 1, lifeName: lifeName{1, 1, 1}}}
	for want, edit := range map[string]func([]byte, *hello) []byte{
		"does not know the secret":    func(_ []byte, h *hello) []byte { h.proof[0]++; return h.text() },
		"does not know":               func(_ []byte, h *hello) []byte { h.proof = here.secret.prove(provesCalled, nil); return h.text() },
		"there is no such queue pair": func(_ []byte, h *hello) []byte { h.to.number += 9; return h.text() },
		"is not here":                 func(_ []byte, h *hello) []byte { h.to.device++; return h.text() },
		"send depth of 0":             func(_ []byte, h *hello) []byte { h.depth = 0; return h.text() },
		"speaks version 9":            func(b []byte, _ *hello) []byte { binary.LittleEndian.PutUint16(b[4:], 9); return b },
		"not a hello":                 func([]byte, *hello) []byte { return []byte("GET / HTTP/1.1\r\n\r\n") },
		"longest is 512":              func(b []byte, _ *hello) []byte { binary.LittleEndian.PutUint16(b[6:], 513); return b },
		"does not begin with":         func(b []byte, _ *hello) []byte { b[helloSize] = 'x'; return b },
	} {
		c, err := net.Dial("tcp", h.device.dialled)
		ok(t, err)
		_ = c.SetDeadline(time.Now().Add(tolerance))
		copied := good
		_, err = c.Write(edit(good.text(), &copied))
		ok(t, err)
		if _, _, err := readAnswer(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want a refusal with %q, got %v", want, err)
		}
		c.Close()
	}
	answer := answerText(1, proof{}, nil)
	binary.LittleEndian.PutUint16(answer[4:], 7)
	if _, _, err := readAnswer(strings.NewReader(string(answer))); err == nil || !strings.Contains(err.Error(), "version 7") {
		t.Errorf("an answer in another version: %v", err)
	}
}

// TestHalfOpenConnections: a thousand callers that say nothing, or say it slowly, keep nobody else out.
func TestHalfOpenConnections(t *testing.T) {
	config := Config{Name: t.Name(), Lanes: TCP, PeerTimeout: tolerance}
	a, b := newHostWith(t, config), newHostWith(t, config)
	for n := range 1000 {
		for _, h := range []*host{a, b} {
			c, err := net.Dial("tcp", h.device.dialled)
			ok(t, err)
			defer c.Close()
			if n%2 == 0 {
				_, _ = c.Write([]byte{'W'})
			}
		}
	}
	join(a, a.pair(), b, b.pair())
}

// TestSilence: a peer whose socket is open, but that says nothing any more, is given up.
func TestSilence(t *testing.T) {
	h := newHostWith(t, Config{Name: t.Name(), Lanes: TCP, PeerTimeout: 100 * time.Millisecond})
	m := h.memory(64, 0)
	i := intrude(t, h, 4)
	receive(t, i.q, driver.Receive{Tag: 1})
	post(t, i.q, driver.Request{Tag: 2, Op: driver.OpSend, Span: span(m, 0, 8)}, driver.Request{Tag: 3, Op: driver.OpSend})
	h.expect(2, driver.OpSend, driver.RetryExceeded)
	h.expect(3, driver.OpSend, driver.Flushed)
	h.expect(1, driver.OpReceive, driver.Flushed)
}

// TestPingsKeepALine: a peer that has nothing to say is asked, and answers for all its connections.
func TestPingsKeepALine(t *testing.T) {
	h := newHostWith(t, Config{Name: t.Name(), Lanes: TCP, PeerTimeout: 200 * time.Millisecond})
	i := intrude(t, h, 4)
	for range 8 { // two timeouts, if it is asked four times in each
		if got := i.hear(); got.op != framePing {
			t.Fatalf("frame %d, want a ping", got.op)
		}
		i.say(header{op: framePong}, 0)
	}
	if i.q.State() != driver.Ready {
		t.Fatalf("state is %v, want Ready", i.q.State())
	}
	i.say(header{op: framePing}, 0)
	for i.hear().op != framePong {
	}
}

// TestOwnerAway: the NIC serves what needs no owner.
func TestOwnerAway(t *testing.T) {
	l := newWireLink(t)
	for n, op := range []driver.Op{driver.OpWrite, driver.OpRead, driver.OpFetchAdd, driver.OpWrite} {
		size := 8
		if n == 3 {
			size = 3 << 20
		}
		post(t, l.qa, driver.Request{Tag: 1, Op: op, Span: span(l.mema, 0, size), Remote: remote(l.memb, 0, size)})
		l.a.expect(1, op, driver.OK) // nobody polls b
	}
}

// TestRevokedWhileRead: what was not sent when a Read was revoked is not sent any more, though its frame has begun.
func TestRevokedWhileRead(t *testing.T) {
	l := newWireLink(t)
	const reads = 16 // more than sockets hold
	i := intrude(t, l.b, reads)
	content, r := l.memb.Region().Bytes, l.memb.Region()
	for n := range content {
		content[n] = 0xaa
	}
	for n := range uint32(reads) {
		i.say(header{op: frameOp(driver.OpRead), sequence: n, total: uint32(len(content)), key: r.RemoteKey, address: r.Address}, 0)
	}
	for blocked := false; !blocked; l.b.poll() {
		l.b.inside(func() { blocked = i.q.wire.blocked })
	}
	ok(t, l.memb.SetAccess(l.b.cq, 9, 0))
	l.b.expect(9, driver.OpMemoryAccess, driver.OK)
	for n := range content {
		content[n] = 0xbb
	}
	for {
		h := i.hear()
		b := make([]byte, h.length)
		for have := 0; have < len(b); l.b.poll() {
			_ = i.conn.SetReadDeadline(time.Now().Add(time.Millisecond))
			n, _ := i.conn.Read(b[have:])
			have += n
		}
		if bytes.IndexByte(b, 0xbb) >= 0 {
			t.Fatal("bytes were read after access to them was revoked")
		}
		if h.op == frameNak {
			break
		}
	}
	for i.q.State() != driver.Error {
		l.b.poll()
	}
}

// moved is how many bytes have come and gone at the host.
func (i *intruder) moved(h *host) (n uint64) {
	h.inside(func() { n = i.q.wire.poller.moved })
	return n
}

// TestLastWordWaits: the last word of a Write changes when all of it is there, and in one step, whichever way it came.
func TestLastWordWaits(t *testing.T) {
	l := newWireLink(t)
	r := l.memb.Region()
	for _, size := range []int{8, 24, 5000, 100_000} {
		i := intrude(t, l.b, 4)
		clear(r.Bytes)
		last := r.Bytes[size-8 : size]
		frame := bytes.Repeat([]byte{0xff}, headerSize+size)
		h := header{op: frameOp(driver.OpWrite), length: uint32(size), total: uint32(size), key: r.RemoteKey, address: r.Address}
		h.put(frame)
		const missing = 3
		moved := i.moved(l.b)
		for from, to := 0, headerSize; from < len(frame)-missing; from, to = to, len(frame)-missing { // the header, then the rest
			_, err := i.conn.Write(frame[from:to])
			ok(t, err)
			for i.moved(l.b) < moved+uint64(to) {
				l.b.poll()
			}
		}
		if !bytes.Equal(last, make([]byte, 8)) {
			t.Fatalf("%d bytes: the last word is %x before its end has come", size, last)
		}
		_, err := i.conn.Write(frame[len(frame)-missing:])
		ok(t, err)
		if h := i.hear(); h.op != frameAck || h.ack != 1 || !bytes.Equal(last, bytes.Repeat([]byte{0xff}, 8)) {
			t.Fatalf("%d bytes: the last word is %x, and frame %d acknowledges %d", size, last, h.op, h.ack)
		}
	}
}
