package main

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/rig/links/network"
)

const (
	linkRate  = "200mbit"
	linkBound = 1.05 // RDMC's promise: hardly more than one copy takes
)

// algorithms are measured on limited links. A chain is simple and fast too, but its members finish one after the other and
// one slow link slows it most: it stands beside, without a bound.
var algorithms = []struct {
	name  string
	bound float64
}{{"pipeline", linkBound}, {"circulant", linkBound}, {"chain", 0}}

// linkSteps are the rounds on limited links.
func linkSteps(o options) (steps []contest.Step) {
	for _, receivers := range []int{3, 7} {
		steps = append(steps, contest.Step{
			Name: fmt.Sprintf("%d receivers, %s links, 256 MiB", receivers, linkRate),
			Run:  func() ([]contest.Result, error) { return linkRounds(o, receivers) },
		})
	}
	return steps
}

// linkRounds takes one copy and each algorithm in turn.
func linkRounds(o options, receivers int) (rows []contest.Result, err error) {
	n, err := network.Up(network.Config{Racks: []int{receivers + 1}, Rate: linkRate})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	pairs := make([][]contest.Pair, len(algorithms))
	for range o.rounds {
		plain, err := plainCopy(n)
		if err != nil {
			return nil, err
		}
		for i, a := range algorithms {
			ours, err := onLinks(o.weft, n, a.name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", a.name, err)
			}
			pairs[i] = append(pairs[i], contest.Pair{Peer: plain, Ours: ours})
		}
	}
	for i, a := range algorithms {
		c := contest.Contest{What: fmt.Sprintf("%s to %d receivers, 200 Mbit/s links, 256 MiB", a.name, receivers),
			Peer: "one plain TCP copy", Unit: "s", Bound: a.bound, AtMost: a.bound > 0}
		rows = append(rows, c.Judge(pairs[i]))
	}
	return rows, nil
}
