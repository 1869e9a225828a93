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

// explain adds a row without a bound: how a limit, which no multicast over TCP can beat, compares with a peer. Rows that miss
// their bound against that peer are told why, if it is because of the limit.
func explain(rows []contest.Result, where string, limit, peer *entry) []contest.Result {
	row := duel{where + ", " + limit.Name, bestOf(peer), "s", 0, seconds}.row(limit, peer)
	if row.Failed != "" {
		return rows // they say so already
	}
	for i := range rows {
		if rows[i].Peer == row.Peer && because(rows[i], row) {
			rows[i].Why = fmt.Sprintf("on these links no multicast over TCP is faster than %s: %.3f s, which is %.3f × %s (%.3f s)",
				limit.Name, limit.seconds(), row.Value, row.Peer, peer.seconds())
		}
	}
	return append(rows, row)
}

// because reports whether a row misses its bound because of a limit: the limit misses it too, and the row is near the limit.
func because(row, limit contest.Result) bool {
	bounded, met := row.Judged()
	missed := bounded && !met && row.Failed == ""
	return missed && limit.Value > row.Bound && row.Value <= nearLimit*limit.Value
}
