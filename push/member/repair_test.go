package member

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// kill ends a member's part without a word, as if its process had died.
func (e *end) kill() {
	s, err := e.member.present("kill")
	if err != nil {
		return
	}
	_ = s.loop.Do(func() {
		s.group.Discard()
		select {
		case <-s.closed:
		default:
			close(s.closed)
		}
	})
}

// ordeal is a push to a few members with as little memory as possible, some of which die.
type ordeal struct {
	*team
	random *rand.Rand
	plan   control.Plan
	kills  int
	keeps  atomic.Int64 // until the next kill
	victim atomic.Pointer[end]
	have   [][]schedule.Set // by stream and rank
}

// Nothing gets stuck and nothing is lost: with the least memory, slow disks, any algorithm, and members that die at any time.
func TestOrdeals(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			o := newOrdeal(t, seed)
			o.run()
		})
	}
}

func newOrdeal(t *testing.T, seed uint64) *ordeal {
	r := rand.New(rand.NewPCG(seed, 8))
	n := 2 + r.IntN(8)
	p := newPush(r, 100+r.IntN(2000), r.IntN(5000), r.IntN(200_000))
	o := &ordeal{random: r, kills: r.IntN(min(3, n-1))}
	o.plan = control.Plan{Stripes: r.IntN(4), Credits: r.IntN(5), Sends: r.IntN(4), Algorithm: schedule.Algorithms()[r.IntN(6)].String(),
		Stall: int64(10 * time.Second)}
	for i := range n {
		o.plan.Members = append(o.plan.Members, fmt.Sprint("n", i))
		if o.plan.Algorithm == schedule.RackChain.String() {
			o.plan.Racks = append(o.plan.Racks, i%3)
		}
	}
	lanes := soft.InProcess
	if seed%4 == 0 {
		lanes = soft.TCP
	}
	o.team = newTeamOn(t, lanes, p, n, func(rank int) int { return leastBytes(o.plan, rank, p.streams) })
	for _, l := range p.streams {
		sets := make([]schedule.Set, n)
		for rank := range sets {
			sets[rank] = schedule.NewSet(l.Blocks())
		}
		o.have = append(o.have, sets)
	}
	for _, e := range o.ends {
		if r.IntN(3) == 0 {
			e.disk.slow = time.Duration(1 + r.IntN(int(time.Millisecond)))
		}
		e.disk.full = o.countKeep
	}
	return o
}

// leastBytes is the least memory that a member can do with, in the first group and in repairs.
func leastBytes(plan control.Plan, rank int, streams []manifest.Layout) int {
	slots := 0
	for _, l := range streams {
		config := shapeOf(plan, rank, l)
		slots = max(slots, least(config, l))
		config.Unfinished = make([]rdmc.Unfinished, 1)
		slots = max(slots, least(config, l))
	}
	return newCut(streams[0]).bytes(slots)
}

// countKeep kills somebody when it is time.
func (o *ordeal) countKeep(manifest.Layout, int) error {
	if o.keeps.Add(-1) == 0 {
		if victim := o.victim.Load(); victim != nil {
			victim.kill()
		}
	}
	return nil
}

// run runs groups until all have everything.
func (o *ordeal) run() {
	for epoch := 1; ; epoch++ {
		o.choose()
		stream, finish := o.unfinished()
		switch {
		case epoch == 1:
			o.form(o.plan, epoch, o.push.streams)
			for i := range o.push.streams {
				_ = o.ends[0].member.Send(o.ctx, i) // it may have failed already
			}
			o.awaitAll(len(o.push.streams) - 1)
			o.endGroup(0, 1)
		case finish:
			o.form(o.finishing(stream), epoch, o.push.streams[stream:stream+1])
			o.awaitAll(0)
			o.endGroup(stream)
		default:
			o.compare(0)
			o.compare(1)
			return
		}
		if o.t.Failed() || epoch > 20 {
			o.t.Fatalf("epoch %d: %+v", epoch, o.plan)
		}
	}
}

// choose chooses who dies next, and when.
func (o *ordeal) choose() {
	o.victim.Store(nil)
	if o.kills > 0 && len(o.ends) > 2 {
		o.kills--
		o.victim.Store(o.ends[1+o.random.IntN(len(o.ends)-1)])
		o.keeps.Store(int64(1 + o.random.IntN(300)))
	}
}

// unfinished finds a stream that somebody lacks.
func (o *ordeal) unfinished() (int, bool) {
	for stream, sets := range o.have {
		for _, set := range sets[1:] {
			if !set.Full() {
				return stream, true
			}
		}
	}
	return 0, false
}

func (o *ordeal) finishing(stream int) control.Plan {
	plan := o.plan
	plan.Finish = true
	for rank, set := range o.have[stream] {
		if rank == 0 || set.Count() == 0 {
			plan.Have = append(plan.Have, nil)
			continue
		}
		b, _ := set.AppendBinary(nil)
		plan.Have = append(plan.Have, b)
	}
	return plan
}

// awaitAll waits until a stream is complete, or has failed, everywhere but at who was killed.
func (o *ordeal) awaitAll(stream int) {
	victim := o.victim.Load()
	var all sync.WaitGroup
	for _, e := range o.ends {
		all.Go(func() {
			if e == victim {
				e.awaitOrDie(o)
				return
			}
			e.await(o.ctx, Completed, stream)
		})
	}
	all.Wait()
}

// awaitOrDie waits until a victim is complete, or cannot be any more.
func (e *end) awaitOrDie(o *ordeal) {
	for o.keeps.Load() > 0 && o.ctx.Err() == nil {
		select {
		case v := <-e.events:
			if e.history = append(e.history, v); v.Kind == Failed || v.Kind == Completed {
				return
			}
		case <-time.After(time.Millisecond):
		}
	}
}

// endGroup ends the group, notes who has what, and leaves the dead behind.
func (o *ordeal) endGroup(streams ...int) {
	o.endAll()
	victim := o.victim.Load()
	for i, stream := range streams {
		for rank, e := range o.ends {
			had := o.have[stream][rank].Count()
			if o.have[stream][rank] = e.member.Have(i); o.have[stream][rank].Count() < had {
				o.t.Errorf("member %d had %d blocks of stream %d, and has %d", rank, had, stream, e.member.Have(i).Count())
			}
			e.countKept(stream, o.have[stream][rank])
		}
	}
	for rank, e := range o.ends {
		for len(e.events) > 0 {
			<-e.events
		}
		if e == victim && o.keeps.Load() <= 0 {
			o.bury(rank)
			return
		}
	}
}

// countKept compares what a member says it has with what was kept.
func (e *end) countKept(stream int, have schedule.Set) {
	e.disk.mu.Lock()
	defer e.disk.mu.Unlock()
	if e.rank > 0 && len(e.disk.kept[stream]) != have.Count() {
		e.t.Errorf("member %d says that it has %d blocks of stream %d, and has kept %d", e.rank, have.Count(), stream, len(e.disk.kept[stream]))
	}
}

func (o *ordeal) bury(rank int) {
	o.ends[rank].close()
	o.ends = append(o.ends[:rank:rank], o.ends[rank+1:]...)
	o.plan.Members = append(o.plan.Members[:rank:rank], o.plan.Members[rank+1:]...)
	if o.plan.Racks != nil {
		o.plan.Racks = append(o.plan.Racks[:rank:rank], o.plan.Racks[rank+1:]...)
	}
	for stream := range o.have {
		o.have[stream] = append(o.have[stream][:rank:rank], o.have[stream][rank+1:]...)
	}
}
