package soft

import (
	"fmt"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// drive posts list and polls until n completions have come, b.N times.
func drive(b *testing.B, l *link, list []driver.Request, n int) {
	var into [64]driver.Completion
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.qa.Post(list); err != nil {
			b.Fatal(err)
		}
		for got := 0; got < n; {
			k, _ := l.a.cq.Poll(into[:])
			got += k
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, size := range []int{8, 256, 4 << 10, 64 << 10, 1 << 20, 4 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			l := touched(b)
			b.SetBytes(int64(size))
			drive(b, l, []driver.Request{{Op: driver.OpWrite, Span: span(l.mema, 0, size),
				Remote: remote(l.memb, 0, size)}}, 1)
		})
	}
}

// touched returns a link whose memory is there: pages that were never written all read from one page of zeros.
func touched(b *testing.B) *link {
	l := newLink(b)
	fill(l.mema.Region().Bytes)
	fill(l.memb.Region().Bytes)
	return l
}

// BenchmarkCopy is what BenchmarkWrite is measured against.
func BenchmarkCopy(b *testing.B) {
	for _, size := range []int{64 << 10, 1 << 20, 4 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			l := touched(b)
			dst, src := l.memb.Region().Bytes[:size], l.mema.Region().Bytes[:size]
			b.SetBytes(int64(size))
			for b.Loop() {
				copy(dst, src)
			}
		})
	}
}

// BenchmarkWriteList posts 32 writes with one doorbell; only the last reports.
func BenchmarkWriteList(b *testing.B) {
	l := newLink(b)
	list := make([]driver.Request, 32)
	for i := range list {
		list[i] = driver.Request{Op: driver.OpWrite, Flags: driver.Quiet, Span: span(l.mema, 8*i, 8),
			Remote: remote(l.memb, 8*i, 8)}
	}
	list[len(list)-1].Flags = 0
	drive(b, l, list, 1)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(list)), "ns/write")
}

func BenchmarkRead(b *testing.B) {
	l := newLink(b)
	drive(b, l, []driver.Request{{Op: driver.OpRead, Span: span(l.mema, 0, 8), Remote: remote(l.memb, 0, 8)}}, 1)
}

func BenchmarkFetchAdd(b *testing.B) {
	l := newLink(b)
	drive(b, l, []driver.Request{{Op: driver.OpFetchAdd, Swap: 1, Span: span(l.mema, 0, 8),
		Remote: remote(l.memb, 0, 8)}}, 1)
}

// BenchmarkSend posts a receive and a send, and polls both ends, all in one goroutine.
func BenchmarkSend(b *testing.B) {
	l := newLink(b)
	var into [8]driver.Completion
	send := []driver.Request{{Op: driver.OpSend, Span: span(l.mema, 0, 8)}}
	recv := []driver.Receive{{Span: span(l.memb, 0, 8)}}
	b.ReportAllocs()
	for b.Loop() {
		l.qb.PostReceive(recv)
		l.qa.Post(send)
		na, _ := l.a.cq.Poll(into[:])
		nb, _ := l.b.cq.Poll(into[:])
		if na != 1 || nb != 1 {
			b.Fatalf("%d and %d completions, want 1 and 1", na, nb)
		}
	}
}
