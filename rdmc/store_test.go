package rdmc

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// shelf is a Store of a few blocks, which keeps what came on the heap. At the root it loads from there.
type shelf struct {
	memory    *verbs.Memory
	blockSize int
	idle      []int
	most      int // blocks given out at a time
	out       map[verbs.Span]string
	contents  map[uint64][]byte
	arrived   map[string]int
	gate      []gated
	loads     int
	wrong     []string
}

type gated struct {
	number uint64
	block  int
}

func newShelf(t testing.TB, domain *verbs.Domain, blocks, blockSize int) *shelf {
	memory, err := domain.Alloc(blocks*blockSize, 0)
	check(t, err)
	return &shelf{memory: memory, blockSize: blockSize, idle: countDown(nil, blocks), out: map[verbs.Span]string{},
		contents: map[uint64][]byte{}, arrived: map[string]int{}}
}

func (s *shelf) give(what string) (verbs.Span, bool) {
	if len(s.idle) == 0 {
		return verbs.Span{}, false
	}
	at := s.memory.Span(pop(&s.idle)*s.blockSize, s.blockSize)
	s.out[at] = what
	s.most = max(s.most, len(s.out))
	return at, true
}

func (s *shelf) Acquire(message uint64, block int) (verbs.Span, bool) {
	return s.give(fmt.Sprint("acquired ", message, " ", block))
}

func (s *shelf) bytes(at verbs.Span) []byte {
	offset := at.Address - s.memory.Span(0, 1).Address
	return s.memory.Bytes()[offset:][:at.Length]
}

func (s *shelf) Arrived(m Message, block int, at verbs.Span) {
	if s.contents[m.Number] == nil {
		s.contents[m.Number] = make([]byte, m.Size)
	}
	copy(s.contents[m.Number][block*s.blockSize:], s.bytes(at))
	s.arrived[fmt.Sprint(m.Number, " ", block)]++
	s.gate = append(s.gate, gated{m.Number, block})
}

func (s *shelf) Load(m Message, block int) (verbs.Span, bool) {
	s.loads++
	at, ok := s.give(fmt.Sprint("loaded ", m.Number, " ", block))
	if ok {
		copy(s.bytes(at), s.contents[m.Number][block*s.blockSize:])
	}
	return at, ok
}

func (s *shelf) Release(m Message, block int, at verbs.Span) {
	if s.out[at] == "" {
		s.wrong = append(s.wrong, fmt.Sprint("released ", m.Number, " ", block, " twice"))
	}
	delete(s.out, at)
	clear(s.bytes(at)) // whoever still reads it gets nothing
	s.idle = append(s.idle, int(at.Address-s.memory.Span(0, 1).Address)/s.blockSize)
}

// shelves gives every member of a rig a shelf.
func (r *rig) shelves(members, blocks, blockSize int) []*shelf {
	shelves := make([]*shelf, members)
	for i := range shelves {
		shelves[i] = &shelf{}
	}
	r.change = func(rank int, c *Config) { c.Store = shelves[rank] }
	r.prepare = func(m *member) {
		*shelves[m.rank] = *newShelf(r.t, m.domain, blocks, blockSize)
		m.extra = shelves[m.rank].memory
	}
	return shelves
}

// With a Store a window of ⌈log₂ n⌉ + credits + 1 blocks is enough, everything is given back, and nothing comes twice.
func TestStore(t *testing.T) {
	const blockSize = 256
	for _, algorithm := range []schedule.Algorithm{schedule.Pipeline, schedule.Circulant, schedule.Chain} {
		for _, n := range []int{2, 5, 8, 11} {
			for _, gate := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v/%d/%t", algorithm, n, gate), func(t *testing.T) {
					r := &rig{t: t}
					shelves := r.shelves(n, 7, blockSize)
					r.form(Config{Name: "g", Members: names(n), Algorithm: algorithm, BlockSize: blockSize, Gate: gate})
					r.shelveAll(shelves, gate)
				})
			}
		}
	}
}

