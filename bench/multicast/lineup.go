package multicast

import (
	"slices"

	"github.com/weft-fabric/weft/bench/delivery"
)

// ours are the algorithms that have to reach something. A chain is simple and fast too, but its members finish one after the
// other and one slow link slows it most: it stands beside, without a bound.
var ours = []string{"pipeline", "circulant", "auto"}

const beside = "chain"

// entry is somebody who takes part in rounds.
type entry struct {
	delivery.Contestant
	beside  bool              // it has to reach nothing, and takes part in few rounds
	samples []delivery.Sample // one of each round
	failed  error             // why it takes part no longer
}

// lineup is who delivers a large message.
type lineup struct {
	one   *entry   // the plain copy that all are compared with
	ours  []*entry // weft, with the chain beside
	peers []*entry // the best of each kind
}

func newLineup(peers []*entry) lineup {
	chain := &entry{Contestant: delivery.Weft(beside, 0), beside: true}
	return lineup{&entry{Contestant: delivery.OneCopy()}, append(ourEntries(), chain), peers}
}

// ourEntries are ours who have to reach something.
func ourEntries() (all []*entry) {
	for _, algorithm := range ours {
		all = append(all, &entry{Contestant: delivery.Weft(algorithm, 0)})
	}
	return all
}

// everybody is in the order of their turns, and of tables.
func (l lineup) everybody() []*entry { return slices.Concat([]*entry{l.one}, l.ours, l.peers) }
