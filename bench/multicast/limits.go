package multicast

import (
	"fmt"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/delivery"
)

// nearLimit is how close to a limit a row has to be, as a multiple of it, to be explained by it: whoever is further away has
// reasons of its own.
const nearLimit = 1.1

// linkAlone takes part without being there: the time that the bytes alone need on a link, in each of a peer's rounds.
func linkAlone(seconds float64, peer *entry) *entry {
	e := &entry{Contestant: delivery.Contestant{Name: "the link alone"}}
	for range peer.samples {
		e.samples = append(e.samples, delivery.Sample{Seconds: seconds})
	}
	return e
}

// explain adds a row without a bound: how a limit, which no multicast over TCP can beat, compares with a peer. Rows of the same
// measure that miss their bound against that peer are told so, if even the limit misses it.
func explain(rows []contest.Result, where string, limit, peer *entry) []contest.Result {
	row := duel{where + ", " + limit.Name, bestOf(peer), "s", 0, seconds}.row(limit, peer)
	if row.Failed != "" {
		return rows // they say so already
	}
	for i, r := range rows {
		if r.Peer == row.Peer && because(r, row) && limit.seconds() > r.Bound*peer.seconds() {
			rows[i].Why = fmt.Sprintf("out of reach on these links: even %s takes %.3f s, which is %s × %s (%.3f s)",
				limit.Name, limit.seconds(), contest.Beside(row.Value, r.Bound), row.Peer, peer.seconds())
		}
	}
	return append(rows, row)
}

// because reports whether a row misses its bound where the limit misses it too: the row is beyond the limit, but near, and
// nobody disturbed either of them.
func because(row, limit contest.Result) bool {
	bounded, met := row.Judged()
	missed := bounded && !met && row.Failed == "" && row.Others == 0 && limit.Others == 0
	return missed && limit.Value > row.Bound && row.Value >= limit.Value && row.Value <= nearLimit*limit.Value
}