func (r *rig) shelveAll(shelves []*shelf, gate bool) {
	sizes := []uint64{10_000, 0, 100, 256, 5000}
	for i, size := range sizes {
		content := bytes.Repeat([]byte{byte(i + 1), 7, byte(size)}, int(size))[:size]
		shelves[0].contents[uint64(i)] = content
		_, err := r.members[0].group.Send(Place{}, size)
		check(r.t, err)
	}
	for gate && r.acceptAll(shelves) {
		r.pass(time.Microsecond)
	}
	r.run("completed", func(m *member) bool { return len(m.completed) == len(sizes) })
	for rank, s := range shelves {
		for i := range sizes {
			if !bytes.Equal(s.contents[uint64(i)], shelves[0].contents[uint64(i)]) {
				r.t.Errorf("member %d has another message %d", rank, i)
			}
		}
	}
	r.closeAll()
	for rank, s := range shelves {
		for what, times := range s.arrived {
			if times != 1 {
				r.t.Errorf("member %d: block %s came %d times", rank, what, times)
			}
		}
		if rank > 0 && s.loads > 0 {
			r.t.Errorf("member %d: %d blocks were released before they were sent for the last time", rank, s.loads)
		}
		if len(s.out) > 0 || len(s.wrong) > 0 {
			r.t.Errorf("member %d: not released %v, %v", rank, s.out, s.wrong)
		}
	}
}

// acceptAll accepts all but the newest block of each, as somebody does who checks blocks. It reports whether messages are
// under way.
func (r *rig) acceptAll(shelves []*shelf) bool {
	left := false
	for rank, s := range shelves {
		for _, b := range s.gate {
			check(r.t, r.members[rank].group.Accept(b.number, b.block))
		}
		s.gate = nil
		left = left || len(r.members[rank].completed) < 5
	}
	return left
}

// A rejected block ends the group, and everybody hears who sent it: in a pipeline of four, member 3 gets its first block
// from member 1 or 2, and others from others.
func TestReject(t *testing.T) {
	senders := map[int]bool{}
	for nth := range 6 {
		r := &rig{t: t}
		shelves := r.shelves(4, 8, 256)
		r.form(Config{Name: "g", Members: names(4), BlockSize: 256, Gate: true})
		shelves[0].contents[0] = make([]byte, 10_000)
		_, err := r.members[0].group.Send(Place{}, 10_000)
		check(t, err)
		for len(shelves[3].arrived) <= nth {
			last := shelves[3].gate
			shelves[3].gate = nil
			r.acceptAll(shelves)
			if shelves[3].gate = last; len(last) > 0 && len(shelves[3].arrived) <= nth {
				check(t, r.members[3].group.Accept(0, last[0].block))
				shelves[3].gate = last[1:]
			}
			r.pass(100 * time.Nanosecond)
		}
		gate := shelves[3].gate
		bad := gate[len(gate)-1].block
		if err := r.members[3].group.Accept(0, 39); !errors.Is(err, ErrArgument) {
			t.Errorf("a block that did not come was accepted: %v", err)
		}
		sender := r.whoSends(3, bad, 40)
		senders[sender] = true
		check(t, r.members[3].group.Reject(0, bad, errors.New("bad hash")))
		r.expectFailure(sender, ErrRejected, time.Second)
		for rank, s := range shelves {
			if len(s.out) > 0 || len(s.wrong) > 0 {
				t.Errorf("member %d: not released %v, %v", rank, s.out, s.wrong)
			}
		}
	}
	if len(senders) < 2 {
		t.Errorf("all blocks came from %v", senders)
	}
}

// whoSends asks the senders' own plans.
func (r *rig) whoSends(to, block, blocks int) int {
	for _, m := range r.members {
		plan := m.group.part.Plan(blocks)
		for step := range plan.Steps() {
			if next, ok := plan.Send(step); ok && next == (schedule.Transfer{Peer: to, Block: block}) {
				return m.rank
			}
		}
	}
	return Unknown
}
