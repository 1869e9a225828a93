package groups

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// Every member crashes after every single arrival of a block, in groups of every pattern. Whatever was held where, the
// survivors hear of it once, and finish from what they have if the dead had nothing that they lack.
func TestCrashAtEveryStep(t *testing.T) {
	shapes := []struct{ members, blocks int }{{2, 3}, {3, 2}, {4, 4}, {5, 3}, {6, 4}}
	if os.Getenv("WEFT_LONG") != "" {
		shapes = append(shapes, []struct{ members, blocks int }{{7, 9}, {8, 5}, {9, 12}, {12, 6}, {17, 4}}...)
	}
	for _, algorithm := range schedule.Algorithms() {
		t.Run(algorithm.String(), func(t *testing.T) {
			var sum tally
			for i, shape := range shapes {
				for victim := range shape.members {
					s := crashScenario(algorithm, shape.members, shape.blocks, victim, i%2 == 0)
					sum.add(crashAtEveryArrival(t, s))
				}
			}
			t.Logf("%+v", sum)
		})
	}
}

// crashScenario is one group with two messages, on nodes of the same numbers as its ranks.
func crashScenario(algorithm schedule.Algorithm, members, blocks, victim int, blockwise bool) *scenario {
	spec := Spec{Config: rdmc.Config{Algorithm: algorithm, BlockSize: 600, Stall: stall}, Blockwise: blockwise}
	for node := range members {
		spec.Nodes = append(spec.Nodes, node)
		if algorithm.Racks() {
			spec.Racks = append(spec.Racks, node%3)
		}
	}
	size := uint64(600*blocks - 1)
	return &scenario{
		random:   rand.New(rand.NewPCG(1, 1)),
		config:   Config{Nodes: members, Fabric: sim.Config{PeerTimeout: peerTimeout}},
		specs:    []Spec{spec},
		sizes:    [][]uint64{{size, size + 1}},
		spread:   make([]time.Duration, 1),
		victims:  []int{victim},
		slow:     1,
		slowLink: 1,
	}
}

// crashAtEveryArrival plays a scenario again and again, until the crash comes after everything.
func crashAtEveryArrival(t *testing.T, s *scenario) *tally {
	t.Helper()
	sum := &tally{}
	blocks := rdmc.Message{Size: s.sizes[0][0], BlockSize: 600}.Blocks()
	for arrivals := 0; arrivals <= 2*blocks*(s.config.Nodes-1); arrivals++ {
		again := *s
		again.arrivals = arrivals
		if _, err := again.play(); err != nil {
			t.Fatalf("crash after %d arrivals: %v\n%v", arrivals, err, &again)
		}
		sum.add(&again.tally)
	}
	return sum
}
