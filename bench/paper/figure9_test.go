package paper

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/simtest/groups"
)

func TestCosmosSizes(t *testing.T) {
	sizes := cosmosSizes(rand.New(rand.NewPCG(1, 9)), 100_000)
	slices.Sort(sizes)
	sum := 0.0
	for _, size := range sizes {
		sum += float64(size)
	}
	median, mean := float64(sizes[len(sizes)/2]), sum/float64(len(sizes))
	if math.Abs(median/cosmosMedian-1) > 0.03 || math.Abs(mean/cosmosMean-1) > 0.05 {
		t.Errorf("the median is %.1f MB and the mean %.1f MB", median/1e6, mean/1e6)
	}
}

// The paper counts 455 groups.
func TestCosmosGroups(t *testing.T) {
	s := cosmosStore{result: &replicated{algorithm: schedule.Pipeline}}
	check(t, experiment{members: 1 + cosmosReplicas}.with(func(c *groups.Cluster) error {
		all, err := s.groups(t.Context(), c)
		if len(all) != cosmosGroups {
			t.Errorf("there are %d groups", len(all))
		}
		return err
	}))
}
