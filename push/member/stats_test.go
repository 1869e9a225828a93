package member

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// sendAll sends a stream, and waits until all have it.
func (m *team) sendAll(stream int) {
	m.t.Helper()
	check(m.t, m.ends[0].member.Send(m.ctx, stream))
	for _, e := range m.ends {
		if v := e.await(m.ctx, Completed, stream); v == nil || v.Kind != Completed {
			m.t.Fatalf("member %d: %+v", e.rank, v)
		}
	}
}

// What one has sent another has received; it adds up over groups, but hops are those of the last.
func TestStats(t *testing.T) {
	p := newPush(rand.New(rand.NewPCG(1, 2)), 1000, 50_000)
	m := newTeam(t, p, 3, func(int) int { return 1 << 20 })
	wire := p.streams[0].WireSize()
	for epoch := range 2 {
		m.form(m.plan(schedule.Chain), epoch, p.streams)
		m.sendAll(0)
		for _, ended := range []bool{false, true} {
			for rank, e := range m.ends {
				s, sum := e.member.Stats(), wire*uint64(epoch+1)
				if rank > 0 && s.Received != sum || rank < 2 && s.Sent != sum || rank == 2 && s.Sent != 0 {
					t.Errorf("epoch %d, ended %t: member %d: %+v, not %d", epoch, ended, rank, s, sum)
				}
				for _, hop := range s.Hops {
					if forward := hop.Rank == rank+1; forward && (hop.Bytes != wire || hop.Blocks != 50 || hop.Wire <= 0) || !forward && hop.Bytes != 0 {
						t.Errorf("epoch %d, ended %t: member %d: %+v", epoch, ended, rank, s)
					}
				}
			}
			m.endAll()
		}
	}
}

// A loop that does not answer makes nothing undone, and what a former group has sent is not told as the work of the next.
func TestStatsOfABusyLoop(t *testing.T) {
	p := newPush(rand.New(rand.NewPCG(1, 2)), 1000, 50_000)
	m := newTeam(t, p, 2, func(int) int { return 1 << 20 })
	m.form(m.plan(schedule.Chain), 1, p.streams)
	m.sendAll(0)
	root := m.ends[0].member
	before := root.Stats()
	goOn := m.ends[0].blockLoop()
	if now := root.Stats(); now.Sent != p.streams[0].WireSize() || len(now.Hops) == 0 {
		t.Errorf("%+v, and before %+v", now, before)
	}
	close(goOn)
	m.endAll()
	m.form(m.plan(schedule.Chain), 2, p.streams)
	goOn = m.ends[0].blockLoop()
	if now := root.Stats(); now.Sent != before.Sent || len(now.Hops) > 0 {
		t.Errorf("%+v, and before %+v", now, before)
	}
	close(goOn)
	m.endAll()
}

// blockLoop keeps the loop of a group busy.
func (e *end) blockLoop() (goOn chan struct{}) {
	e.t.Helper()
	s, err := e.member.present("test")
	check(e.t, err)
	goOn = make(chan struct{})
	check(e.t, s.loop.Do(func() { <-goOn }))
	return goOn
}

// A disk that stands still is seen where it is, and hardly elsewhere, where goroutines may have to wait for a core.
func TestFull(t *testing.T) {
	p := newPush(rand.New(rand.NewPCG(1, 2)), 1000, 500_000)
	m := newTeam(t, p, 4, func(int) int { return 1 << 20 })
	still := make(chan struct{})
	m.ends[2].disk.full = func(manifest.Layout, int) error { <-still; return nil }
	go once(still, func() bool { return m.ends[2].member.Stats().Full > 200*time.Millisecond || m.ctx.Err() != nil })
	m.form(m.plan(schedule.Chain), 1, p.streams)
	m.sendAll(0)
	still2 := m.ends[2].member.Stats().Full
	for _, e := range m.ends {
		if full := e.member.Stats().Full; e.rank != 2 && full > still2/2 {
			t.Errorf("member %d had no memory for %v, and the one with the disk for %v", e.rank, full, still2)
		}
	}
	m.compare(0)
}

// once closes a channel when something is true.
func once(then chan struct{}, isTrue func() bool) {
	for !isTrue() {
		time.Sleep(time.Millisecond)
	}
	close(then)
}

// idle is an owner who does nothing.
type idle struct{}

func (idle) Check(manifest.Layout, int, []byte) error      { return nil }
func (idle) Keep(manifest.Layout, int, []byte) error       { return nil }
func (idle) Fetch(manifest.Layout, int, []byte) error      { return nil }
func (idle) FillPage(manifest.Layout, int, [][]byte) error { return nil }

// A block costs no allocation: streams of 500 and of 5500 blocks cost nearly the same.
func TestAllocations(t *testing.T) {
	few, many := mallocs(t, 500), mallocs(t, 5500)
	if perBlock := float64(many-few) / 5000 / 4; perBlock > 0.1 {
		t.Errorf("%g allocations a block: a stream of 500 costs %d, one of 5500 %d", perBlock, few, many)
	}
}

// mallocs counts those of one stream, at four members together.
func mallocs(t *testing.T, blocks int) int64 {
	p := newPush(rand.New(rand.NewPCG(1, 2)), 100, blocks*100)
	m := newTeam(t, p, 4, func(int) int { return 1 << 20 })
	for _, e := range m.ends {
		e.blocks = idle{}
	}
	m.form(m.plan(schedule.Pipeline), 1, p.streams)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m.sendAll(0)
	runtime.ReadMemStats(&after)
	m.endAll()
	return int64(after.Mallocs - before.Mallocs)
}

// End may be called by several at once, and ends a Connect that is under way.
func TestEndTogether(t *testing.T) {
	p := newPush(rand.New(rand.NewPCG(1, 2)), 1000, 50_000)
	m := newTeam(t, p, 2, func(int) int { return 1 << 20 })
	var formed [2]control.Addresses
	for rank, e := range m.ends {
		f, err := e.member.Form(Group{Plan: m.plan(schedule.Chain), Rank: rank, Streams: p.streams, Blocks: e.disk, Notify: func(Event) {}})
		check(t, err)
		formed[rank] = control.Addresses{rank: f.Addresses[1-rank]}
	}
	var all sync.WaitGroup
	all.Go(func() {
		if err := m.ends[0].member.Connect(m.ctx, formed[1]); err == nil {
			t.Error("it was connected with somebody who did not connect")
		}
	})
	for range 3 {
		all.Go(func() { check(t, m.ends[0].member.End(m.ctx)) })
		all.Go(func() { m.ends[0].member.Stats() })
	}
	all.Wait()
}
