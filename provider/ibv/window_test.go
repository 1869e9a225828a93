package ibv_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/weft-fabric/weft/provider/ibv"
	"github.com/weft-fabric/weft/verbs/driver"
)

// loft is a stage with two connected queue pairs, and memory that grants nothing by itself: the owner lends it to the guest.
type loft struct {
	*stage
	owner, guest driver.QueuePair
	memory       driver.Memory
	window       driver.Window
	isOpen       bool // the window, and the memory
}

const loftSize = 1 << 20

func openLoft(t *testing.T) *loft {
	t.Helper()
	needDevice(t)
	l := &loft{stage: openStage(t), isOpen: true}
	l.owner, l.guest = l.wire()
	var err error
	l.memory, err = l.domain.(driver.Allocator).Alloc(loftSize, 0)
	l.must(err)
	l.window = l.newWindow(l.owner)
	return l
}

func (l *loft) newWindow(q driver.QueuePair) driver.Window {
	l.t.Helper()
	w, err := q.(driver.Windows).NewWindow()
	l.must(err)
	return w
}

func (l *loft) close() {
	l.t.Helper()
	l.must(l.window.Close())
	if l.isOpen {
		l.must(l.memory.Close())
	}
	l.stage.close()
}

// span is a piece of the memory.
func (l *loft) span(offset uint64, length uint32) driver.Span {
	r := l.memory.Region()
	return driver.Span{Address: r.Address + offset, Length: length, Key: r.LocalKey}
}

// bind makes the request that lends a piece.
func (l *loft) bind(tag driver.Tag, s driver.Span, access driver.Access) driver.Request {
	return driver.Request{Tag: tag, Op: driver.OpBind, Span: s, Compare: uint64(l.window.Number()), Swap: uint64(access),
		Remote: driver.RemoteSpan{Address: s.Address, Length: uint64(s.Length), Key: l.window.NextKey()}}
}

// revoke makes the request that takes it back.
func (l *loft) revoke(tag driver.Tag) driver.Request {
	return driver.Request{Tag: tag, Op: driver.OpRevoke, Compare: uint64(l.window.Number())}
}

// use makes a request of the guest's, from or to the stage's own memory.
func (l *loft) use(tag driver.Tag, op driver.Op, remote driver.RemoteSpan) driver.Request {
	r := l.stage.memory.Region()
	return driver.Request{Tag: tag, Op: op, Remote: remote, Span: driver.Span{Address: r.Address, Length: uint32(remote.Length), Key: r.LocalKey}}
}

func (l *loft) post(q driver.QueuePair, list ...driver.Request) {
	l.t.Helper()
	if n, err := q.Post(list); n != len(list) || err != nil {
		l.t.Fatalf("%d of %d requests, %v", n, len(list), err)
	}
}

// lend lends a piece to the guest.
func (l *loft) lend(offset uint64, length uint32, access driver.Access) driver.RemoteSpan {
	l.t.Helper()
	r := l.bind(100, l.span(offset, length), access)
	l.post(l.owner, r)
	l.expect(100, driver.OpBind, driver.OK)
	return r.Remote
}

// expect waits for one completion.
func (l *loft) expect(tag driver.Tag, op driver.Op, status driver.Status) {
	l.t.Helper()
	if c := l.take(1)[0]; c.Tag != tag || c.Op != op || c.Status != status {
		l.t.Fatalf("%+v; want %v %v with tag %d", c, op, status, tag)
	}
}

// isRefused checks that the guest is not let in.
func (l *loft) isRefused(r driver.Request) {
	l.t.Helper()
	l.post(l.guest, r)
	if c := l.take(1)[0]; c.Op != r.Op || !c.Status.Refused() {
		l.t.Errorf("%+v; want a refusal", c)
	}
}

func TestTheGuestUsesWhatIsLent(t *testing.T) {
	l := openLoft(t)
	defer l.close()
	remote := l.lend(8000, 4096, driver.RemoteAll)
	copy(l.stage.memory.Region().Bytes, "written")
	l.post(l.guest, l.use(1, driver.OpWrite, remote.Sub(0, 7)))
	l.expect(1, driver.OpWrite, driver.OK)
	if got := l.memory.Region().Bytes[8000:8007]; string(got) != "written" {
		t.Errorf("%q was written", got)
	}
	copy(l.memory.Region().Bytes[8000:], "to read")
	l.post(l.guest, l.use(2, driver.OpRead, remote.Sub(0, 7)))
	l.expect(2, driver.OpRead, driver.OK)
	if got := l.stage.memory.Region().Bytes[:7]; string(got) != "to read" {
		t.Errorf("%q was read", got)
	}
	add := l.use(3, driver.OpFetchAdd, remote.Sub(8, 8))
	add.Swap = 5
	l.post(l.guest, add)
	l.expect(3, driver.OpFetchAdd, driver.OK)
	if got := l.memory.Region().Bytes[8008]; got != 5 {
		t.Errorf("%d was added", got)
	}
}

