package pingpong

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
	"github.com/weft-fabric/weft/provider/ibv"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
	"github.com/weft-fabric/weft/verbs/driver"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// nic is a software NIC that behaves as an RDMA device does: its queue pairs have such addresses, and one that connects
// before its peer does not wait for it.
type nic struct {
	driver.Device
	gids  []ibv.GID
	pairs *book
}

// book knows queue pairs by the number of their first packet.
type book struct {
	mu    sync.Mutex
	pages []page
}

type page struct {
	address driver.Address
	called  bool // it has been connected
}

func (b *book) enter(a driver.Address) uint32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pages = append(b.pages, page{address: a})
	return uint32(len(b.pages))
}

// meet notes that one connects to another, and says whether that has connected already.
func (b *book) meet(mine, theirs uint32) (address driver.Address, second bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if theirs < 1 || int(theirs) > len(b.pages) {
		return "", false, fmt.Errorf("nobody begins with packet %d: %w", theirs, driver.ErrArgument)
	}
	b.pages[mine-1].called = true
	peer := b.pages[theirs-1]
	return peer.address, peer.called, nil
}

func (n nic) NewDomain() (driver.Domain, error) {
	d, err := n.Device.NewDomain()
	return domain{d, n}, err
}

func (n nic) NewCompletionQueue(depth int) (driver.CompletionQueue, error) {
	q, err := n.Device.NewCompletionQueue(depth)
	if err != nil {
		return nil, err
	}
	return &queue{CompletionQueue: q, Waiter: q.(driver.Waiter)}, nil
}

// queue tells of some connections early.
type queue struct {
	driver.CompletionQueue
	driver.Waiter
	early  []driver.Completion
	hushed int // connections that were told early, and will be told again
}

func (q *queue) Poll(into []driver.Completion) (int, error) {
	if n := copy(into, q.early); n > 0 {
		q.early = q.early[n:]
		return n, nil
	}
	n, err := q.CompletionQueue.Poll(into)
	kept := into[:0]
	for _, c := range into[:n] {
		if c.Op == driver.OpConnect && q.hushed > 0 {
			q.hushed--
			continue
		}
		kept = append(kept, c)
	}
	return len(kept), err
}

type domain struct {
	driver.Domain
	nic nic
}

func (d domain) NewQueuePair(config driver.QueueConfig) (driver.QueuePair, error) {
	reports := config.Completions.(*queue)
	config.Completions = reports.CompletionQueue
	q, err := d.Domain.NewQueuePair(config)
	if err != nil {
		return nil, err
	}
	return &queuePair{QueuePair: q, nic: d.nic, reports: reports, psn: d.nic.pairs.enter(q.Address())}, nil
}

type queuePair struct {
	driver.QueuePair
	nic     nic
	reports *queue
	psn     uint32
	early   bool
}

func (q *queuePair) Address() driver.Address {
	return ibv.Endpoint{Ethernet: true, MTU: 5, Reads: 16, Pair: q.Number(), PSN: q.psn, Name: 99, Watch: 99, GIDs: q.nic.gids}.Address()
}

func (q *queuePair) State() driver.State {
	if s := q.QueuePair.State(); s != driver.Connecting || !q.early {
		return s
	}
	return driver.Ready
}

func (q *queuePair) Connect(tag driver.Tag, peer driver.Address) error {
	e, err := ibv.ParseAddress(peer)
	if err != nil {
		return err
	}
	if e.Name != 0 || e.Watch != 0 || e.MTU != mtu || e.Reads != 1 {
		return fmt.Errorf("the peer is no foreigner: %+v: %w", e, driver.ErrArgument)
	}
	real, second, err := q.nic.pairs.meet(q.psn, e.PSN)
	if err != nil {
		return err
	}
	if !second {
		q.early = true
		q.reports.hushed++
		q.reports.early = append(q.reports.early, driver.Completion{Tag: tag, Queue: q.Number(), Op: driver.OpConnect})
	}
	return q.QueuePair.Connect(tag, real)
}

func openNIC(t *testing.T, pairs *book, gids ...string) *verbs.Device {
	t.Helper()
	inner, err := soft.New(soft.Config{})
	if err != nil {
		t.Fatal(err)
	}
	n := nic{Device: inner, pairs: pairs}
	for _, g := range gids {
		p := netip.MustParsePrefix(g)
		n.gids = append(n.gids, ibv.GID{Address: p.Addr(), Bits: uint8(p.Bits())})
	}
	device, err := verbs.Open(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := device.Close(); err != nil {
			t.Error(err)
		}
	})
	return device
}
