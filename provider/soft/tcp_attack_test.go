package soft

import (
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// until polls the host until something is so.
func (i *intruder) until(what string, so func() bool) {
	i.t.Helper()
	for end := time.Now().Add(tolerance); !so(); i.h.poll() {
		if time.Now().After(end) {
			i.t.Fatalf("never: %s", what)
		}
	}
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
		peer := address{process: 1, lifeName: lifeName{^identity(0), n + 1, 1}, tcp: listener.Addr().String()}
		ok(t, q.Connect(connectTag, driver.Address(peer.String())))
		raw, err := listener.Accept()
		ok(t, err)
		defer raw.Close()
		_ = raw.SetDeadline(time.Now().Add(tolerance))
		below := &held{Conn: raw}
		c := tls.Server(below, mutualTLS(a.config(t, a)))
		_, err = readHello(c)
		ok(t, err)
		below.hold = true
		_, err = c.Write(answerText(4, nil))
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
		if len(pong) == 0 || ping[0] != byte(framePong) {
			t.Fatalf("connection %d: no answer to what came with the answer", n)
		}
	}
}
