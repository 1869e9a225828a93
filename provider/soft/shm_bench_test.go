package soft

import (
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// BenchmarkNeighbourWrite is a write of 8 bytes to a neighbour: alone, and in lists of 32 of which every 64th is reported.
func BenchmarkNeighbourWrite(b *testing.B) {
	for name, lanes := range map[string]Lanes{"inproc": InProcess, "shm": SharedMemory} {
		l := newLinkOn(b, Config{Lanes: lanes})
		r := driver.Request{Op: driver.OpWrite, Span: span(l.mema, 0, 8), Remote: remote(l.memb, 0, 8)}
		list, into := make([]driver.Request, 32), make([]driver.Completion, 4)
		b.Run(name+"/one", func(b *testing.B) {
			list[0] = r
			for b.Loop() {
				l.qa.Post(list[:1])
				for n := 0; n == 0; {
					n, _ = l.a.cq.Poll(into)
				}
			}
		})
		b.Run(name+"/list", func(b *testing.B) {
			for i := range list {
				list[i] = r
				list[i].Flags = driver.Quiet
			}
			for i := 0; i < b.N; i += 64 {
				l.qa.Post(list)
				list[31].Flags = 0
				l.qa.Post(list)
				list[31].Flags = driver.Quiet
				l.a.cq.Poll(into)
			}
		})
	}
}
