package stream

import (
	"io"
	"net"
	"testing"

	"github.com/weft-fabric/weft/provider/soft"
)

// BenchmarkAnswer asks for so many bytes with one, as a GET does: over connections of ours, and over the kernel's.
func BenchmarkAnswer(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"1KiB", 1 << 10}, {"1MiB", 1 << 20}, {"64MiB", 64 << 20}} {
		b.Run("kernel/"+size.name, func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			check(b, err)
			there, err := net.Dial("tcp", l.Addr().String())
			check(b, err)
			here, err := l.Accept()
			check(b, err)
			answer(b, there, here, size.bytes)
			check(b, l.Close())
		})
		for _, lane := range []soft.Lanes{soft.SharedMemory, soft.TCP} {
			b.Run(lane.String()+"/"+size.name, func(b *testing.B) {
				dir := b.TempDir()
				there, here := connect(b, listen(b, newNodeOn(b, dir, lane)), newNodeOn(b, dir, lane))
				answer(b, there, here, size.bytes)
			})
		}
	}
}

func answer(b *testing.B, there, here net.Conn, size int) {
	ended := make(chan error)
	go func() { ended <- serve(here, make([]byte, size)) }()
	question, piece := make([]byte, 1), make([]byte, 256<<10)
	b.SetBytes(int64(size))
	for b.Loop() {
		_, err := there.Write(question)
		check(b, err)
		for left := size; left > 0; {
			n, err := there.Read(piece[:min(left, len(piece))])
			check(b, err)
			left -= n
		}
	}
	closeBoth(b, there, here)
	<-ended
}

// serve answers until the connection ends.
func serve(c net.Conn, body []byte) error {
	for question := make([]byte, 1); ; {
		if _, err := io.ReadFull(c, question); err != nil {
			return err
		}
		if _, err := c.Write(body); err != nil {
			return err
		}
	}
}
