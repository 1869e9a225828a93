package schedule

import (
	"fmt"
	"strings"
)

// Algorithm is a pattern of unicasts.
type Algorithm uint8

// The algorithms, all of RDMC section 4.3 and one that is newer. Steps are for k blocks, n members, r racks of g members,
// S stripes; log is ⌈log₂⌉.
const (
	Pipeline     Algorithm = iota // the binomial pipeline (appendix A): k + log n − 1 steps, and all finish together
	Circulant                     // Träff's broadcast on a circulant graph: as many, without special cases for any n
	Chain                         // a bucket brigade: k + n − 2
	Tree                          // a binomial tree of whole messages: k·log n
	Sequential                    // the root sends to one after the other: k·(n−1)
	RackChain                     // a chain of rack leaders, a pipeline in each rack (section 4.3.1): 2·(k + r + log g − 3)
	RackPipeline                  // a pipeline of rack leaders, a pipeline in each rack: 2·(k + log r + log g − 2)
	RackStripes                   // the same, with other leaders for other blocks: (1+S)·(k/S + log r + log g − 1), S < g
)

var algorithmNames = []string{
	"pipeline", "circulant", "chain", "tree", "sequential", "rack-chain", "rack-pipeline", "rack-stripes",
}

func (a Algorithm) String() string {
	if int(a) < len(algorithmNames) {
		return algorithmNames[a]
	}
	return fmt.Sprintf("algorithm %d", uint8(a))
}

// Racks reports whether the algorithm wants to know racks.
func (a Algorithm) Racks() bool { return a >= RackChain }

// Algorithms returns all of them.
func Algorithms() []Algorithm {
	all := make([]Algorithm, len(algorithmNames))
	for i := range all {
		all[i] = Algorithm(i)
	}
	return all
}

// ParseAlgorithm finds an algorithm by its name.
func ParseAlgorithm(name string) (Algorithm, error) {
	for i, known := range algorithmNames {
		if name == known {
			return Algorithm(i), nil
		}
	}
	return 0, fmt.Errorf("no algorithm %q: there are %s", name, strings.Join(algorithmNames, ", "))
}
