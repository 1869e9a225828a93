package paper

import (
	"context"
	"math/rand/v2"

	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/simtest/groups"
)

// cosmosStore is a generator, node 0, and the nodes that hold the replicas.
type cosmosStore struct {
	sizes    []uint64
	random   *rand.Rand
	result   *replicated
	progress func(done int)
}

// run makes all groups and then replicates all objects, one after the other.
func (s *cosmosStore) run(ctx context.Context, seed uint64) error {
	e := experiment{members: 1 + cosmosReplicas, fabric: sim.Config{Seed: seed}}
	return e.with(func(c *groups.Cluster) error {
		all, err := s.groups(ctx, c)
		if err != nil {
			return err
		}
		begin := c.Fabric.Now()
		for i, size := range s.sizes {
			if err := s.replicate(ctx, c, all[s.random.IntN(len(all))], size); err != nil {
				return err
			}
			s.progress(i + 1)
		}
		s.result.total = c.Fabric.Now().Sub(begin)
		return nil
	})
}

// groups makes a group of node 0 and each three of the others.
func (s *cosmosStore) groups(ctx context.Context, c *groups.Cluster) (all []*groups.Group, err error) {
	for i := 1; i <= cosmosReplicas; i++ {
		for j := i + 1; j <= cosmosReplicas; j++ {
			for k := j + 1; k <= cosmosReplicas; k++ {
				g, err := c.Group(s.spec([]int{0, i, j, k}))
				if err != nil {
					return nil, err
				}
				all = append(all, g)
			}
		}
	}
	if err := until(ctx, c, func() bool { return every(all, (*groups.Group).Ready) }); err != nil {
		return nil, err
	}
	return all, c.Run(settled)
}

func (s *cosmosStore) spec(nodes []int) groups.Spec {
	spec := groups.Spec{Config: rdmc.Config{Algorithm: s.result.algorithm, Phantom: true}, Nodes: nodes, Blockwise: true}
	if spec.Algorithm > schedule.Chain {
		spec.Window = cosmosMost/rdmc.DefaultBlockSize + spareBlocks
	}
	return spec
}

// replicate sends one object, and takes down how long it takes until all three have it.
func (s *cosmosStore) replicate(ctx context.Context, c *groups.Cluster, g *groups.Group, size uint64) error {
	start := c.Fabric.Now()
	g.Send(size)
	if err := until(ctx, c, g.Done); err != nil {
		return err
	}
	s.result.took = append(s.result.took, lastArrival([]*groups.Group{g}).Sub(start))
	s.result.bytes += float64(size)
	return nil
}
