package member

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

var errDisk = errors.New("no space left on device")

// trouble is a chain of four, which sends a stream in which something goes wrong.
func trouble(t *testing.T, prepare func(m *team)) *team {
	p := newPush(rand.New(rand.NewPCG(1, 2)), 1000, 100_000)
	m := newTeam(t, p, 4, func(int) int { return 1 << 20 })
	prepare(m)
	m.form(m.plan(schedule.Chain), 3, p.streams)
	check(t, m.ends[0].member.Send(m.ctx, 0))
	return m
}

// expect has all members hear the same of a failure.
func (m *team) expect(rank int, rejected bool, causes ...error) {
	m.t.Helper()
	for _, e := range m.ends {
		v := e.await(m.ctx, Failed, 0)
		if v == nil || v.Failed == nil || v.Epoch != 3 || v.Failed.Rank != rank || v.Failed.Rejected != rejected {
			m.t.Errorf("member %d heard %+v", e.rank, v)
			continue
		}
		known := false
		for _, cause := range causes {
			known = known || errors.Is(v.Err, cause) && strings.Contains(v.Failed.Cause, cause.Error())
		}
		if !known {
			m.t.Errorf("member %d heard %v: %s", e.rank, v.Err, v.Failed.Cause)
		}
	}
}

// A block that does not fit its hash is not passed on, and everybody hears who sent it.
func TestBadBlock(t *testing.T) {
	m := trouble(t, func(m *team) {
		m.ends[0].disk.spoil = func(_ manifest.Layout, block int) bool { return block == 40 }
	})
	m.expect(0, true, rdmc.ErrRejected)
	m.endAll()
	for _, e := range m.ends[1:] {
		if _, kept := e.disk.kept[0][40]; kept || e.member.Have(0).Has(40) {
			t.Errorf("member %d has kept the bad block", e.rank)
		}
	}
	if m.ends[1].member.Have(0).Count() < 30 {
		t.Errorf("member 1 has only %d blocks", m.ends[1].member.Have(0).Count())
	}
}

// Who refuses a block names the one who has passed it on, not the root.
func TestBadRelay(t *testing.T) {
	m := trouble(t, func(m *team) {
		m.ends[3].disk.refuse = func(_ manifest.Layout, block int) error {
			if block == 7 {
				return manifest.ErrBlock
			}
			return nil
		}
	})
	m.expect(2, true, rdmc.ErrRejected)
}

// A full disk ends the group, and is the fault of the one who has it: it knows why, and the others hear that it has left.
func TestDiskFull(t *testing.T) {
	m := trouble(t, func(m *team) {
		m.ends[2].disk.full = func(_ manifest.Layout, block int) error {
			if block == 20 {
				return errDisk
			}
			return nil
		}
	})
	m.expect(2, false, errDisk, rdmc.ErrLeft)
	m.endAll()
	if have := m.ends[2].member.Have(0); have.Has(20) || have.Count() < 20 {
		t.Errorf("it has %d blocks", have.Count())
	}
}

// So does a source that cannot be read.
func TestSourceFails(t *testing.T) {
	m := trouble(t, func(m *team) { m.ends[0].disk.broken = errDisk })
	m.expect(0, false, errDisk, rdmc.ErrLeft)
}

// A root that sends something else than was agreed on is found out.
func TestOtherStream(t *testing.T) {
	for _, lie := range []func(g *Group){
		func(g *Group) { g.Streams[0] = manifest.NewLayout(1, 99_000, 1000) },
		func(g *Group) { g.Streams = append(g.Streams, g.Streams[0]) },
	} {
		m := trouble(t, func(m *team) {
			m.lie = func(rank int, g *Group) {
				g.Streams = slices.Clone(g.Streams)
				if rank == 0 {
					lie(g)
				}
			}
		})
		_ = m.ends[0].member.Send(m.ctx, 1) // if there is one
		v := m.ends[1].await(m.ctx, Failed, 0)
		if v != nil && v.Kind == Completed {
			t.Error("it was completed")
		}
		if v == nil || v.Failed == nil || v.Failed.Rank != 0 || !errors.Is(v.Err, rdmc.ErrProtocol) {
			t.Errorf("heard %+v", v)
		}
	}
}

// When the loop has ended by itself, as it does when its device is gone, the owner hears of it, and nothing hangs or leaks.
func TestLoopLost(t *testing.T) {
	m := trouble(t, func(m *team) { m.ends[1].disk.slow = time.Millisecond })
	e := m.ends[1]
	s, err := e.member.present("test")
	check(t, err)
	var stray *verbs.QueuePair
	check(t, s.do(m.ctx, func() (err error) {
		if stray, err = e.member.domain.NewQueuePair(verbs.QueueConfig{Completions: s.queue, SendDepth: 1, ReceiveDepth: 1}); err != nil {
			return err
		}
		return stray.Reset(1 << 60) // a completion that belongs to nobody ends a loop
	}))
	if v := e.await(m.ctx, Failed, 0); v == nil || v.Failed == nil || v.Failed.Rank != 1 || !errors.Is(v.Err, rdmc.ErrDevice) {
		t.Fatalf("heard %+v", v)
	}
	check(t, stray.Close())
	e.member.Stats()
	if err := e.member.Begin(m.ctx); err == nil {
		t.Error("it began without a loop")
	}
	m.endAll()
	if have := e.member.Have(0).Count(); have != len(e.disk.kept[0]) {
		t.Errorf("it has %d blocks and says %d", len(e.disk.kept[0]), have)
	}
}

