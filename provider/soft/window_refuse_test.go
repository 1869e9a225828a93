package soft

import (
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// refusals are ways to use what is lent, or was, that end badly.
var refusals = map[string]struct {
	access driver.Access
	use    func(l *lending, lent driver.RemoteSpan)
}{
	"a Read of what may be written": {driver.RemoteWrite, func(l *lending, lent driver.RemoteSpan) {
		l.use(l.qa, driver.OpRead, lent, driver.RemoteAccess)
	}},
	"a Write of what may be read": {driver.RemoteRead, func(l *lending, lent driver.RemoteSpan) {
		l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
	}},
	"an atomic where that is not lent": {driver.RemoteRead | driver.RemoteWrite, func(l *lending, lent driver.RemoteSpan) {
		l.use(l.qa, driver.OpFetchAdd, lent.Sub(0, 8), driver.RemoteAccess)
	}},
	"the byte before": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
		lent.Address--
		l.use(l.qa, driver.OpWrite, lent.Sub(0, 8), driver.RemoteAccess)
	}},
	"the byte behind": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
		lent.Address++
		l.use(l.qa, driver.OpRead, lent, driver.RemoteAccess)
	}},
	"an address that wraps": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
		lent.Address, lent.Length = ^uint64(0)-3, 8
		l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
	}},
	"a key that is nearly right": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
		lent.Key ^= 1 << 40
		l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
	}},
	"a key of another window": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
		lent.Key = l.b.window(l.qb).NextKey()
		l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
	}},
	"a key of no window": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
		lent.Key = lentKey(lent.Key, lentBit-1)
		l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
	}},
	"what was taken back": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
		l.use(l.qa, driver.OpWrite, lent, driver.OK)
		l.takeBack()
		l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
	}},
	"the key of the last time": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
		l.takeBack()
		l.lend(0, 64, driver.RemoteAll)
		l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
	}},
	"a window that is closed": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
		ok(l.b.t, l.w.Close())
		l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
	}},
	"memory that is closed": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
		l.use(l.qa, driver.OpWrite, lent, driver.OK)
		ok(l.b.t, l.m.Close())
		l.use(l.qa, driver.OpRead, lent, driver.RemoteAccess)
	}},
	"the memory's own key": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
		lent.Key = l.m.Region().RemoteKey
		l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
	}},
	"what the queue pair does not allow": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
		ok(l.b.t, l.qb.SetAccess(4, driver.RemoteRead))
		l.b.expect(4, driver.OpQueueAccess, driver.OK)
		l.use(l.qa, driver.OpRead, lent, driver.OK)
		l.use(l.qa, driver.OpWrite, lent, driver.RemoteInvalid)
	}},
	"what was lent before a Reset": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
		reconnect(l.link)
		l.use(l.qa, driver.OpWrite, lent, driver.RemoteAccess)
	}},
	"what its own end lends": {driver.RemoteAll, func(l *lending, lent driver.RemoteSpan) {
		w := l.a.window(l.qa)
		r, own := bind(5, w, span(l.mema, 0, 64), driver.RemoteAll)
		post(l.a.t, l.qa, r)
		l.a.expect(5, driver.OpBind, driver.OK)
		l.use(l.qa, driver.OpWrite, own, driver.RemoteAccess)
	}},
}

// Each is refused, and puts both ends in Error.
func TestWindowRefuses(t *testing.T) {
	for name, c := range refusals {
		t.Run(name, func(t *testing.T) {
			onEveryLane(t, func(t *testing.T, lanes Lanes) {
				l := newLending(t, lanes)
				before := l.m.region
				c.use(l, l.lend(0, 64, c.access))
				if state := l.qa.State(); state != driver.Error {
					t.Errorf("the requester's end is %v", state)
				}
				for l.qb.State() != driver.Error {
					l.b.poll()
				}
				if !l.m.closed && before.bytes[64] != 0 {
					t.Error("a byte was written all the same")
				}
			})
		})
	}
}

// A key is of no use through another queue pair: not one of the same two ends, nor a third party's. Nor is it spoiled by the
// attempt.
func TestWindowIsForItsPeerAlone(t *testing.T) {
	onEveryLane(t, func(t *testing.T, lanes Lanes) {
		l := newLending(t, lanes)
		lent := l.lend(0, 64, driver.RemoteAll)
		other, peer := l.a.pair(), l.b.pair()
		join(l.a, other, l.b, peer)
		l.b.window(peer)
		l.use(other, driver.OpWrite, lent, driver.RemoteAccess)
		stranger := newHostWith(t, Config{Lanes: lanes})
		source, third, its := stranger.memory(64, 0), stranger.pair(), l.b.pair()
		join(stranger, third, l.b, its)
		post(t, third, driver.Request{Tag: 6, Op: driver.OpRead, Span: span(source, 0, 64), Remote: lent})
		stranger.expect(6, driver.OpRead, driver.RemoteAccess, l.b)
		l.use(l.qa, driver.OpWrite, lent, driver.OK)
	})
}

// A Bind of what is not there fails like any request with a bad span, in its turn.
func TestBadBind(t *testing.T) {
	for name, piece := range map[string]func(l *lending) driver.Span{
		"outside": func(l *lending) driver.Span {
			s := span(l.m, 4<<20-8, 8)
			s.Length++
			return s
		},
		"another domain's": func(l *lending) driver.Span {
			s := span(l.m, 0, 8)
			s.Key ^= 7
			return s
		},
		"closed": func(l *lending) driver.Span {
			s := span(l.m, 0, 8)
			ok(l.b.t, l.m.Close())
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryLane(t, func(t *testing.T, lanes Lanes) {
				l := newLending(t, lanes)
				bad, _ := bind(7, l.w, piece(l), driver.RemoteAll)
				post(t, l.qb, driver.Request{Tag: 6, Op: driver.OpWrite, Span: span(l.memb, 0, 64), Remote: remote(l.mema, 0, 64)}, bad,
					driver.Request{Tag: 8, Op: driver.OpWrite, Span: span(l.memb, 0, 8), Remote: remote(l.mema, 0, 8)})
				l.b.expect(6, driver.OpWrite, driver.OK, l.a)
				l.b.expect(7, driver.OpBind, driver.LocalProtection, l.a)
				l.b.expect(8, driver.OpWrite, driver.Flushed)
				for l.qa.State() != driver.Error {
					l.a.poll()
				}
			})
		})
	}
}
