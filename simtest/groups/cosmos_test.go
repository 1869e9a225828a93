package groups

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Section 5.2.2, figure 9: one node generates objects and replicates each to three of fifteen others, by one of 455 groups
// that were made before. The pipeline is "almost twice as fast as binomial tree and around three times as fast as sequential
// send". The trace is not public: sizes are log-normal here, around 16 MB.
func TestFigure9Cosmos(t *testing.T) {
	pipeline := cosmos(t, schedule.Pipeline)
	tree, sequential := cosmos(t, schedule.Tree), cosmos(t, schedule.Sequential)
	t.Logf("median latency: pipeline %v, tree %v, sequential %v", pipeline, tree, sequential)
	if r := ratio(tree, pipeline); r < 1.6 || r > 2.2 {
		t.Errorf("the tree takes %.2f of the pipeline's time, in the paper almost 2", r)
	}
	if r := ratio(sequential, pipeline); r < 2.4 || r > 3.3 {
		t.Errorf("sequential takes %.2f of the pipeline's time, in the paper around 3", r)
	}
}

const (
	cosmosReplicas = 15
	cosmosGroups   = 455 // three of fifteen
)

// cosmos replicates some hundred objects, one after the other, and returns the median of the times.
func cosmos(t *testing.T, algorithm schedule.Algorithm) time.Duration {
	t.Helper()
	e := experiment{members: 1 + cosmosReplicas}
	c := e.cluster(t)
	groups := cosmosGroupsOf(t, c, algorithm)
	random := rand.New(rand.NewPCG(9, 9))
	var took []time.Duration
	var bytes float64
	begin := c.Fabric.Now()
	for range 300 {
		size := uint64(min(16*mib*math.Exp(random.NormFloat64()), 256*mib))
		g := groups[random.IntN(len(groups))]
		start := c.Fabric.Now()
		g.Send(size)
		took = append(took, untilAll(t, c, []*Group{g}, start))
		bytes += 3 * float64(size)
	}
	t.Logf("%v: %.0f Gbit/s of data replicated", algorithm, bytes*8/c.Fabric.Now().Sub(begin).Seconds()/1e9)
	slices.Sort(took)
	return took[len(took)/2]
}

// cosmosGroupsOf makes a group of node 0 and each three of the others.
func cosmosGroupsOf(t *testing.T, c *Cluster, algorithm schedule.Algorithm) []*Group {
	t.Helper()
	var groups []*Group
	for i := 1; i <= cosmosReplicas; i++ {
		for j := i + 1; j <= cosmosReplicas; j++ {
			for k := j + 1; k <= cosmosReplicas; k++ {
				g, err := c.Group(Spec{Config: rdmc.Config{Algorithm: algorithm, Phantom: true}, Nodes: []int{0, i, j, k},
					Blockwise: true, Window: 256 + manyBlocks})
				check(t, err)
				groups = append(groups, g)
			}
		}
	}
	if len(groups) != cosmosGroups {
		t.Fatalf("%d groups", len(groups))
	}
	check(t, c.Run(100*time.Millisecond))
	return groups
}
