package rdmc

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

// rates are in bytes a second of busy time, by sender and receiver; 0 where nothing was sent.
func (r *rig) rates() [][]float64 {
	all := make([][]float64, len(r.members))
	for rank, m := range r.members {
		all[rank] = make([]float64, len(r.members))
		for _, hop := range m.group.Hops(nil) {
			if hop.Blocks > 0 {
				all[rank][hop.Rank] = float64(hop.Bytes) / hop.Busy.Seconds()
			}
		}
	}
	return all
}

// sendOne sends a message to all.
func (r *rig) sendOne(size uint64) {
	r.t.Helper()
	_, err := r.members[0].group.Send(r.members[0].fill(size), size)
	check(r.t, err)
	r.run("completed", func(m *member) bool { return len(m.completed) == 1 })
}

// One host has a slow link. All members progress in lock step, but only blocks from and to that host are slow on the wire, with all of
// its partners; between others they are as fast as they could be.
func TestSlowHostStandsOut(t *testing.T) {
	for _, algorithm := range []schedule.Algorithm{schedule.Pipeline, schedule.Circulant, schedule.Chain} {
		for _, stripes := range []int{1, 2} {
			ill, healthy := ratesWithSlow(t, algorithm, stripes)
			if worst, best := slices.Min(healthy), slices.Max(ill); len(ill) < 2 || best > 0.85*worst {
				t.Errorf("%v, %d stripes: hops with the slow host have %.3g bytes a second, others %.3g", algorithm, stripes, ill, healthy)
			}
		}
	}
}

// ratesWithSlow are those of hops with a slow host, and of all others.
func ratesWithSlow(t *testing.T, algorithm schedule.Algorithm, stripes int) (ill, healthy []float64) {
	const slow, block, size = 5, 64 << 10, 256 * 64 << 10
	r := &rig{t: t, memory: size}
	r.form(Config{Name: "g", Members: names(8), Algorithm: algorithm, BlockSize: block, Stripes: stripes})
	check(t, r.fabric.SlowNode("n5", 0.5))
	r.sendOne(size)
	for from, list := range r.rates() {
		for to, rate := range list {
			switch {
			case rate == 0:
			case from == slow || to == slow:
				ill = append(ill, rate)
			default:
				healthy = append(healthy, rate)
			}
		}
	}
	r.closeAll()
	return ill, healthy
}

// A healthy link's rate comes out, also when several blocks are on it at a time and when it was idle for long.
func TestHopRate(t *testing.T) {
	const block, size, rate = 64 << 10, 64 * 64 << 10, 100e9 / 8
	for _, stripes := range []int{1, 3} {
		r := &rig{t: t, memory: size}
		r.form(Config{Name: "g", Members: names(2), Algorithm: schedule.Chain, BlockSize: block, Stripes: stripes})
		r.pass(time.Second)
		r.sendOne(size)
		r.pass(time.Second)
		hop := r.members[0].group.Hops(nil)[0]
		if hop.Rank != 1 || hop.Blocks != 64 || hop.Bytes != size {
			t.Errorf("%d stripes: %+v", stripes, hop)
		}
		if got := r.rates()[0][1]; got < 0.7*rate || got > rate {
			t.Errorf("%d stripes: %.3g bytes a second of %.3g", stripes, got, rate)
		}
		r.closeAll()
	}
}

// A block that is stuck counts while it is, and not any more when the group has ended.
func TestHopThatIsStuck(t *testing.T) {
	r := &rig{t: t, memory: 1 << 20}
	r.form(Config{Name: "g", Members: names(2), BlockSize: 1 << 20, Stripes: 1})
	check(t, r.fabric.SlowNode("n1", 1e-6))
	_, err := r.members[0].group.Send(r.members[0].fill(1<<20), 1<<20)
	check(t, err)
	r.pass(time.Second)
	if hop := r.members[0].hop(r); hop.Blocks != 0 || hop.Busy < 900*time.Millisecond {
		t.Errorf("after a second %+v", hop)
	}
	check(t, r.members[0].group.Close())
	r.pass(time.Minute)
	if hop := r.members[0].hop(r); hop.Busy > time.Minute/2 {
		t.Errorf("a minute after the end %+v", hop)
	}
}

// hop asks for the first hop on the loop, whose time is that of its turn.
func (m *member) hop(r *rig) (first Hop) {
	r.t.Helper()
	check(r.t, m.loop.Do(func() { first = m.group.Hops(nil)[0] }))
	r.pass(time.Microsecond)
	return first
}
