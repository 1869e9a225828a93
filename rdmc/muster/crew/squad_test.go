package crew

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/muster"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// squad is a group at a member, and those that finish what it could not. What is not marked belongs to the loop.
type squad struct {
	member *member
	order  groupOrder
	made   *muster.Group // by the last Create; belongs to who obeys orders

	group    *rdmc.Group
	failures int  // of this group
	sends    bool // it is the root's
	shelf    *shelf
	memory   []*verbs.Memory         // of messages
	complete map[uint64]rdmc.Holding // messages that are here whole
}

func (m *member) newSquad(o groupOrder) *squad {
	s := &squad{member: m, order: o, complete: make(map[uint64]rdmc.Holding)}
	if o.Store {
		s.shelf = &shelf{squad: s, books: make(map[uint64]*book)}
	}
	return s
}

// plan describes the group for package muster.
func (s *squad) plan() (muster.Plan, error) {
	o := s.order
	algorithm := schedule.Pipeline
	if o.Algorithm != "" {
		var err error
		if algorithm, err = schedule.ParseAlgorithm(o.Algorithm); err != nil {
			return muster.Plan{}, err
		}
	}
	plan := muster.Plan{Ranks: o.Ranks, Made: s.begin, Config: rdmc.Config{
		Name: o.Name, Members: o.Names, Algorithm: algorithm, Racks: o.Racks, Stripes: o.Stripes, BlockSize: o.BlockSize,
		Offload: o.Offload, Stall: cmp.Or(o.Stall, deadPeer), Gate: o.Gate,
		Incoming: s.incoming, Completed: s.completed, Failed: s.failed,
	}}
	if s.shelf != nil {
		plan.Store = s.shelf
		return plan, s.shelf.open()
	}
	return plan, nil
}

// begin is called when a group is made.
func (s *squad) begin(g *rdmc.Group) { s.group, s.failures = g, 0 }

// check reports calls that come after the last one.
func (s *squad) check(call string) {
	if s.failures > 0 {
		s.member.wrong(s.order.Name, "%s was called after Failed", call)
	}
}

func (s *squad) incoming(m rdmc.Message) rdmc.Place {
	s.check("Incoming")
	if s.shelf != nil {
		return rdmc.Place{}
	}
	if s.order.Short {
		m.Size--
	}
	return s.place(m.Size)
}

// place makes memory for a message.
func (s *squad) place(size uint64) rdmc.Place {
	memory, err := s.member.domain.Alloc(int(max(size, 1)), 0)
	if err != nil {
		s.member.wrong(s.order.Name, "no memory: %v", err)
		return rdmc.Place{}
	}
	s.memory = append(s.memory, memory)
	return rdmc.Place{Memory: memory}
}

func (s *squad) completed(d rdmc.Delivery) {
	s.check("Completed")
	got := s.contents(d)
	if want := s.contentsOf(d.Number, d.Size); !bytes.Equal(got, want) {
		s.member.wrong(s.order.Name, "message %d of %d bytes has other contents", d.Number, d.Size)
	}
	if _, again := s.complete[d.Number]; again {
		return // it was complete here when the group before this one failed
	}
	s.keep(d, got)
	s.member.report(report{Kind: kindCompleted, Group: s.order.Name, Number: d.Number, Size: d.Size})
}

// contents is what came.
func (s *squad) contents(d rdmc.Delivery) []byte {
	if s.shelf != nil {
		return s.shelf.pages(d.Message).content
	}
	if d.Size == 0 {
		return nil
	}
	return d.Memory.Bytes()[d.Offset : d.Offset+d.Size]
}

// keep keeps a message for a repair. One of a single block lies where it cannot stay.
func (s *squad) keep(d rdmc.Delivery, content []byte) {
	if s.shelf == nil && d.Blocks() == 1 {
		d.Place = s.place(d.Size)
		copy(d.Memory.Bytes(), content)
	}
	s.complete[d.Number] = rdmc.Holding{Message: d.Message, Place: d.Place, Have: schedule.FullSet(d.Blocks())}
}

func (s *squad) failed(f *rdmc.Failure) {
	s.check("Failed")
	s.failures++
	who := -1
	if f.Rank >= 0 {
		who = s.order.Ranks[f.Rank]
	}
	s.member.report(report{Kind: kindFailed, Group: s.order.Name, Rank: who, Member: f.Member, Cause: f.Error()})
}

// contentsOf computes a message: each is different, and each of its blocks.
func (s *squad) contentsOf(number, size uint64) []byte {
	content := make([]byte, size)
	hash := fnv.New64a()
	fmt.Fprint(hash, s.order.Name, number)
	x := hash.Sum64() | 1
	for i := range content {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		content[i] = byte(x)
	}
	return content
}

// send sends messages, one behind the other.
func (s *squad) send(ctx context.Context, sizes []uint64) error {
	return s.made.Do(ctx, func(g *rdmc.Group) error {
		for _, size := range sizes {
			if err := s.sendOne(g, size); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *squad) sendOne(g *rdmc.Group, size uint64) error {
	if s.sends = true; s.shelf != nil {
		_, err := g.Send(rdmc.Place{}, size)
		return err
	}
	place := s.place(size)
	m, err := g.Send(place, size)
	if err == nil {
		copy(place.Memory.Bytes(), s.contentsOf(m.Number, size)) // nothing moves before this returns
	}
	return err
}

// admit lets the Store give memory again.
func (s *squad) admit(ctx context.Context) error {
	return s.made.Do(ctx, func(g *rdmc.Group) error {
		s.shelf.hold = 0
		g.Continue()
		return nil
	})
}

// holdings is all that is here of messages that others may lack.
func (s *squad) holdings(ctx context.Context) (held []rdmc.Holding, err error) {
	err = s.made.Do(ctx, func(g *rdmc.Group) error {
		for _, h := range g.Holdings() {
			if _, ok := s.complete[h.Number]; !ok { // it may be both: complete here, and being finished for others
				held = append(held, h)
			}
		}
		held = slices.AppendSeq(held, maps.Values(s.complete))
		return nil
	})
	return held, err
}

// free gives the memory of a group that is closed back.
func (s *squad) free() error {
	var failed error
	for _, memory := range s.memory {
		failed = errors.Join(failed, memory.Close())
	}
	if s.shelf != nil {
		failed = errors.Join(failed, s.shelf.close())
	}
	return failed
}