// A message that was posted behind a Bind, and with it, finds the guest already let in.
func TestASendBehindABindMayTellOfIt(t *testing.T) {
	l := openLoft(t)
	defer l.close()
	for range 50 {
		l.receive(l.guest, 1, 1)
		lent := l.bind(2, l.span(0, 64), driver.RemoteWrite)
		lent.Flags = driver.Quiet
		l.post(l.owner, lent, driver.Request{Tag: 3, Op: driver.OpSend, Flags: driver.Quiet})
		l.expect(1, driver.OpReceive, driver.OK)
		l.post(l.guest, l.use(4, driver.OpWrite, lent.Remote))
		l.expect(4, driver.OpWrite, driver.OK)
		l.post(l.owner, l.revoke(5))
		l.expect(5, driver.OpRevoke, driver.OK)
	}
}

// A Send that finds no receive is sent again, and what stands behind it must not be done again for that. What is Inline there was taken when it was
// posted.
func TestABindStandsBehindASendThatWaits(t *testing.T) {
	l := openLoft(t)
	defer l.close()
	own, taken := l.stage.memory.Region(), l.memory.Region()
	copy(own.Bytes, "early")
	lent := l.bind(2, l.span(0, 64), driver.RemoteWrite)
	at := driver.Span{Address: own.Address, Length: 3, Key: own.LocalKey}
	l.post(l.owner, driver.Request{Tag: 1, Op: driver.OpSend}, lent,
		driver.Request{Tag: 3, Op: driver.OpSend, Flags: driver.Inline | driver.Quiet, Span: at},
		l.revoke(4), driver.Request{Tag: 5, Op: driver.OpSend, Flags: driver.Inline, Span: at})
	copy(own.Bytes, "later")
	for i := range uint64(3) {
		_, err := l.guest.PostReceive([]driver.Receive{{Tag: 11 + driver.Tag(i), Span: l.span(1000+i*8, 8)}})
		l.must(err)
	}
	var owner, guest []driver.Tag
	for _, c := range l.take(7) {
		if c.Status != driver.OK {
			t.Errorf("%+v", c)
		}
		if c.Queue == l.owner.Number() {
			owner = append(owner, c.Tag)
		} else {
			guest = append(guest, c.Tag)
		}
	}
	if !slices.Equal(owner, []driver.Tag{1, 2, 4, 5}) || !slices.Equal(guest, []driver.Tag{11, 12, 13}) {
		t.Errorf("the owner has got %v, the guest %v", owner, guest)
	}
	if got := string(taken.Bytes[1008:1011]) + string(taken.Bytes[1016:1019]); got != "earear" {
		t.Errorf("%q has arrived", got)
	}
}

// What waits behind a Bind ends with the queue pair, in order.
func TestWhatStandsBehindABindIsFlushed(t *testing.T) {
	l := openLoft(t)
	defer l.close()
	list := []driver.Request{{Tag: 1, Op: driver.OpSend}, l.bind(2, l.span(0, 64), driver.RemoteWrite), {Tag: 3, Op: driver.OpSend}, l.revoke(4)}
	l.post(l.owner, list...)
	l.must(l.owner.Reset(5))
	for i, c := range l.take(5) {
		if want := driver.Tag(i + 1); c.Tag != want || c.Tag < 5 && c.Status != driver.Flushed {
			t.Errorf("%+v; want one with tag %d", c, want)
		}
	}
}

