package sim

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weft-fabric/weft/verbs/driver"
)

// storm is a random program on a few nodes, with random faults.
type storm struct {
	t      *testing.T
	fabric *Fabric
	random *rand.Rand
	hosts  []*host
	ends   []*stormEnd
}

// stormEnd is one queue pair and what was asked of it.
type stormEnd struct {
	host   *host
	peer   *stormEnd
	pair   *queuePair
	posted driver.Tag          // tags are 1, 2, 3 …
	loud   map[driver.Tag]bool // those that must complete: the others are Quiet
	window *window             // nil: none
	lent   driver.RemoteSpan   // through it, or an earlier one, at some time
}

func newStormEnd(h *host) *stormEnd {
	return &stormEnd{host: h, pair: h.pair(), loud: map[driver.Tag]bool{}}
}

func newStorm(t *testing.T, seed uint64) *storm {
	s := &storm{t: t, random: rand.New(rand.NewPCG(seed, 1))}
	costs := DefaultCosts()
	costs.Access, costs.Reset = 1000, 2000
	s.fabric = newFabric(t, Config{Seed: seed, Costs: &costs, Jitter: 3, Racks: 2, Uplink: 60e9,
		PeerTimeout: 50 * time.Microsecond})
	s.fabric.ahead = seed%2 == 1
	for i := range 3 {
		s.hosts = append(s.hosts, newHost(t, s.fabric, NodeConfig{Name: fmt.Sprint("n", i), Rack: i % 2}))
	}
	for i := range 6 {
		a, b := s.hosts[i%3], s.hosts[(i+1+i/3)%3]
		if i == 5 {
			b = a // two of one device
		}
		x, y := newStormEnd(a), newStormEnd(b)
		x.peer, y.peer = y, x
		s.ends = append(s.ends, x, y)
		s.reconnect(x)
	}
	must(t, s.fabric.Run(20_000))
	return s
}

// act does one random thing, then lets a random time pass.
func (s *storm) act() {
	e := s.ends[s.random.IntN(len(s.ends))]
	switch s.random.IntN(40) {
	case 0:
		_ = s.fabric.Partition([]string{s.hosts[s.random.IntN(3)].device.Name()})
	case 1, 2:
		s.fabric.Heal()
	case 3:
		_ = e.pair.Reset(0)
	case 4:
		_ = e.pair.SetAccess(0, driver.RemoteAll&^driver.Access(s.random.IntN(8)*s.random.IntN(2)))
	case 5:
		if s.random.IntN(10) == 0 {
			_ = s.fabric.Crash(e.host.device.Name())
		}
	case 6:
		must(s.t, s.fabric.SlowLink("n0", "n1", 0.1+0.9*s.random.Float64()))
	case 7:
		if s.random.IntN(2) == 0 {
			s.reopen(e)
		} else {
			s.swapPartners(e, s.ends[s.random.IntN(len(s.ends))])
		}
	case 8, 9, 10, 11, 12, 13:
		s.reconnect(e)
	case 14, 15, 16, 17, 18, 19:
		_, _ = e.pair.PostReceive([]driver.Receive{{Span: e.host.span(0, 30000)}})
	case 20:
		s.renewMemory(e.host)
	default:
		s.post(e)
	}
	must(s.t, s.fabric.Run(s.fabric.now.Add(time.Duration(s.random.IntN(2000)))))
}

// reopen closes a queue pair, whatever it does, and makes another, which may get its slot.
func (s *storm) reopen(e *stormEnd) {
	if !e.host.device.dead {
		must(s.t, e.pair.Close())
		e.pair, e.posted, e.loud = e.host.pair(), 0, map[driver.Tag]bool{}
		e.window = nil
		_ = e.peer.pair.Reset(0)
	}
}

// swapPartners has two connections change ends.
func (s *storm) swapPartners(e, o *stormEnd) {
	if o == e || o == e.peer {
		return
	}
	p, q := e.peer, o.peer
	e.peer, o.peer, p.peer, q.peer = o, e, q, p
	for _, end := range []*stormEnd{e, o, p, q} {
		_ = end.pair.Reset(0)
	}
}

// renewMemory closes a host's memory, whoever uses it, and makes another.
func (s *storm) renewMemory(h *host) {
	if !h.device.dead {
		must(s.t, h.memory.Close())
		m, err := h.domain.Alloc(testSize, driver.RemoteAll)
		must(s.t, err)
		h.memory = m.(*memory)
	}
}

