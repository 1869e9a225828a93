package hook

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/verbs/driver"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// fake is a NIC in a few lines: both ends of a connection live on it, and every request is carried out when it is
// posted. Its time stands still until somebody moves it.
type fake struct {
	now      clock.Time
	locks    uint64
	keys     uint64
	memories map[uint64]*fakeMemory // by remote key
	pairs    map[uint32]*fakePair
	closed   int
}

func newFake() *fake { return &fake{memories: map[uint64]*fakeMemory{}, pairs: map[uint32]*fakePair{}} }

func (f *fake) Limits() driver.Limits {
	return driver.Limits{Provider: "fake", Chains: true, PeerTimeout: time.Second}
}
func (f *fake) Now() clock.Time    { return f.now }
func (f *fake) Clock() clock.Clock { return f }
func (f *fake) Locks() uint64      { return f.locks }
func (f *fake) Close() error       { f.closed++; return nil }

func (f *fake) NewDomain() (driver.Domain, error) { return &fakeDomain{f}, nil }

func (f *fake) NewCompletionQueue(depth int) (driver.CompletionQueue, error) {
	return &fakeQueue{fake: f, list: make([]driver.Completion, 0, depth)}, nil
}

type fakeDomain struct{ fake *fake }

func (d *fakeDomain) Close() error { return nil }

func (d *fakeDomain) Register(b []byte, access driver.Access) (driver.Memory, error) {
	d.fake.keys++
	key := d.fake.keys
	region := driver.Region{Bytes: b, Address: addressOf(b), Length: uint64(len(b)), LocalKey: uint32(key),
		RemoteKey: key * 0x9e3779b97f4a7c15}
	m := &fakeMemory{d.fake, d, region, access}
	d.fake.memories[region.RemoteKey] = m
	return m, nil
}

func (d *fakeDomain) Alloc(size int, access driver.Access) (driver.Memory, error) {
	return d.Register(make([]byte, size), access)
}

func (d *fakeDomain) NewSharedReceives(c driver.SharedConfig) (driver.SharedReceives, error) {
	_ = c.Completions.(*fakeQueue) // panics on a wrapper
	return &fakeReceives{}, nil
}

func (d *fakeDomain) NewQueuePair(c driver.QueueConfig) (driver.QueuePair, error) {
	p := &fakePair{fake: d.fake, domain: d, number: uint32(len(d.fake.pairs) + 1), queue: c.Completions.(*fakeQueue),
		access: c.Access, receives: &fakeReceives{}}
	if c.Shared != nil {
		p.receives = c.Shared.(*fakeReceives)
	}
	d.fake.pairs[p.number] = p
	return p, nil
}

func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

type fakeMemory struct {
	fake   *fake
	domain *fakeDomain
	region driver.Region
	access driver.Access
}

func (m *fakeMemory) Region() driver.Region { return m.region }
func (m *fakeMemory) Close() error          { delete(m.fake.memories, m.region.RemoteKey); return nil }

func (m *fakeMemory) SetAccess(q driver.CompletionQueue, tag driver.Tag, access driver.Access) error {
	m.access = access
	q.(*fakeQueue).push(driver.Completion{Tag: tag, Op: driver.OpMemoryAccess})
	return nil
}

// at returns n bytes at an address, or nil.
func (m *fakeMemory) at(address uint64, n uint32) []byte {
	offset := address - m.region.Address
	if address < m.region.Address || offset+uint64(n) > m.region.Length {
		return nil
	}
	return m.region.Bytes[offset : offset+uint64(n)]
}

type fakeQueue struct {
	fake   *fake
	list   []driver.Completion
	waits  int
	wakes  atomic.Int64
	runner driver.Runner
}

func (q *fakeQueue) push(c driver.Completion) { q.list = append(q.list, c) }
func (q *fakeQueue) Close() error             { return nil }
func (q *fakeQueue) Wake()                    { q.wakes.Add(1) }
func (q *fakeQueue) Drive(r driver.Runner)    { q.runner = r }

func (q *fakeQueue) Poll(into []driver.Completion) (int, error) {
	n := copy(into, q.list)
	q.list = q.list[:copy(q.list, q.list[n:])]
	return n, nil
}

// Wait lets virtual time pass, in steps, unless there is something to poll.
func (q *fakeQueue) Wait(until clock.Time, _ time.Duration) error {
	q.waits++
	if len(q.list) == 0 {
		q.fake.now = min(until, q.fake.now+10)
	}
	return nil
}

func (q *fakeQueue) WaitShared(lock sync.Locker, until clock.Time, spin time.Duration) error {
	lock.Unlock()
	defer lock.Lock()
	return q.Wait(until, spin)
}

type fakeReceives struct{ list []driver.Receive }

func (r *fakeReceives) Close() error { return nil }

func (r *fakeReceives) PostReceive(list []driver.Receive) (int, error) {
	r.list = append(r.list, list...)
	return len(list), nil
}

type fakePair struct {
	fake     *fake
	domain   *fakeDomain
	resets   int
	number   uint32
	queue    *fakeQueue
	receives *fakeReceives
	access   driver.Access
	state    driver.State
	peer     *fakePair
	arrived  uint64
	full     bool // takes only the first request of a list, and only while nothing waits
	waiting  []driver.Request
	windows  uint32 // made so far
	lent     map[uint32]*fakeLoan
}

func (p *fakePair) Number() uint32 { return p.number }
func (p *fakePair) Address() driver.Address {
	return driver.Address(fmt.Sprint(p.number, " ", p.resets))
}
func (p *fakePair) State() driver.State { return p.state }

