package verbs_test

import (
	"testing"

	"github.com/weft-fabric/weft/verbs"
)

// BenchmarkWrite8 is one 8-byte write on the in-process lane, from staging to its completion.
func BenchmarkWrite8(b *testing.B) {
	target, writer := open(verbs.RemoteWrite), open(0)
	defer target.close()
	defer writer.close()
	connect(target, writer)
	from, to := writer.memory.Span(0, 8), target.memory.Remote(0, 8)
	var got [4]verbs.Completion
	b.ReportAllocs()
	for b.Loop() {
		check(writer.pair.Write(1, from, to, 0))
		for {
			n, err := writer.queue.Poll(got[:])
			check(err)
			if n > 0 {
				break
			}
		}
	}
}
