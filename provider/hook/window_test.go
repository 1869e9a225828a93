package hook

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// fakeWindow lends what its queue pair keeps under its number.
type fakeWindow struct {
	pair   *fakePair
	number uint32
}

// fakeLoan is what is lent: memory with other bounds, another access and another key.
type fakeLoan struct {
	fakeMemory
	from *fakeMemory
}

func (p *fakePair) NewWindow() (driver.Window, error) {
	p.windows++
	return fakeWindow{p, p.windows}, nil
}

func (w fakeWindow) Number() uint32 { return w.number }
func (w fakeWindow) Close() error   { delete(w.pair.lent, w.number); return nil }

func (w fakeWindow) NextKey() uint64 {
	w.pair.fake.keys++
	return w.pair.fake.keys * 0x9e3779b97f4a7c15
}

// change carries out a Bind or a Revoke.
func (p *fakePair) change(r *driver.Request) driver.Status {
	if p.lent == nil {
		p.lent = map[uint32]*fakeLoan{}
	}
	delete(p.lent, uint32(r.Compare))
	if r.Op == driver.OpRevoke {
		return driver.OK
	}
	for _, m := range p.fake.memories {
		if b := m.at(r.Span.Address, r.Span.Length); b != nil && m.region.LocalKey == r.Span.Key {
			region := driver.Region{Bytes: b, Address: r.Span.Address, Length: uint64(len(b)), RemoteKey: r.Remote.Key}
			p.lent[uint32(r.Compare)] = &fakeLoan{fakeMemory{p.fake, p.domain, region, driver.Access(r.Swap)}, m}
			return driver.OK
		}
	}
	return driver.LocalProtection
}

// loan finds what is lent under a key, if its memory is open.
func (p *fakePair) loan(key uint64) *fakeMemory {
	for _, l := range p.lent {
		if l.region.RemoteKey == key && p.fake.memories[l.from.region.RemoteKey] == l.from {
			return &l.fakeMemory
		}
	}
	return nil
}

// isAboutWindows reports whether a device without windows cannot tell a lie.
func isAboutWindows(l Lie) bool { return l >= IgnoreRevoke && l <= KeepWindow }

// faults is the plan at work on a rig whose outermost layer it is.
func (r *rig) faults() *faults { return r.a.(pairParts).QueuePair.(*faultyQueuePair).faults }

// window makes a window of a's.
func (r *rig) window() driver.Window {
	r.t.Helper()
	return must(r.a.(driver.Windows).NewWindow())(r.t)
}

// bind lends the second word of a's memory, which grants nothing by itself.
func (r *rig) bind(tag driver.Tag, w driver.Window, access driver.Access) driver.Request {
	piece := span(r.mine, 8, 8)
	return driver.Request{Tag: tag, Op: driver.OpBind, Span: piece, Compare: uint64(w.Number()), Swap: uint64(access),
		Remote: driver.RemoteSpan{Address: piece.Address, Length: 8, Key: w.NextKey()}}
}

// lend does it, and returns a Write of b's to what is lent, and what the program has seen.
func (r *rig) lend(w driver.Window, access driver.Access) (use driver.Request, ends string) {
	r.t.Helper()
	bind := r.bind(1, w, access)
	r.post(r.a, bind)
	use = driver.Request{Tag: 3, Op: driver.OpWrite, Span: span(r.theirs, 0, 8), Remote: bind.Remote}
	return use, r.ends()
}

// use posts a Write of b's, and says how it ended, among what the program has seen.
func (r *rig) use(write driver.Request, ends ...string) string {
	r.post(r.b, write)
	return strings.Join(append(ends, r.ends()), ", ")
}

// takeBack posts a Revoke.
func (r *rig) takeBack(w driver.Window) string {
	r.post(r.a, driver.Request{Tag: 2, Op: driver.OpRevoke, Compare: uint64(w.Number())})
	return r.ends()
}

func revoked(r *rig) string {
	w := r.window()
	write, ends := r.lend(w, driver.RemoteAll)
	return r.use(write, ends, r.takeBack(w))
}

func revokedEarly(r *rig) string {
	w := r.window()
	write, ends := r.lend(w, driver.RemoteAll)
	first := r.use(write, ends, r.takeBack(w))
	for range revokePolls + 1 {
		r.poll()
	}
	later := r.use(write)
	if err := w.Close(); err != nil {
		return err.Error()
	}
	return first + ", later " + later
}

// readable writes to what is lent for reading.
func readable(r *rig) string {
	write, ends := r.lend(r.window(), driver.RemoteRead)
	return r.use(write, ends)
}

// beforeWindow writes to the word before what is lent.
func beforeWindow(r *rig) string {
	write, ends := r.lend(r.window(), driver.RemoteAll)
	write.Remote.Address -= 8
	return r.use(write, ends)
}

func closedWindow(r *rig) string {
	w := r.window()
	write, ends := r.lend(w, driver.RemoteAll)
	if err := w.Close(); err != nil {
		return err.Error()
	}
	return r.use(write, ends)
}

