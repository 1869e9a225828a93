package groups

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// scenario is a random cluster with random groups, and what happens to it.
type scenario struct {
	tally
	random   *rand.Rand
	config   Config
	specs    []Spec
	sizes    [][]uint64      // of the messages, by group
	spread   []time.Duration // between messages, by group
	victims  []int           // nodes that crash, or are cut off
	cut      bool            // they are cut off, all together
	fault    time.Duration   // after the first Send
	arrivals int             // or, if not negative, when so many blocks have arrived
	early    bool            // or while the groups are being formed
	again    bool            // one more node crashes, while the others repair
	slow     float64         // factor of node 0's rate; 1: as fast as the others
	slowLink float64         // factor of the rate between nodes 0 and 1

	cluster *Cluster
	travel  *travel
	groups  []*Group
	struck  bool       // the fault has happened
	faultAt clock.Time // when
	before  int        // what Cluster.Received was when the repair began
	lacking int        // blocks that lacked then
}

func newScenario(seed uint64) *scenario {
	s := &scenario{random: rand.New(rand.NewPCG(seed, 5)), slow: 1, slowLink: 1, arrivals: -1}
	nodes := 1 + s.random.IntN(12)
	switch s.random.IntN(50) {
	case 0:
		nodes = 64 + s.random.IntN(10)
	case 1, 2, 3, 4, 5:
		nodes = 12 + s.random.IntN(10)
	}
	racks := 1 + s.random.IntN(4)
	s.config = Config{Nodes: nodes,
		Fabric: sim.Config{Seed: seed, Racks: racks, PeerTimeout: peerTimeout, Jitter: []float64{-1, 0, 1, 30}[s.random.IntN(4)]},
		Node:   func(i int) sim.NodeConfig { return sim.NodeConfig{Rack: i % racks} }}
	if s.chance(3) {
		s.config.Fabric.Uplink = 25e9
	}
	if s.chance(4) {
		s.slow = 0.05 + 0.9*s.random.Float64()
	}
	if s.chance(4) {
		s.slowLink = 0.05 + 0.9*s.random.Float64()
	}
	for range 1 + s.random.IntN(3) {
		s.addGroup(nodes, racks)
	}
	s.addFault(nodes)
	return s
}

func (s *scenario) chance(oneIn int) bool { return s.random.IntN(oneIn) == 0 }

func (s *scenario) addGroup(nodes, racks int) {
	spec := Spec{Nodes: s.random.Perm(nodes)}
	if s.chance(3) {
		spec.Nodes = spec.Nodes[:1+s.random.IntN(nodes)]
	}
	all := schedule.Algorithms()
	spec.Algorithm = all[s.random.IntN(len(all))]
	if spec.Algorithm.Racks() {
		for _, node := range spec.Nodes {
			spec.Racks = append(spec.Racks, node%racks)
		}
	}
	spec.BlockSize = []int{1, 7, 64, 100, 512, 1000, 4096}[s.random.IntN(7)]
	spec.Stripes, spec.Credits, spec.Sends = s.random.IntN(4), s.random.IntN(5), s.random.IntN(4)
	spec.Stall = stall
	spec.Blockwise = s.chance(2)
	spec.Gate = spec.Blockwise && s.chance(2)
	spec.Phantom = spec.Blockwise && s.chance(6)
	spec.Offload = !spec.Gate && s.chance(4)
	if s.chance(3) {
		spec.Wait = s.waits()
	}
	s.specs = append(s.specs, spec)
	s.addMessages(spec.BlockSize)
}

// waits is a member's slowness: mostly none, sometimes some.
func (s *scenario) waits() func() time.Duration {
	random := rand.New(rand.NewPCG(s.random.Uint64(), 1))
	most := 1 + random.IntN(20_000)
	return func() time.Duration {
		if random.IntN(3) > 0 {
			return 0
		}
		return time.Duration(1 + random.IntN(most))
	}
}

func (s *scenario) addMessages(blockSize int) {
	var sizes []uint64
	for range 1 + s.random.IntN(4) {
		size := s.random.IntN(20*blockSize + 1)
		switch s.random.IntN(8) {
		case 0:
			size = 0
		case 1:
			size = s.random.IntN(blockSize + 1)
		case 2:
			size = (1 + s.random.IntN(20)) * blockSize
		}
		sizes = append(sizes, uint64(size))
	}
	s.sizes = append(s.sizes, sizes)
	s.spread = append(s.spread, time.Duration(s.random.IntN(2)*s.random.IntN(40_000)))
}

func (s *scenario) addFault(nodes int) {
	if s.chance(2) || nodes < 2 {
		return
	}
	s.victims = s.random.Perm(nodes)[:1]
	switch s.random.IntN(6) {
	case 0:
		s.cut = true
		s.victims = s.random.Perm(nodes)[:1+s.random.IntN(nodes-1)]
	case 1:
		s.victims = s.random.Perm(nodes)[:1+s.random.IntN(min(3, nodes-1))]
	}
	s.early = s.chance(12)
	longest := 20_000 // ns; a short transfer, or long after one
	if s.chance(2) {
		longest = 200_000
	}
	s.again = s.chance(4)
	if s.early {
		longest = 3000
	}
	s.fault = time.Duration(s.random.IntN(longest))
}

// String describes the scenario, for whoever has to understand a failure.
func (s *scenario) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d nodes, fabric %+v, node 0 at %g of its rate, and at %g to node 1", s.config.Nodes, s.config.Fabric,
		s.slow, s.slowLink)
	if s.victims != nil {
		fmt.Fprintf(&b, ", %v after the start: nodes %v crash (cut off: %t, while groups form: %t, and another: %t)", s.fault,
			s.victims, s.cut, s.early, s.again)
	}
	for i, spec := range s.specs {
		fmt.Fprintf(&b, "\ngroup g%d: %v of nodes %v, racks %v, stripes %d, credits %d, sends %d, blocks of %d, by block %t, gate %t, "+
			"offload %t, slow %t, messages %v every %v", i, spec.Algorithm, spec.Nodes, spec.Racks, spec.Stripes, spec.Credits,
			spec.Sends, spec.BlockSize, spec.Blockwise, spec.Gate, spec.Offload, spec.Wait != nil, s.sizes[i], s.spread[i])
	}
	return b.String()
}