// End in the middle of a stream returns when what has come is kept. When the context is over, it does not wait for what was not begun.
func TestEndKeeps(t *testing.T) {
	for _, patient := range []bool{true, false} {
		checked := make(chan struct{}, 1000)
		m := trouble(t, func(m *team) {
			m.ends[3].disk.slow = 5 * time.Millisecond
			m.ends[3].disk.refuse = func(manifest.Layout, int) error { checked <- struct{}{}; return nil }
		})
		for range 20 {
			<-checked
		}
		if ctx, cancel := context.WithCancel(m.ctx); !patient {
			cancel()
			check(t, m.ends[3].member.End(ctx))
		} else {
			cancel()
		}
		m.endAll()
		all, have := 20+len(checked), m.ends[3].member.Have(0).Count()
		if patient && have != all || have > all || have != len(m.ends[3].disk.kept[0]) {
			t.Errorf("patient %t: %d blocks were checked, %d are said to be there, %d are", patient, all, have, len(m.ends[3].disk.kept[0]))
		}
	}
}

// What nobody may do is refused, and what was there stays usable.
func TestRefused(t *testing.T) {
	p := newPush(rand.New(rand.NewPCG(1, 2)), 1000, 100_000)
	m := newTeam(t, p, 2, func(int) int { return 1 << 20 })
	member := m.ends[0].member
	if _, err := Open(Config{}); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
	for _, err := range []error{member.Begin(m.ctx), member.Connect(m.ctx, nil), member.Send(m.ctx, 0)} {
		if !errors.Is(err, ErrState) {
			t.Error(err)
		}
	}
	check(t, member.End(m.ctx))
	for name, change := range map[string]func(g *Group){
		"blocks":    func(g *Group) { g.Blocks = nil },
		"rank":      func(g *Group) { g.Rank = 2 },
		"streams":   func(g *Group) { g.Streams = nil },
		"layout":    func(g *Group) { g.Streams = append(g.Streams, manifest.NewLayout(manifest.ContentStream, 5, 999)) },
		"algorithm": func(g *Group) { g.Plan.Algorithm = "magic" },
		"stripes":   func(g *Group) { g.Plan.Stripes = 1 << 62 },
		"credits":   func(g *Group) { g.Plan.Credits = -1 },
		"sends":     func(g *Group) { g.Plan.Sends = 1 << 40 },
		"stall":     func(g *Group) { g.Plan.Stall = -5 },
		"racks":     func(g *Group) { g.Plan.Racks = []int{1} },
		"have":      func(g *Group) { g.Plan.Finish = true },
		"sets":      func(g *Group) { g.Plan.Finish, g.Plan.Have = true, [][]byte{{9, 9}, nil} },
		"short":     func(g *Group) { g.Plan.Finish, g.Plan.Have = true, [][]byte{{0, 3, 3}, nil} },
		"memory":    func(g *Group) { g.Streams = []manifest.Layout{manifest.NewLayout(manifest.ContentStream, 5, 1<<20)} },
	} {
		g := Group{Plan: m.plan(schedule.Chain), Streams: p.streams, Blocks: m.ends[0].disk, Notify: func(Event) {}}
		change(&g)
		if _, err := member.Form(g); err == nil {
			t.Errorf("%s: it was formed", name)
			check(t, member.End(m.ctx))
		}
	}
	m.form(m.plan(schedule.Chain), 1, p.streams)
	if _, err := member.Form(Group{}); !errors.Is(err, ErrState) {
		t.Error(err)
	}
	for _, err := range []error{member.Send(m.ctx, 1), m.ends[1].member.Send(m.ctx, 0)} {
		if err == nil {
			t.Error("it was sent")
		}
	}
	check(t, member.Send(m.ctx, 0))
	for _, e := range m.ends {
		e.await(m.ctx, Completed, 0)
	}
	m.compare(0)
}

// MemoryNeeded is enough for all members.
func TestMemoryNeeded(t *testing.T) {
	for _, plan := range []control.Plan{{Members: []string{"a", "b"}, Algorithm: "chain"}, {Members: make([]string, 64), Algorithm: "pipeline", Stripes: 4},
		{Members: make([]string, 4096), Algorithm: "tree"}, {Members: make([]string, 9), Algorithm: "circulant", Finish: true}} {
		for _, block := range []int{control.MinBlock, 1 << 20, control.MaxBlock} {
			l := manifest.NewLayout(manifest.ContentStream, 1<<40, block)
			need := MemoryNeeded(plan, l)
			for rank := range 2 {
				if slots := newCut(l).slots(need); slots < least(shapeOf(plan, rank, l), l) {
					t.Errorf("%d members, blocks of %d: %d bytes are %d slots", len(plan.Members), block, need, slots)
				}
			}
			if block <= 1<<20 && need > control.MemoryBudget/2 {
				t.Errorf("%d members, blocks of %d: %d bytes", len(plan.Members), block, need)
			}
		}
	}
}