func TestTheGuestIsLetInForNothingElse(t *testing.T) {
	beside := func(offset int64, length uint64) func(*loft, driver.RemoteSpan) driver.Request {
		return func(l *loft, r driver.RemoteSpan) driver.Request {
			r.Address, r.Length = uint64(int64(r.Address)+offset), length
			return l.use(1, driver.OpWrite, r)
		}
	}
	for name, c := range map[string]struct {
		access driver.Access
		use    func(*loft, driver.RemoteSpan) driver.Request
	}{
		"the byte before":  {driver.RemoteAll, beside(-1, 8)},
		"the byte behind":  {driver.RemoteAll, beside(93, 8)},
		"elsewhere":        {driver.RemoteAll, beside(4096, 8)},
		"the page's begin": {driver.RemoteAll, beside(-4000, 8)},
		"too long":         {driver.RemoteAll, beside(0, 101)},
		"writing": {driver.RemoteRead | driver.RemoteAtomic, func(l *loft, r driver.RemoteSpan) driver.Request {
			return l.use(1, driver.OpWrite, r.Sub(0, 8))
		}},
		"reading": {driver.RemoteWrite | driver.RemoteAtomic, func(l *loft, r driver.RemoteSpan) driver.Request {
			return l.use(1, driver.OpRead, r.Sub(0, 8))
		}},
		"adding": {driver.RemoteWrite | driver.RemoteRead, func(l *loft, r driver.RemoteSpan) driver.Request {
			return l.use(1, driver.OpFetchAdd, r.Sub(0, 8))
		}},
		"another key": {driver.RemoteAll, func(l *loft, r driver.RemoteSpan) driver.Request {
			r.Key++
			return l.use(1, driver.OpWrite, r.Sub(0, 8))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := openLoft(t)
			defer l.close()
			copy(l.stage.memory.Region().Bytes, bytes.Repeat([]byte{1}, 200))
			l.isRefused(c.use(l, l.lend(4000, 100, c.access)))
			if got := l.memory.Region().Bytes; !bytes.Equal(got, make([]byte, loftSize)) {
				t.Error("it has changed something")
			}
		})
	}
}

// What is lent is tied to the queue pair: its key is of no use to anybody else.
func TestNobodyButTheGuestIsLetIn(t *testing.T) {
	l := openLoft(t)
	defer l.close()
	remote := l.lend(0, 64, driver.RemoteAll)
	_, stranger := l.wire()
	l.post(stranger, l.use(1, driver.OpWrite, remote))
	if c := l.take(1)[0]; !c.Status.Refused() {
		t.Errorf("%+v", c)
	}
	l.post(l.guest, l.use(2, driver.OpWrite, remote))
	l.expect(2, driver.OpWrite, driver.OK)
}

func TestTheQueuePairIsAskedToo(t *testing.T) {
	l := openLoft(t)
	defer l.close()
	remote := l.lend(0, 64, driver.RemoteAll)
	l.must(l.owner.SetAccess(1, driver.RemoteRead))
	l.expect(1, driver.OpQueueAccess, driver.OK)
	l.isRefused(l.use(2, driver.OpWrite, remote))
}

func TestWhatWasTakenBackIsClosed(t *testing.T) {
	l := openLoft(t)
	defer l.close()
	remote := l.lend(0, 64, driver.RemoteAll)
	l.post(l.owner, l.revoke(1))
	l.expect(1, driver.OpRevoke, driver.OK)
	l.isRefused(l.use(2, driver.OpWrite, remote))
}

// A refusal breaks the owner's queue pair, and the device flushes the Revoke that finds it so. It is in force nevertheless; what comes behind it is
// flushed.
func TestARevokeThatTheDeviceFlushesIsInForce(t *testing.T) {
	l := openLoft(t)
	defer l.close()
	remote := l.lend(0, 64, driver.RemoteAll)
	remote.Address += loftSize
	l.isRefused(l.use(1, driver.OpWrite, remote))
	l.post(l.owner, l.revoke(2), driver.Request{Tag: 3, Op: driver.OpSend})
	l.expect(2, driver.OpRevoke, driver.OK)
	l.expect(3, driver.OpSend, driver.Flushed)
	if n := ibv.Loans(l.window); n != 0 {
		t.Errorf("%d pieces are lent yet", n)
	}
}

// The next loan does not open the one before.
func TestTheKeyOfTheLastLoanIsNoKeyToTheNext(t *testing.T) {
	l := openLoft(t)
	defer l.close()
	old := l.lend(0, 64, driver.RemoteAll)
	next := l.bind(2, l.span(0, 64), driver.RemoteAll)
	l.post(l.owner, l.revoke(1), next)
	l.expect(1, driver.OpRevoke, driver.OK)
	l.expect(2, driver.OpBind, driver.OK)
	l.post(l.guest, l.use(3, driver.OpWrite, next.Remote))
	l.expect(3, driver.OpWrite, driver.OK)
	l.isRefused(l.use(4, driver.OpWrite, old))
}

