package soft

import (
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// newWireLink is a link on the TCP lane.
func newWireLink(t testing.TB, edit ...func(*driver.QueueConfig)) *link {
	t.Helper()
	return newLinkOn(t, Config{Name: t.Name(), Lanes: TCP}, edit...)
}

func newLinkOn(t testing.TB, config Config, edit ...func(*driver.QueueConfig)) *link {
	t.Helper()
	l := &link{a: newHostWith(t, config), b: newHostWith(t, config)}
	l.mema, l.memb = l.a.memory(4<<20, driver.RemoteAll), l.b.memory(4<<20, driver.RemoteAll)
	l.qa, l.qb = l.a.pair(edit...), l.b.pair(edit...)
	join(l.a, l.qa, l.b, l.qb)
	return l
}

func TestWireWrites(t *testing.T) {
	l := newWireLink(t)
	for _, n := range []int{0, 1, 3, 8, 15, 100, 256, 257, 4096, 5000, 1 << 20, 1<<20 + 5, 3<<20 + 1} {
		for _, at := range []int{0, 3} {
			src, dst := l.mema.Region().Bytes, l.memb.Region().Bytes
			for i := range n {
				src[i] = byte(i*7 + n)
			}
			post(t, l.qa, driver.Request{Tag: 1, Op: driver.OpWrite, Span: span(l.mema, 0, n), Remote: remote(l.memb, at, n)})
			l.a.expect(1, driver.OpWrite, driver.OK, l.b)
			for i := range n {
				if dst[at+i] != byte(i*7+n) {
					t.Fatalf("%d bytes at %d: byte %d is %d", n, at, i, dst[at+i])
				}
			}
		}
	}
}
