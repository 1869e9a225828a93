package hook

import (
	"encoding/binary"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// rig is two connected queue pairs on a wrapped fake, with memory at both ends.
type rig struct {
	t      testing.TB
	fake   *fake
	device driver.Device
	domain driver.Domain
	queue  driver.CompletionQueue
	a, b   driver.QueuePair
	mine   driver.Memory // a's
	theirs driver.Memory // b's
	settle func()        // lets what was posted happen; nil: it has happened
}

const rigBytes = 64

func newRig(t testing.TB, wrap func(driver.Device) driver.Device) *rig {
	t.Helper()
	f := newFake()
	r := newRigOn(t, wrap(f), nil)
	r.fake = f
	return r
}

// newRigOn makes a rig on any device.
func newRigOn(t testing.TB, device driver.Device, settle func()) *rig {
	t.Helper()
	r := &rig{t: t, device: device, settle: settle}
	r.domain = must(r.device.NewDomain())(t)
	r.queue = must(r.device.NewCompletionQueue(64))(t)
	r.a, r.b = r.pair(driver.RemoteAll), r.pair(driver.RemoteAll)
	r.mine = must(r.domain.(driver.Allocator).Alloc(rigBytes, 0))(t)
	r.theirs = must(r.domain.(driver.Allocator).Alloc(rigBytes, driver.RemoteAll))(t)
	r.connect(r.a, r.b)
	r.connect(r.b, r.a)
	for connected := 0; connected < 2; connected += len(r.poll()) {
	}
	for i := range r.mine.Region().Bytes {
		r.mine.Region().Bytes[i] = byte(i + 1)
	}
	return r
}

// lying is a rig that tells one lie, whenever it can.
func lying(t testing.TB, lie Lie) *rig { return faulty(t, Rule{Lie: lie}) }

func faulty(t testing.TB, rules ...Rule) *rig {
	t.Helper()
	return newRig(t, func(d driver.Device) driver.Device { return Fault(d, Plan{rules}) })
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (r *rig) pair(access driver.Access) driver.QueuePair {
	r.t.Helper()
	return must(r.domain.NewQueuePair(driver.QueueConfig{Completions: r.queue, SendDepth: 8, ReceiveDepth: 8,
		MaxSpans: 1, MaxInline: 16, Access: access}))(r.t)
}

func (r *rig) connect(from, to driver.QueuePair) {
	r.t.Helper()
	if err := from.Connect(900, to.Address()); err != nil {
		r.t.Fatal(err)
	}
}

// poll returns what one Poll finds.
func (r *rig) poll() []driver.Completion {
	r.t.Helper()
	if r.settle != nil {
		r.settle()
	}
	into := make([]driver.Completion, 16)
	n, err := r.queue.Poll(into)
	if err != nil {
		r.t.Fatal(err)
	}
	return into[:n]
}

func (r *rig) post(q driver.QueuePair, list ...driver.Request) {
	r.t.Helper()
	if n, err := q.Post(list); n != len(list) || err != nil {
		r.t.Fatalf("Post took %d of %d: %v", n, len(list), err)
	}
}

func (r *rig) receive(tags ...driver.Tag) {
	r.t.Helper()
	var list []driver.Receive
	for i, tag := range tags {
		list = append(list, driver.Receive{Tag: tag, Span: span(r.theirs, uint64(8*i), 8)})
	}
	if n, err := r.b.PostReceive(list); n != len(list) || err != nil {
		r.t.Fatalf("PostReceive took %d of %d: %v", n, len(list), err)
	}
}

// request is an operation on the first 8 bytes at both ends.
func (r *rig) request(tag driver.Tag, op driver.Op, flags driver.Flags) driver.Request {
	theirs := r.theirs.Region()
	q := driver.Request{Tag: tag, Op: op, Flags: flags, Span: span(r.mine, 0, 8)}
	if op.HasRemote() {
		q.Remote = driver.RemoteSpan{Address: theirs.Address, Length: 8, Key: theirs.RemoteKey}
	}
	return q
}

func span(m driver.Memory, offset uint64, n uint32) driver.Span {
	region := m.Region()
	return driver.Span{Address: region.Address + offset, Length: n, Key: region.LocalKey}
}

func word(m driver.Memory) uint64 { return binary.NativeEndian.Uint64(m.Region().Bytes) }

func setWord(m driver.Memory, v uint64) { binary.NativeEndian.PutUint64(m.Region().Bytes, v) }

// end is what tests compare of a completion.
type end struct {
	tag    driver.Tag
	op     driver.Op
	status driver.Status
}

// expect polls once and compares.
func (r *rig) expect(want ...end) {
	r.t.Helper()
	got := r.poll()
	ok := len(got) == len(want)
	for i := 0; ok && i < len(want); i++ {
		ok = end{got[i].Tag, got[i].Op, got[i].Status} == want[i]
	}
	if !ok {
		r.t.Fatalf("polled %v, want %v", got, want)
	}
}

// close closes everything, children first. A scene may have closed some of it already.
func (r *rig) close() {
	for _, c := range []interface{ Close() error }{r.a, r.b, r.mine, r.theirs} {
		_ = c.Close()
	}
	for _, c := range []interface{ Close() error }{r.domain, r.queue, r.device} {
		if err := c.Close(); err != nil {
			r.t.Errorf("close: %v", err)
		}
	}
}