// reconnect lets both ends connect, as far as they can.
func (s *storm) reconnect(e *stormEnd) {
	for _, end := range []*stormEnd{e, e.peer} {
		if end.pair.State() == driver.New {
			_ = end.pair.Connect(0, end.peer.pair.Address())
		}
	}
}

// post asks for something that may or may not be possible.
func (s *storm) post(e *stormEnd) {
	n := s.random.IntN(30000) * s.random.IntN(2)
	r := driver.Request{
		Op:     driver.OpSend + driver.Op(s.random.IntN(7)),
		Flags:  driver.Fence * driver.Flags(s.random.IntN(2)),
		Span:   e.host.span(0, n),
		Remote: e.peer.host.remote(s.random.IntN(testSize/8)*8, 30000),
		Tag:    e.posted + 1,
	}
	if s.random.IntN(20) == 0 {
		r.After = driver.Arrival{Queue: uint32(s.random.IntN(5)), Count: 1}
	}
	if s.random.IntN(10) > 0 {
		r.Remote = e.peer.host.remote(0, 30000)
	}
	if e.peer.lent.Length > 0 && s.random.IntN(4) == 0 {
		r.Remote = e.peer.lent
	}
	if r.Op.IsAtomic() {
		r.Span.Length = 8
	}
	if s.random.IntN(5) == 0 {
		s.lend(e, &r)
	}
	if s.random.IntN(30) == 0 {
		r.Span.Key ^= 1 << 16 // it fails locally
	}
	r.Flags |= driver.Quiet * driver.Flags(s.random.IntN(2))
	if n, _ := e.pair.Post([]driver.Request{r}); n == 1 {
		e.posted++
		e.loud[e.posted] = !r.Flags.Has(driver.Quiet)
	}
}

// lend makes a request lend something to the peer, or take it back, through a window that may be closed before its turn.
func (s *storm) lend(e *stormEnd, r *driver.Request) {
	if e.host.device.dead {
		return
	}
	if e.window != nil && s.random.IntN(10) == 0 {
		must(s.t, e.window.Close())
		e.window = nil
	}
	if e.window == nil {
		e.window = e.pair.window(s.t)
	}
	tag := r.Tag
	if *r = e.window.revoke(); s.random.IntN(2) == 0 {
		*r = e.window.bind(e.host.span(0, 30000), driver.RemoteAll)
		e.lent = r.Remote
	}
	r.Tag = tag
}

// check sees to it that every request of the queue pairs that are open completed once, unless it was Quiet, in order, and that
// after a failure nothing succeeded until a Reset.
func (s *storm) check() (ok int) {
	for _, h := range s.hosts {
		if h.device.dead {
			continue
		}
		last, failed := map[uint32]driver.Tag{}, map[uint32]bool{}
		seen := map[uint32]map[driver.Tag]bool{}
		for _, c := range h.poll() {
			if c.Op == driver.OpReset {
				failed[c.Queue] = false
			}
			if !c.Op.IsRequest() {
				continue
			}
			behind := failed[c.Queue] && (c.Status == driver.OK || c.Tag != last[c.Queue]+1)
			if c.Tag <= last[c.Queue] || behind {
				s.t.Errorf("%s: %+v came after tag %d, failed %v", h.device.Name(), c, last[c.Queue], failed[c.Queue])
			}
			if seen[c.Queue] == nil {
				seen[c.Queue] = map[driver.Tag]bool{}
			}
			last[c.Queue], seen[c.Queue][c.Tag] = c.Tag, true
			failed[c.Queue] = c.Status != driver.OK
			if c.Status == driver.OK {
				ok++
			}
		}
		for _, e := range s.ends {
			for tag, loud := range e.loud {
				if e.host == h && loud && !seen[e.pair.number][tag] {
					s.t.Errorf("%s: request %d of %d did not complete", e.pair.name(), tag, e.posted)
				}
			}
		}
	}
	return ok
}

// Whatever happens in whatever order, nothing is lost, doubled or reordered.
func TestStorm(t *testing.T) {
	seeds, ok := uint64(1000), 0
	if testing.Short() {
		seeds = 200
	}
	for seed := range seeds {
		s := newStorm(t, seed)
		for range 200 {
			s.act()
			auditPins(t, s.fabric)
		}
		s.fabric.Heal()
		// What still waits, for a message that nobody sends, is flushed.
		for _, e := range s.ends {
			_ = e.pair.Reset(0)
		}
		settled(t, s.fabric)
		ok += s.check()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if ok < int(seeds)*5 { // and about as many Quiet ones
		t.Errorf("only %d requests ended well: the storm is too strong to tell anything", ok)
	}
	t.Logf("%d requests ended well", ok)
}