// Loans that follow each other in one list, more of them than there are keys.
func TestAWindowLendsAgainAndAgain(t *testing.T) {
	l := openLoft(t)
	defer l.close()
	for range 60 {
		var list []driver.Request
		for i := range uint64(5) {
			list = append(list, l.bind(1, l.span(i*512, 512), driver.RemoteAll), l.revoke(2))
			list[2*i].Flags = driver.Quiet
		}
		last := l.bind(3, l.span(0, 64), driver.RemoteAll)
		l.post(l.owner, append(list, last)...)
		for range 5 {
			l.expect(2, driver.OpRevoke, driver.OK)
		}
		l.expect(3, driver.OpBind, driver.OK)
		l.post(l.guest, l.use(4, driver.OpWrite, last.Remote))
		l.expect(4, driver.OpWrite, driver.OK)
		quiet := l.revoke(5)
		quiet.Flags = driver.Quiet
		l.post(l.owner, quiet)
	}
}

// Cards get everything at once, and lend what is registered already. Soft-RoCE does that, too, as long as no packet is lost.
func TestLoansAsCardsGetThem(t *testing.T) {
	l := openLoft(t)
	defer l.close()
	ibv.TakeForCard(l.device)
	quiet := l.bind(1, l.span(0, 8), driver.RemoteAll)
	quiet.Flags = driver.Quiet
	last := l.bind(3, l.span(100, 64), driver.RemoteWrite)
	l.post(l.owner, quiet, l.revoke(2), last)
	l.expect(2, driver.OpRevoke, driver.OK)
	l.expect(3, driver.OpBind, driver.OK)
	copy(l.stage.memory.Region().Bytes, "written")
	l.post(l.guest, l.use(4, driver.OpWrite, last.Remote))
	l.expect(4, driver.OpWrite, driver.OK)
	if got := l.memory.Region().Bytes[100:107]; string(got) != "written" {
		t.Errorf("%q was written", got)
	}
	l.must(l.memory.Close()) // only because what is lent ends before
	l.isOpen = false
	l.isRefused(l.use(5, driver.OpWrite, last.Remote))
}

// When a Revoke has completed, nothing lands any more, however the guest hurries.
func TestNothingLandsBehindARevoke(t *testing.T) {
	const size = 64 << 10
	for range budget(0).Repeat * 3 {
		l := openLoft(t)
		source, err := l.domain.(driver.Allocator).Alloc(depth*size, 0)
		l.must(err)
		from := source.Region()
		for i := range from.Bytes {
			from.Bytes[i] = byte(1 + i/size)
		}
		remote := l.lend(4096, size, driver.RemoteWrite)
		list := make([]driver.Request, depth)
		for i := range list {
			list[i] = l.use(driver.Tag(i), driver.OpWrite, remote)
			list[i].Span = driver.Span{Address: from.Address + uint64(i*size), Length: size, Key: from.LocalKey}
		}
		l.post(l.guest, list...)
		l.take(2)
		l.post(l.owner, l.revoke(1000))
		left := depth - 2
		for {
			if c := l.take(1)[0]; c.Op == driver.OpRevoke {
				break
			}
			left--
		}
		then := bytes.Clone(l.memory.Region().Bytes)
		l.take(left)
		if !bytes.Equal(then, l.memory.Region().Bytes) {
			t.Error("something has landed behind the end of the Revoke")
		}
		l.must(source.Close())
		l.close()
	}
}

// A Bind or Revoke whose window is closed ends as it would have, and lends nothing, also if it is posted later.
func TestAClosedWindowLendsNothing(t *testing.T) {
	for name, prepare := range map[string]func(*loft){
		"as Soft-RoCE": func(*loft) {},
		"as a card":    func(l *loft) { ibv.TakeForCard(l.device) },
	} {
		t.Run(name, func(t *testing.T) {
			l := openLoft(t)
			defer l.close()
			prepare(l)
			l.receive(l.guest, 50, 1)
			lent := l.bind(2, l.span(0, 64), driver.RemoteAll)
			late := []driver.Request{l.bind(5, l.span(0, 64), driver.RemoteAll), l.revoke(6), l.bind(7, l.span(0, 64), driver.RemoteAll), l.revoke(8)}
			l.post(l.owner, driver.Request{Tag: 1, Op: driver.OpSend}, lent, l.revoke(3), l.bind(4, l.span(0, 64), driver.RemoteAll))
			l.must(l.window.Close())
			l.post(l.owner, late...)
			var order []driver.Tag
			for _, c := range l.take(9) {
				if c.Status != driver.OK {
					t.Errorf("%+v", c)
				}
				if c.Op != driver.OpReceive {
					order = append(order, c.Tag)
				}
			}
			if !slices.Equal(order, []driver.Tag{1, 2, 3, 4, 5, 6, 7, 8}) {
				t.Errorf("they have ended in the order %v", order)
			}
			l.window = l.newWindow(l.owner)
			l.isRefused(l.use(9, driver.OpWrite, late[0].Remote))
		})
	}
}