func (p *fakePair) PostReceive(list []driver.Receive) (int, error) {
	return p.receives.PostReceive(list)
}

func (p *fakePair) Connect(tag driver.Tag, peer driver.Address) error {
	var number uint32
	if _, err := fmt.Sscan(string(peer), &number); err != nil {
		return err
	}
	p.peer, p.state = p.fake.pairs[number], driver.Ready
	p.control(driver.OpConnect, tag)
	return nil
}

func (p *fakePair) control(op driver.Op, tag driver.Tag) {
	p.queue.push(driver.Completion{Tag: tag, Queue: p.number, Op: op})
}

func (p *fakePair) SetAccess(tag driver.Tag, access driver.Access) error {
	p.access = access
	p.control(driver.OpQueueAccess, tag)
	return nil
}

func (p *fakePair) Reset(tag driver.Tag) error {
	p.fail()
	p.state, p.arrived = driver.New, 0
	p.resets++
	p.control(driver.OpReset, tag)
	return nil
}

func (p *fakePair) Close() error {
	p.state = driver.Closed
	if p.peer != nil {
		p.peer.fail()
	}
	return nil
}

// fail goes to Error and flushes.
func (p *fakePair) fail() {
	p.state = driver.Error
	clear(p.lent)
	for _, r := range p.waiting {
		p.complete(&r, driver.Flushed)
	}
	for _, r := range p.receives.list {
		p.queue.push(driver.Completion{Tag: r.Tag, Queue: p.number, Op: driver.OpReceive, Status: driver.Flushed})
	}
	p.waiting, p.receives.list = nil, nil
}

func (p *fakePair) Post(list []driver.Request) (int, error) {
	var err error
	if p.full {
		list, err = list[:max(0, 1-len(p.waiting))], fmt.Errorf("full")
	}
	for i := range list {
		p.post(&list[i])
	}
	return len(list), err
}

func (p *fakePair) post(r *driver.Request) {
	if p.state == driver.Error {
		p.complete(r, driver.Flushed)
		return
	}
	if r.After.Count > 0 && p.fake.pairs[r.After.Queue].arrived < r.After.Count {
		p.waiting = append(p.waiting, *r)
		return
	}
	status := p.do(r)
	p.complete(r, status)
	if status != driver.OK {
		p.fail()
	}
	if status.Refused() {
		p.peer.fail()
	}
}

func (p *fakePair) complete(r *driver.Request, status driver.Status) {
	if r.Flags.Has(driver.Quiet) && status == driver.OK {
		return
	}
	c := driver.Completion{Tag: r.Tag, Queue: p.number, Op: r.Op, Status: status}
	if status == driver.OK {
		c.Bytes = uint32(r.Bytes())
	}
	p.queue.push(c)
}

func (p *fakePair) local(s driver.Span) []byte {
	for _, m := range p.fake.memories {
		if m.region.LocalKey == s.Key {
			return m.at(s.Address, s.Length)
		}
	}
	return nil
}

// do carries out a request. It knows only one span.
func (p *fakePair) do(r *driver.Request) driver.Status {
	mine := p.local(r.Span)
	if r.Op.IsLocal() {
		return p.change(r)
	}
	switch {
	case mine == nil && r.Span.Length > 0:
		return driver.LocalProtection
	case p.peer.state == driver.Closed:
		return driver.RetryExceeded
	case r.Op.TakesReceive() && len(p.peer.receives.list) == 0:
		return driver.ReceiverNotReady
	}
	if r.Op.HasRemote() {
		if status := p.remote(r, mine); status != driver.OK {
			return status
		}
	}
	if r.Op.TakesReceive() {
		p.peer.arrive(r, mine)
	}
	return driver.OK
}

func (p *fakePair) remote(r *driver.Request, mine []byte) driver.Status {
	m := p.fake.memories[r.Remote.Key]
	if loan := p.peer.loan(r.Remote.Key); loan != nil {
		m = loan
	}
	if m == nil || m.domain != p.peer.domain || !m.access.Allows(r.Op.Needs()) ||
		m.at(r.Remote.Address, uint32(len(mine))) == nil {
		return driver.RemoteAccess
	}
	if !p.peer.access.Allows(r.Op.Needs()) {
		return driver.RemoteInvalid
	}
	theirs := m.at(r.Remote.Address, uint32(len(mine)))
	switch r.Op {
	case driver.OpWrite, driver.OpWriteImm:
		copy(theirs, mine)
	case driver.OpRead:
		copy(mine, theirs)
	default:
		old := binary.NativeEndian.Uint64(theirs)
		binary.NativeEndian.PutUint64(mine, old)
		switch {
		case r.Op == driver.OpFetchAdd:
			binary.NativeEndian.PutUint64(theirs, old+r.Swap)
		case old == r.Compare:
			binary.NativeEndian.PutUint64(theirs, r.Swap)
		}
	}
	return driver.OK
}

// arrive takes a receive, and starts what waited for it.
func (p *fakePair) arrive(r *driver.Request, message []byte) {
	receive := p.receives.list[0]
	p.receives.list = p.receives.list[:copy(p.receives.list, p.receives.list[1:])]
	if r.Op != driver.OpWriteImm {
		copy(p.local(receive.Span), message)
	}
	p.queue.push(driver.Completion{Tag: receive.Tag, Queue: p.number, Bytes: uint32(len(message)), Imm: r.Imm,
		Op: r.Op.Arrived()})
	p.arrived++
	for _, other := range p.fake.pairs {
		ready := other.waiting
		other.waiting = nil
		for i := range ready {
			other.post(&ready[i])
		}
	}
}
