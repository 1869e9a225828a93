package groups

import (
	"math/bits"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

const (
	fractus = 100e9 // bits a second (section 5.1)
	sierra  = 40e9
)

func rated(rate float64) func(int) sim.NodeConfig {
	return func(int) sim.NodeConfig { return sim.NodeConfig{Rate: rate} }
}

// Section 5.2.2, figure 8: "replication can be almost free: whether making 127, 255 or 511 copies, the total time required
// is almost the same", while sequential send scales linearly.
func TestFigure8CopiesAreAlmostFree(t *testing.T) {
	if testing.Short() {
		t.Skip("several seconds")
	}
	e := experiment{members: 128, node: rated(sierra), size: 256 * mib}
	base := e.run(t)
	t.Logf("127 copies of 256 MiB at 40 Gbit/s: %v; one copy needs %v", base.last, lineTime(e.size, sierra))
	for _, members := range []int{256, 512} {
		e.members = members
		r := e.run(t)
		t.Logf("%d copies: %v, %.3f of that", members-1, r.last, ratio(r.last, base.last))
		if ratio(r.last, base.last) > 1.03 {
			t.Errorf("%d copies take %.3f of the time for 127", members-1, ratio(r.last, base.last))
		}
	}
	e.members, e.algorithm = 128, schedule.Sequential
	sequential := e.run(t)
	t.Logf("127 copies one after the other: %v, %.0f times as long", sequential.last, ratio(sequential.last, base.last))
	if ratio(sequential.last, base.last) < 100 {
		t.Errorf("sequential takes only %.1f times as long", ratio(sequential.last, base.last))
	}
}

// Figure 4: sequential and tree do poorly as the group grows; chain is competitive for large transfers, and falls behind
// "for small transfers to large numbers of nodes".
func TestFigure4Order(t *testing.T) {
	took := func(a schedule.Algorithm, members int, size uint64) time.Duration {
		return experiment{members: members, algorithm: a, size: size}.run(t).last
	}
	for _, members := range []int{4, 8, 16} {
		pipeline, chain := took(schedule.Pipeline, members, 256*mib), took(schedule.Chain, members, 256*mib)
		tree, sequential := took(schedule.Tree, members, 256*mib), took(schedule.Sequential, members, 256*mib)
		t.Logf("256 MiB to %d: pipeline %v, chain %v, tree %v, sequential %v", members, pipeline, chain, tree, sequential)
		rounds := float64(bits.Len(uint(members - 1)))
		if ratio(chain, pipeline) > 1.1 || ratio(pipeline, chain) > 1.05 {
			t.Errorf("%d members: the chain takes %.2f of the pipeline's time", members, ratio(chain, pipeline))
		}
		if r := ratio(tree, pipeline); r < 0.9*rounds || r > 1.1*rounds {
			t.Errorf("%d members: the tree takes %.2f of the pipeline's time", members, r)
		}
		if r := ratio(sequential, pipeline); r < 0.9*float64(members-1) || r > 1.1*float64(members-1) {
			t.Errorf("%d members: sequential takes %.2f of the pipeline's time", members, r)
		}
	}
	pipeline, chain := took(schedule.Pipeline, 16, 8*mib), took(schedule.Chain, 16, 8*mib)
	t.Logf("8 MiB to 16: pipeline %v, chain %v", pipeline, chain)
	if ratio(chain, pipeline) < 1.5 {
		t.Errorf("8 MiB: the chain takes only %.2f of the pipeline's time", ratio(chain, pipeline))
	}
}

// Section 4.3 and appendix A: k blocks are everywhere after k + ⌈log₂ n⌉ − 1 steps, each as long as a block is on a link,
// and the last step of all receivers is the same or the next. Stripes cost ⌈log₂ n⌉ − 1 steps each, and hide latency.
func TestStepsTakeABlocksTime(t *testing.T) {
	const blocks = 64
	block := lineTime(mib, fractus)
	for _, algorithm := range []schedule.Algorithm{schedule.Pipeline, schedule.Circulant} {
		for _, members := range []int{2, 3, 8, 13, 32, 64} {
			for _, stripes := range []int{1, 2} {
				r := experiment{members: members, algorithm: algorithm, stripes: stripes, size: blocks * mib}.run(t)
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
	one := e.run(t).last
	e.stripes = 2
	two := e.run(t).last
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
			r := experiment{members: members, algorithm: algorithm, size: mib}.run(t)
			best := time.Duration(bits.Len(uint(members-1))) * lineTime(mib, fractus)
			t.Logf("%v, %d members: %v, %.2f of the least", algorithm, members, r.last, ratio(r.last, best))
			if ratio(r.last, best) > 1.1 {
				t.Errorf("%v, %d members: %.2f of the least time", algorithm, members, ratio(r.last, best))
			}
		}
	}
}

// Figure 6: larger blocks move faster, until they are so large that the pipeline has too few of them.
func TestFigure6BlockSize(t *testing.T) {
	best := map[uint64]int{}
	for _, size := range []uint64{mib, 16 * mib, 128 * mib} {
		fastest := time.Hour
		for block := 16 * kib; block <= int(size); block *= 4 {
			r := experiment{members: 4, block: block, size: size}.run(t)
			t.Logf("%d MiB in blocks of %d KiB: %.1f Gbit/s", size/mib, block/kib, float64(size)*8/r.last.Seconds()/1e9)
			if r.last < fastest {
				fastest, best[size] = r.last, block
			}
		}
	}
	for size, block := range best {
		if block == 16*kib || block == int(size) {
			t.Errorf("%d MiB is fastest in blocks of %d KiB, the end of the scale", size/mib, block/kib)
		}
	}
	if best[128*mib] <= best[mib] {
		t.Errorf("the best block of 128 MiB, %d KiB, is not larger than that of 1 MiB, %d KiB", best[128*mib]/kib, best[mib]/kib)
	}
}

// Figure 10a: with every member a sender, in as many groups of the same members, the aggregate comes close to what the
// NICs can carry: each has to take in what the others send.
func TestFigure10AllSenders(t *testing.T) {
	for _, members := range []int{4, 8, 16} {
		e := experiment{members: members, size: 32 * mib}
		c := e.cluster(t)
		var groups []*Group
		for root := range members {
			spec := e.spec()
			for i := range spec.Nodes {
				spec.Nodes[i] = (root + i) % members
			}
			g, err := c.Group(spec)
			check(t, err)
			groups = append(groups, g)
		}
		check(t, c.Run(100*time.Millisecond))
		start := c.Fabric.Now()
		for _, g := range groups {
			g.Send(e.size)
		}
		took := untilAll(t, c, groups, start)
		best := time.Duration(members-1) * lineTime(e.size, fractus)
		t.Logf("%d senders: %v, %.1f Gbit/s together, %.3f of what the NICs can", members, took,
			float64(members)*float64(e.size)*8/took.Seconds()/1e9, ratio(best, took))
		if ratio(best, took) < 0.8 {
			t.Errorf("%d senders reach %.3f of what the NICs can", members, ratio(best, took))
		}
	}
}

// Section 4.3.1: between racks with little bandwidth, patterns that know racks send each block once to each rack, and are
// faster than a pipeline that does not know them.
func TestRacksWithSlowUplinks(t *testing.T) {
	e := experiment{members: 32, racks: 4, size: 64 * mib, fabric: sim.Config{Uplink: 100e9}}
	plain := e.run(t)
	t.Logf("pipeline on 4 racks of 8 with uplinks of one NIC's rate: %v", plain.last)
	for _, algorithm := range []schedule.Algorithm{schedule.RackChain, schedule.RackPipeline, schedule.RackStripes} {
		e.algorithm = algorithm
		r := e.run(t)
		t.Logf("%v: %v, %.2f of that", algorithm, r.last, ratio(r.last, plain.last))
		if r.last >= plain.last {
			t.Errorf("%v takes %v, and the pipeline %v", algorithm, r.last, plain.last)
		}
	}
}

// A member at half its rate makes everybody twice as slow, and one slow link hurts a pipeline much less than a chain: all
// others of its links are used as often (the slow-link analysis in the notes on lockstep schedules).
func TestSlowNodeAndSlowLink(t *testing.T) {
	slowNode := func(c *Cluster) { c.expect(c.Fabric.SlowNode("n5", 0.5)) }
	slowLink := func(c *Cluster) { c.expect(c.Fabric.SlowLink("n0", "n1", 0.5)) }
	for _, algorithm := range []schedule.Algorithm{schedule.Pipeline, schedule.Chain} {
		e := experiment{members: 16, algorithm: algorithm, size: 128 * mib}
		well := e.run(t).last
		e.prepare = slowNode
		node := ratio(e.run(t).last, well)
		e.prepare = slowLink
		link := ratio(e.run(t).last, well)
		t.Logf("%v: a node at half its rate costs %.2f, a link %.2f", algorithm, node, link)
		if node > 2.1 {
			t.Errorf("%v: a slow node costs %.2f", algorithm, node)
		}
		if most := map[schedule.Algorithm]float64{schedule.Pipeline: 1.35, schedule.Chain: 2.1}[algorithm]; link > most {
			t.Errorf("%v: a slow link costs %.2f", algorithm, link)
		}
	}
}

// Section 5.2.3, figure 11: with interrupts instead of polling "the bandwidth impact is quite minimal, particularly for
// large transfers".
func TestFigure11Interrupts(t *testing.T) {
	for _, c := range []struct {
		size, block uint64
		most        float64
	}{{100 * mib, mib, 1.1}, {mib, 128 * kib, 2}, {10 * kib, 10 * kib, 4}} {
		e := experiment{members: 8, size: c.size, block: int(c.block)}
		polling := e.run(t).last
		e.node = func(int) sim.NodeConfig { return sim.NodeConfig{Wake: 4 * time.Microsecond} }
		interrupts := e.run(t).last
		t.Logf("%d KiB: polling %v, interrupts %v, %.3f of that", c.size/kib, polling, interrupts, ratio(interrupts, polling))
		if ratio(interrupts, polling) > c.most {
			t.Errorf("%d KiB: interrupts cost %.3f", c.size/kib, ratio(interrupts, polling))
		}
	}
}

// Section 4.4, figure 12: 100 MB, where the NICs run the whole transfer, so that hosts which sleep cost nothing. The paper
// could only try the chain.
func TestFigure12Offload(t *testing.T) {
	for _, algorithm := range []schedule.Algorithm{schedule.Chain, schedule.Pipeline, schedule.Circulant} {
		e := experiment{members: 8, algorithm: algorithm, size: 100 * mib,
			node: func(int) sim.NodeConfig { return sim.NodeConfig{Wake: 100 * time.Microsecond} }}
		hosts := e.run(t).last
		e.offload = true
		nics := e.run(t).last
		t.Logf("%v, hosts that need 100 µs to wake up: %v; offloaded: %v", algorithm, hosts, nics)
		if ratio(nics, hosts) > 0.95 { // in a chain three credits hide most of it too
			t.Errorf("%v: offload takes %.2f of the time", algorithm, ratio(nics, hosts))
		}
		if ratio(nics, lineTime(e.size, fractus)) > 1.25 {
			t.Errorf("%v: offload takes %v, and a link needs %v", algorithm, nics, lineTime(e.size, fractus))
		}
	}
}