// TestWindowsPassThrough: through every hook memory is lent, used and taken back as without.
func TestWindowsPassThrough(t *testing.T) {
	for name, hook := range hooks {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, hook)
			w := r.window()
			write, ends := r.lend(w, driver.RemoteWrite)
			if got, want := r.use(write, ends), "1 Bind OK 0, 3 Write OK 8"; got != want {
				t.Errorf("lent: %q, want %q", got, want)
			}
			if got, want := r.use(write, r.takeBack(w)), "2 Revoke OK 0, 3 Write RemoteAccess 0"; got != want {
				t.Errorf("taken back: %q, want %q", got, want)
			}
			closeAll(t, w)
		})
	}
}

// TestPairsWithoutWindows: no hook gives a queue pair what it has not.
func TestPairsWithoutWindows(t *testing.T) {
	for name, hook := range hooks {
		r := newRig(t, func(d driver.Device) driver.Device { return hook(windowless{d.(*fake)}) })
		if is[driver.Windows](r.a) {
			t.Errorf("%s: a queue pair has windows, the one inside has none", name)
		}
	}
}

// windowless is a fake whose queue pairs have no windows.
type windowless struct{ *fake }

func (w windowless) NewDomain() (driver.Domain, error) {
	return windowlessDomain{&fakeDomain{w.fake}}, nil
}

type windowlessDomain struct{ *fakeDomain }

func (d windowlessDomain) NewQueuePair(c driver.QueueConfig) (driver.QueuePair, error) {
	inner, err := d.fakeDomain.NewQueuePair(c)
	return struct{ driver.QueuePair }{inner}, err
}

// TestFailLending: a Bind or a Revoke can be made to fail like any request. What was to be lent is not.
func TestFailLending(t *testing.T) {
	open := map[string]func(*testing.T, Plan) *rig{
		"fake": func(t *testing.T, plan Plan) *rig { return faulty(t, plan.Rules...) }, "sim": faultySim}
	for where := range open {
		for _, op := range []driver.Op{driver.OpBind, driver.OpRevoke} {
			for _, status := range []driver.Status{driver.LocalProtection, driver.RemoteAccess, driver.RetryExceeded} {
				t.Run(fmt.Sprint(where, op, status), func(t *testing.T) {
					failLending(open[where](t, Plan{[]Rule{{Op: op, Fail: status}}}), op, status)
				})
			}
		}
	}
}

func failLending(r *rig, op driver.Op, status driver.Status) {
	w := r.window()
	request := r.bind(1, w, driver.RemoteAll)
	if op == driver.OpRevoke {
		request = driver.Request{Tag: 1, Op: op, Compare: uint64(w.Number())}
	}
	request.Flags = driver.Quiet
	r.post(r.a, request, r.request(2, driver.OpWrite, 0))
	r.expect(end{1, op, status}, end{2, driver.OpWrite, driver.Flushed})
	if r.a.State() != driver.Error {
		r.t.Errorf("state %v", r.a.State())
	}
}

// TestCountsLending: they are counted as requests, without bytes.
func TestCountsLending(t *testing.T) {
	r, counter := countedRig(t)
	w := r.window()
	r.lend(w, driver.RemoteAll)
	r.takeBack(w)
	c := counter.Snapshot()
	if c.Operations.Of(driver.OpBind) != 1 || c.Operations.Of(driver.OpRevoke) != 1 || c.Requests != 2 ||
		c.Bytes.Of(driver.OpBind) != 0 {
		t.Errorf("counted %+v", c)
	}
}

// TestTracesLending: they are traced from their post to their completion.
func TestTracesLending(t *testing.T) {
	r, tracer := tracedRig(t, 100)
	r.lend(r.window(), driver.RemoteAll)
	list := ended(tracer.Spans())
	if len(list) != 1 || list[0].Op != driver.OpBind || !list[0].Whole() {
		t.Errorf("spans %+v", list)
	}
}

// TestGuessableKeysOfWindows: the lie about keys is told of theirs, too.
func TestGuessableKeysOfWindows(t *testing.T) {
	w := lying(t, GuessableKeys).window()
	if a, b := w.NextKey(), w.NextKey(); b != a+1 {
		t.Errorf("keys %d and %d", a, b)
	}
}

// TestLeftOpenWindowsEndWithTheConnection: what lies have left open is closed when the queue pair is reset.
func TestLeftOpenWindowsEndWithTheConnection(t *testing.T) {
	for _, lie := range []Lie{KeepWindow, IgnoreRevoke} {
		r := lying(t, lie)
		w := r.window()
		r.lend(w, driver.RemoteAll)
		r.takeBack(w)
		closeAll(t, w)
		if err := r.a.Reset(5); err != nil {
			t.Fatal(err)
		}
		if left := r.a.(pairParts).QueuePair.(*faultyQueuePair).leftOpen; len(left) != 0 {
			t.Errorf("%v: %d windows are left", lie, len(left))
		}
	}
}
