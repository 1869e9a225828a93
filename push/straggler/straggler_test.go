package straggler

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// group is a group in lock step: in every step a member sends to the next of its partners, and the step takes as long as its slowest hop.
type group struct {
	algorithm schedule.Algorithm
	block     int       // bytes
	up, down  []float64 // bytes a second, by rank
	full      []float64 // part of the time that blocks wait for the disk
	noise     float64   // by which part a hop may be slower at times
	pause     float64   // seconds that every window lasts longer than its hops, as when all wait for something else
	random    *rand.Rand
	members   []Member
	now       time.Duration
}

// newGroup is a group of equals.
func newGroup(algorithm schedule.Algorithm, members int) *group {
	g := &group{algorithm: algorithm, block: 1 << 20, random: rand.New(rand.NewPCG(1, uint64(members)))}
	for range members {
		g.up, g.down, g.full = append(g.up, 1e8), append(g.down, 1e8), append(g.full, 0)
	}
	g.members = make([]Member, members)
	return g
}

// advance has a message of some blocks sent, which takes a window or more.
func (g *group) advance(t *testing.T) {
	for _, step := range g.schedule(t, 200) {
		g.take(step)
	}
	g.pass(g.pause)
}

// schedule is who sends what in which step of a message.
func (g *group) schedule(t *testing.T, blocks int) [][]schedule.Send {
	steps, err := schedule.Whole(schedule.Config{Algorithm: g.algorithm, Members: len(g.up)}, blocks)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

// take has a step be taken.
func (g *group) take(step []schedule.Send) {
	longest := 0.0
	for _, send := range step {
		rate := min(g.up[send.From], g.down[send.To]) * (1 - g.noise*g.random.Float64())
		wire := float64(g.block) / rate
		longest = max(longest, wire)
		g.count(send.From, send.To, uint64(g.block), wire)
	}
	g.pass(longest)
}

// pass has seconds pass.
func (g *group) pass(seconds float64) {
	g.now += time.Duration(seconds * 1e9)
	for r := range g.members {
		g.members[r].Full += time.Duration(g.full[r] * seconds * 1e9)
	}
}

func (g *group) count(from, to int, bytes uint64, wire float64) {
	m := &g.members[from]
	for i := range m.Hops {
		if h := &m.Hops[i]; h.Rank == to {
			h.Blocks, h.Bytes, h.Wire = h.Blocks+1, h.Bytes+bytes, h.Wire+int64(wire*1e9)
			return
		}
	}
	m.Hops = append(m.Hops, control.Hop{Rank: to, Blocks: 1, Bytes: bytes, Wire: int64(wire * 1e9)})
}

// judged is who is found within some windows.
func (g *group) judged(t *testing.T) (rank int, why string) {
	var j Judge
	for range 6 {
		if rank, why = j.Look(g.now, g.members); rank != 0 {
			return rank, why
		}
		g.advance(t)
	}
	return 0, ""
}

func TestWhoIsToBlame(t *testing.T) {
	half := func(what []float64, rank int) { what[rank] /= 2 }
	for name, c := range map[string]struct {
		members int
		change  func(g *group)
		want    int
	}{
		"all alike":                {8, func(*group) {}, 0},
		"one uplink":               {8, func(g *group) { half(g.up, 5) }, 5},
		"one downlink":             {8, func(g *group) { half(g.down, 3) }, 3},
		"one link":                 {8, func(g *group) { half(g.up, 7); half(g.down, 7) }, 7},
		"one link of many":         {64, func(g *group) { half(g.up, 40); half(g.down, 40) }, 40},
		"one link that crawls":     {8, func(g *group) { g.up[2] /= 50; g.down[2] /= 50 }, 2},
		"the slower of two":        {16, func(g *group) { half(g.up, 4); half(g.down, 4); g.up[9] /= 4; g.down[9] /= 4 }, 9},
		"a little slower":          {8, func(g *group) { g.up[4] *= 0.8; g.down[4] *= 0.8 }, 0},
		"noise":                    {8, func(g *group) { g.noise = 0.6 }, 0},
		"noise and one link":       {8, func(g *group) { g.noise = 0.3; half(g.up, 6); half(g.down, 6) }, 6},
		"waiting for other things": {8, func(g *group) { g.pause = 5 }, 0},
		"waiting, and one link":    {8, func(g *group) { g.pause = 30; half(g.up, 5); half(g.down, 5) }, 0},
		"one disk":                 {8, func(g *group) { g.full[6] = 0.9 }, 6},
		"all disks":                {8, func(g *group) { g.full = []float64{0, .9, .8, .9, .7, .8, .9, .95} }, 0},
		"a disk that is busy":      {8, func(g *group) { g.full[6] = 0.3 }, 0},
		"the pusher":               {8, func(g *group) { half(g.up, 0) }, 0},
		"the pusher crawls":        {16, func(g *group) { g.up[0] /= 20; g.down[0] /= 20 }, 0},
		"the pusher and a host":    {8, func(g *group) { half(g.up, 0); half(g.up, 5); half(g.down, 5) }, 0},
		"the pusher's disk":        {8, func(g *group) { g.full[0] = 1 }, 0},
		"most uplinks":             {9, func(g *group) { copy(g.up[4:], []float64{5e7, 5e7, 5e7, 5e7, 5e7}) }, 0},
		"one host":                 {2, func(g *group) { half(g.down, 1) }, 0},
		"one host's disk":          {2, func(g *group) { g.full[1] = 1 }, 0},
		"two hosts, alike":         {3, func(*group) {}, 0},
		"two hosts, one link":      {3, func(g *group) { half(g.up, 2); half(g.down, 2) }, 2},
		"two hosts, one disk":      {3, func(g *group) { g.full[2] = 0.9 }, 2},
		"two hosts, the pusher":    {3, func(g *group) { half(g.up, 0) }, 0},
	} {
		g := newGroup(schedule.Pipeline, c.members)
		c.change(g)
		if got, why := g.judged(t); got != c.want {
			t.Errorf("%s: %d is blamed (%s), should be %d", name, got, why, c.want)
		}
	}
}

// In a chain a member has one partner in each direction. Its link is to blame if both felt it; who of two is, one slow hop does not tell.
func TestChain(t *testing.T) {
	for rank := range 5 {
		g := newGroup(schedule.Chain, 6)
		g.up[rank], g.down[rank] = 5e7, 5e7
		if got, why := g.judged(t); got != rank {
			t.Errorf("%d is blamed (%s), should be %d", got, why, rank)
		}
		g = newGroup(schedule.Chain, 6)
		g.up[rank] = 5e7
		if got, why := g.judged(t); got != 0 {
			t.Errorf("%d is blamed (%s) where it may be two", got, why)
		}
	}
}

// A member that is slow for a moment is forgiven.
func TestOneWindowIsNotEnough(t *testing.T) {
	g, j := newGroup(schedule.Pipeline, 8), Judge{}
	for i := range 12 {
		g.up[5], g.down[5] = 1e8, 1e8
		if i%2 == 0 {
			g.up[5], g.down[5] = 2e7, 2e7
		}
		if got, why := j.Look(g.now, g.members); got != 0 {
			t.Fatalf("%d is blamed (%s)", got, why)
		}
		g.advance(t)
	}
}

// Where each may send so much a second, bursts that are faster make nobody slow who uses what it may.
func TestBurstsAboveTheLimit(t *testing.T) {
	g, j := newGroup(schedule.Pipeline, 8), Judge{Limit: 2e7}
	g.up[5], g.down[5] = 2e7, 2e7
	for range 6 {
		if got, why := j.Look(g.now, g.members); got != 0 {
			t.Fatalf("%d is blamed (%s)", got, why)
		}
		g.advance(t)
	}
}

// A limit that is none, because it was measured wrongly, hides nobody, unless it happens to be as fast as all get on.
func TestALimitThatIsRefuted(t *testing.T) {
	for limit, want := range map[float64]int{1e7: 5, 4.5e7: 0, 1e8: 5} { // all get on at 5e7, as fast as the slow one
		g, j, blamed := newGroup(schedule.Pipeline, 8), Judge{Limit: limit}, 0
		g.up[5], g.down[5] = 5e7, 5e7
		for range 6 {
			if rank, _ := j.Look(g.now, g.members); rank != 0 {
				blamed = rank
			}
			g.advance(t)
		}
		if blamed != want {
			t.Errorf("with a limit of %.0f MB/s %d is blamed, should be %d", limit/1e6, blamed, want)
		}
	}
}

// Where blocks are large, links slow or hosts many, a hop carries few blocks in a second. Windows are longer then, and somebody is found all the same.
func TestFewBlocksOfAHop(t *testing.T) {
	for _, c := range []struct {
		name    string
		members int
		rate    float64
		block   int
		within  time.Duration
	}{
		{"many hosts", 65, 2e6, 112 << 10, 20 * time.Second},
		{"large blocks", 8, 25e6, 4 << 20, 30 * time.Second},
		{"slow links", 8, 1e6, 256 << 10, 40 * time.Second},
		{"as usual", 8, 25e6, 56 << 10, 3 * time.Second},
	} {
		for _, slow := range []int{0, 5} {
			g := newGroup(schedule.Pipeline, c.members)
			g.block = c.block
			for r := range c.members {
				g.up[r], g.down[r] = c.rate, c.rate
			}
			if slow > 0 {
				g.up[slow], g.down[slow] = c.rate/2, c.rate/2
			}
			rank, at := g.watched(t)
			if rank != slow || at > c.within {
				t.Errorf("%s: %d is blamed after %v, should be %d within %v", c.name, rank, at, slow, c.within)
			}
		}
	}
}

// watched is who is blamed while a message is sent, by a judge that looks after every step, and when.
func (g *group) watched(t *testing.T) (rank int, at time.Duration) {
	t.Helper()
	j := Judge{Limit: g.up[0]}
	for _, step := range g.schedule(t, 600) {
		if rank, _ = j.Look(g.now, g.members); rank != 0 {
			return rank, g.now
		}
		g.take(step)
	}
	return 0, 0
}

// Looks that come more often than a window ends are no evidence.
func TestLooksInBetween(t *testing.T) {
	g, j := newGroup(schedule.Pipeline, 8), Judge{}
	g.up[5], g.down[5] = 2e7, 2e7
	j.Look(0, g.members)
	g.advance(t)
	for i := range 10 {
		if got, _ := j.Look(Window/20*time.Duration(i), g.members); got != 0 {
			t.Fatal("somebody is blamed before a window has ended")
		}
	}
}

// Counts come from elsewhere, and may be anything.
func FuzzLook(f *testing.F) {
	f.Add(uint8(3), []byte{1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add(uint8(0), []byte{})
	f.Fuzz(func(t *testing.T, members uint8, noise []byte) {
		next := func() int64 {
			if len(noise) == 0 {
				return 0
			}
			n := int64(int8(noise[0])) << (noise[0] % 60)
			noise = noise[1:]
			return n
		}
		var j Judge
		for i := range 5 {
			all := make([]Member, members)
			for r := range all {
				all[r].Full = time.Duration(next())
				for range uint8(next()) % 8 {
					all[r].Hops = append(all[r].Hops, control.Hop{Rank: int(next()), Blocks: uint64(next()), Bytes: uint64(next()), Wire: next()})
				}
			}
			if got, why := j.Look(time.Duration(i)*2*Window, all); got < 0 || got != 0 && (got >= int(members) || why == "") {
				t.Fatalf("%d of %d is blamed (%s)", got, members, why)
			}
		}
	})
}

// Hops that are busy at the same time share a link, so that they look slow. Nobody is to blame for that while all get on as fast as links allow.
func TestNobodyIsToBlameForAGoodPace(t *testing.T) {
	const members, link, blockBytes = 8, 25e6, 56 << 10
	for pace, want := range map[float64]int{0.95 * link: 0, 0.5 * link: 3} {
		var j Judge
		all, blamed := make([]Member, members), 0
		for second := range 6 {
			if rank, _ := j.Look(time.Duration(second)*Window, all); rank != 0 {
				blamed = rank
			}
			for from := range all {
				all[from].Hops = nil
				for to := 1; to < members; to++ {
					if from == to {
						continue
					}
					bytes, rate := pace*float64(second+1)/(members-1), link
					if from == 3 || to == 3 {
						rate /= 2
					}
					all[from].Hops = append(all[from].Hops, control.Hop{Rank: to, Blocks: uint64(bytes / blockBytes), Bytes: uint64(bytes), Wire: int64(bytes / rate * 1e9)})
				}
			}
		}
		if blamed != want {
			t.Errorf("at %.0f MB/s %d is blamed, should be %d", pace/1e6, blamed, want)
		}
	}
}
