package paper

import (
	"math/bits"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/simtest/groups"
)

// Section 4.3 and appendix A: k blocks are everywhere after k + ⌈log₂ n⌉ − 1 steps, each as long as a block is on a link,
// and the last step of all receivers is the same or the next. Stripes cost ⌈log₂ n⌉ − 1 steps each, and hide latency.
func TestStepsTakeABlocksTime(t *testing.T) {
	const blocks = 64
	block := lineTime(mib, fractus)
	for _, algorithm := range []schedule.Algorithm{schedule.Pipeline, schedule.Circulant} {
		for _, members := range []int{2, 3, 8, 13, 32, 64} {
			for _, stripes := range []int{1, 2} {
				r := run(t, experiment{members: members, algorithm: algorithm, stripes: stripes, size: blocks * mib})
				rounds := bits.Len(uint(members - 1))
				best := time.Duration(blocks+rounds-1) * block
				t.Logf("%v, %d members, %d stripes: %v, efficiency %.3f, skew %.2f blocks", algorithm, members, stripes, r.last,
					ratio(best, r.last), ratio(r.skew(), block))
				if e := ratio(best, r.last); e < 0.9 || e > 1.001 {
					t.Errorf("%v, %d members, %d stripes: efficiency %.3f", algorithm, members, stripes, e)
				}
				if most := float64(stripes) + 0.3; algorithm == schedule.Pipeline && ratio(r.skew(), block) > most {
					t.Errorf("%d members, %d stripes: skew %v, a block takes %v", members, stripes, r.skew(), block)
				}
			}
		}
	}
}

// Where latency shows, in blocks of 64 KiB at 100 Gbit/s, two stripes hide some of it (research 2.4).
func TestStripesHideLatency(t *testing.T) {
	e := experiment{members: 16, block: 64 * kib, size: 32 * mib, stripes: 1}
	one := run(t, e).last
	e.stripes = 2
	two := run(t, e).last
	t.Logf("32 MiB to 16 in blocks of 64 KiB: one stripe %v, two %v; a link needs %v", one, two, lineTime(e.size, fractus))
	if ratio(two, one) > 0.9 {
		t.Errorf("two stripes take %.3f of the time of one", ratio(two, one))
	}
}

// A message of one block goes by a binomial tree (section 4.3): ⌈log₂ n⌉ steps of a block's time, because a member sends
// it to one after the other.
func TestOneBlockTakesATreesTime(t *testing.T) {
	for _, algorithm := range []schedule.Algorithm{schedule.Pipeline, schedule.Circulant} {
		for _, members := range []int{4, 16, 64} {
			r := run(t, experiment{members: members, algorithm: algorithm, size: mib})
			best := time.Duration(bits.Len(uint(members-1))) * lineTime(mib, fractus)
			t.Logf("%v, %d members: %v, %.2f of the least", algorithm, members, r.last, ratio(r.last, best))
			if ratio(r.last, best) > 1.1 {
				t.Errorf("%v, %d members: %.2f of the least time", algorithm, members, ratio(r.last, best))
			}
		}
	}
}

// Section 4.3.1: between racks with little bandwidth, patterns that know racks send each block once to each rack, and are
// faster than a pipeline that does not know them.
func TestRacksWithSlowUplinks(t *testing.T) {
	e := experiment{members: 32, racks: 4, size: 64 * mib, fabric: sim.Config{Uplink: 100e9}}
	plain := run(t, e)
	t.Logf("pipeline on 4 racks of 8 with uplinks of one NIC's rate: %v", plain.last)
	for _, algorithm := range []schedule.Algorithm{schedule.RackChain, schedule.RackPipeline, schedule.RackStripes} {
		e.algorithm = algorithm
		r := run(t, e)
		t.Logf("%v: %v, %.2f of that", algorithm, r.last, ratio(r.last, plain.last))
		if r.last >= plain.last {
			t.Errorf("%v takes %v, and the pipeline %v", algorithm, r.last, plain.last)
		}
	}
}

// A member at half its rate makes everybody twice as slow, and one slow link hurts a pipeline much less than a chain: all
// others of its links are used as often (the slow-link analysis in the notes on lockstep schedules).
func TestSlowNodeAndSlowLink(t *testing.T) {
	slowNode := func(c *groups.Cluster) error { return c.Fabric.SlowNode("n5", 0.5) }
	slowLink := func(c *groups.Cluster) error { return c.Fabric.SlowLink("n0", "n1", 0.5) }
	for _, algorithm := range []schedule.Algorithm{schedule.Pipeline, schedule.Chain} {
		e := experiment{members: 16, algorithm: algorithm, size: 128 * mib}
		well := run(t, e).last
		e.prepare = slowNode
		node := ratio(run(t, e).last, well)
		e.prepare = slowLink
		link := ratio(run(t, e).last, well)
		t.Logf("%v: a node at half its rate costs %.2f, a link %.2f", algorithm, node, link)
		if node > 2.1 {
			t.Errorf("%v: a slow node costs %.2f", algorithm, node)
		}
		if most := map[schedule.Algorithm]float64{schedule.Pipeline: 1.35, schedule.Chain: 2.1}[algorithm]; link > most {
			t.Errorf("%v: a slow link costs %.2f", algorithm, link)
		}
	}
}
