package soft

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// These compare the TCP lane with what a Go program would do instead, in one run.

// socketPair returns both ends of a plain TCP connection.
func socketPair(t testing.TB) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	defer l.Close()
	a, err = net.Dial("tcp", l.Addr().String())
	ok(t, err)
	b, err = l.Accept()
	ok(t, err)
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

func BenchmarkPlainStream(b *testing.B) {
	from, to := socketPair(b)
	message := make([]byte, 1<<20)
	done := make(chan error)
	go func() {
		into := make([]byte, 1<<20)
		for range b.N {
			if _, err := io.ReadFull(to, into); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	b.SetBytes(1 << 20)
	b.ResetTimer()
	for range b.N {
		if _, err := from.Write(message); err != nil {
			b.Fatal(err)
		}
	}
	ok(b, <-done)
}

func BenchmarkPlainPingPong(b *testing.B) {
	from, to := socketPair(b)
	go func() {
		var word [8]byte
		for {
			if _, err := io.ReadFull(to, word[:]); err != nil {
				return
			}
			if _, err := to.Write(word[:]); err != nil {
				return
			}
		}
	}()
	var word [8]byte
	b.ResetTimer()
	for range b.N {
		if _, err := from.Write(word[:]); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(from, word[:]); err != nil {
			b.Fatal(err)
		}
	}
}

// run drives a host in a goroutine of its own until the test ends.
func (h *host) run(b testing.TB, body func(stop <-chan struct{})) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { defer close(ended); body(stop) }()
	b.Cleanup(func() { close(stop); h.cq.Wake(); <-ended })
}

func BenchmarkWireStream(b *testing.B) {
	l := newWireLink(b, func(c *driver.QueueConfig) { c.ReceiverWait = time.Minute })
	l.b.run(b, func(stop <-chan struct{}) {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = l.b.cq.Wait(clock.Real.Now().Add(time.Second), 20*time.Microsecond)
		}
	})
	const window = 4
	r := []driver.Request{{Op: driver.OpWrite, Span: span(l.mema, 0, 1<<20), Remote: remote(l.memb, 0, 1<<20)}}
	var into [16]driver.Completion
	b.SetBytes(1 << 20)
	b.ResetTimer()
	for posted, done := 0, 0; done < b.N; {
		for posted < b.N && posted-done < window {
			if _, err := l.qa.Post(r); err != nil {
				b.Fatal(err)
			}
			posted++
		}
		n, _ := l.a.cq.Poll(into[:])
		if done += n; n == 0 {
			ok(b, l.a.cq.Wait(clock.Never, 0))
		}
	}
}

func benchmarkWirePingPong(b *testing.B, spin time.Duration) {
	l := newWireLink(b)
	play := func(h *host, q *QueuePair, from, to *Memory, first bool, rounds int, stop <-chan struct{}) {
		r := []driver.Request{{Op: driver.OpWriteImm, Flags: driver.Quiet, Span: span(from, 0, 8), Remote: remote(to, 0, 8)}}
		none := []driver.Receive{{}}
		var into [16]driver.Completion
		if first {
			_, _ = q.Post(r)
		}
		for i := 0; i < rounds; {
			n, err := h.cq.Poll(into[:])
			if err != nil {
				return
			}
			if n == 0 {
				select {
				case <-stop:
					return
				default:
				}
				if spin >= 0 {
					_ = h.cq.Wait(clock.Never, spin)
				}
				continue
			}
			i++
			_, _ = q.PostReceive(none)
			if i < rounds || !first {
				_, _ = q.Post(r)
			}
		}
	}
	for range 8 {
		receive(b, l.qa, driver.Receive{})
		receive(b, l.qb, driver.Receive{})
	}
	l.b.run(b, func(stop <-chan struct{}) { play(l.b, l.qb, l.memb, l.mema, false, 1<<62, stop) })
	b.ResetTimer()
	play(l.a, l.qa, l.mema, l.memb, true, b.N, nil)
}

func BenchmarkWirePingPongSleeping(b *testing.B) { benchmarkWirePingPong(b, 0) }
func BenchmarkWirePingPongPolling(b *testing.B)  { benchmarkWirePingPong(b, -1) }