// A window goes on when memory that it lent was closed.
func TestAWindowOutlivesMemory(t *testing.T) {
	l := openLoft(t)
	defer l.close()
	l.lend(0, 64, driver.RemoteAll)
	l.must(l.memory.Close())
	var err error
	l.memory, err = l.domain.(driver.Allocator).Alloc(loftSize, 0)
	l.must(err)
	next := l.bind(2, l.span(0, 64), driver.RemoteAll)
	l.post(l.owner, l.revoke(1), next)
	l.expect(1, driver.OpRevoke, driver.OK)
	l.expect(2, driver.OpBind, driver.OK)
	l.post(l.guest, l.use(3, driver.OpWrite, next.Remote))
	l.expect(3, driver.OpWrite, driver.OK)
	l.post(l.owner, l.revoke(4), l.revoke(5))
	l.expect(4, driver.OpRevoke, driver.OK)
	l.expect(5, driver.OpRevoke, driver.OK) // of nothing
}

// Neither the end of the queue pair nor that of the memory leaves anything behind.
func TestWindowsCloseInError(t *testing.T) {
	l := openLoft(t)
	defer l.close()
	remote := l.lend(0, 64, driver.RemoteRead)
	l.isRefused(l.use(1, driver.OpWrite, remote))
	for l.owner.State() != driver.Error {
		l.queue.Poll(nil)
	}
	l.post(l.owner, l.revoke(2), l.bind(3, l.span(0, 64), driver.RemoteAll))
	l.expect(2, driver.OpRevoke, driver.Flushed)
	l.expect(3, driver.OpBind, driver.Flushed)
	l.must(l.window.Close())
	l.must(l.memory.Close())
	l.isOpen = false
	l.window = l.newWindow(l.owner)
}

func TestWhatIsLentEndsWithTheMemory(t *testing.T) {
	l := openLoft(t)
	defer l.close()
	remote := l.lend(0, 64, driver.RemoteAll)
	l.must(l.memory.Close())
	l.isOpen = false
	l.isRefused(l.use(1, driver.OpWrite, remote))
}

func TestWhatIsLentEndsWithTheWindow(t *testing.T) {
	l := openLoft(t)
	defer l.close()
	remote := l.lend(0, 64, driver.RemoteAll)
	l.must(l.window.Close())
	l.window = l.newWindow(l.owner)
	l.isRefused(l.use(1, driver.OpWrite, remote))
}

// What cannot be lent fails the queue pair, as bad requests do, and what was posted before it ends first.
func TestBadLoansFail(t *testing.T) {
	for name, bad := range map[string]func(*loft) driver.Request{
		"beyond the memory": func(l *loft) driver.Request { return l.bind(2, l.span(loftSize-8, 16), driver.RemoteAll) },
		"another's memory": func(l *loft) driver.Request {
			s := l.span(0, 8)
			s.Key++
			return l.bind(2, s, driver.RemoteAll)
		},
		"an unknown window": func(l *loft) driver.Request {
			r := l.bind(2, l.span(0, 8), driver.RemoteAll)
			r.Compare = 99
			return r
		},
		"twice": func(l *loft) driver.Request {
			l.lend(0, 8, driver.RemoteAll)
			return l.bind(2, l.span(0, 8), driver.RemoteAll)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := openLoft(t)
			defer l.close()
			l.receive(l.guest, 1, 1)
			r := bad(l)
			l.post(l.owner, driver.Request{Tag: 1, Op: driver.OpSend}, r, driver.Request{Tag: 3, Op: driver.OpSend})
			var ends []driver.Completion
			for _, c := range l.take(4) {
				if c.Op != driver.OpReceive {
					ends = append(ends, c)
				}
			}
			if len(ends) != 3 || ends[1].Status != driver.LocalProtection || ends[2].Status != driver.Flushed {
				t.Errorf("%+v", ends)
			}
			if state := l.owner.State(); state != driver.Error {
				t.Errorf("the queue pair is %v", state)
			}
		})
	}
}

func TestDevicesWithoutWindowsSaySo(t *testing.T) {
	needDevice(t)
	s := openStage(t)
	defer s.close()
	ibv.WithoutWindows(s.device)
	if w, err := s.pair().(driver.Windows).NewWindow(); !errors.Is(err, driver.ErrNotSupported) {
		t.Errorf("%v, %v", w, err)
	}
}
