package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/peers"
)

// What is sent on one host: to three receivers, several times in each sample.
const (
	messageBytes = 256 << 20
	hostMembers  = 4
	repeats      = 5
	quickWays    = 12 // that are tried with -quick
	shortlist    = 6  // of ways that are tried again before one is chosen
)

// hostSteps are the contests between processes of one host.
func hostSteps(o options, r *contest.Record) []contest.Step {
	return []contest.Step{
		hostStep(o, r, "4 processes, shared memory, 256 MiB", "Open MPI in shared memory", "shm", peers.BcastsInSharedMemory()),
		hostStep(o, r, "4 processes, loopback TCP, 256 MiB", "the best MPI over TCP", "tcp", peers.BcastsOverTCP()),
	}
}

// hostStep finds the fastest way of the peer, and then holds the contest.
func hostStep(o options, r *contest.Record, what, peer, provider string, ways []peers.Bcast) contest.Step {
	c := contest.Contest{What: what, Peer: peer, Unit: "ms", Bound: 1, AtMost: true}
	hold := func() (rows []contest.Result, err error) {
		mpi, err := peers.NewMPI()
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, mpi.Close()) }()
		if o.quick {
			ways = ways[:quickWays]
		}
		best, err := fastest(mpi, ways)
		if err != nil {
			return nil, err
		}
		r.Note("%s: the fastest of %d ways is %s", peer, len(ways), best)
		c.Theirs = func() (float64, error) { return bcast(mpi, best, repeats) }
		c.Ours = func() (float64, error) { return onHost(o.weft, provider, repeats) }
		row, err := c.Hold(o.pairs)
		return []contest.Result{row}, err
	}
	return contest.Step{Name: what + ", " + peer, Run: hold}
}

// bcast is the median of several broadcasts by MPI, in milliseconds.
func bcast(mpi *peers.MPI, way peers.Bcast, repeats int) (float64, error) {
	seconds, err := mpi.Times(way, hostMembers, messageBytes, repeats)
	if err != nil {
		return 0, err
	}
	return 1e3 * contest.Median(seconds), nil
}

// tried is a way and how long it took.
type tried struct {
	way    peers.Bcast
	millis float64
}

// fastest tries all ways, and the fastest of them again. A way that this machine cannot go is left out.
func fastest(mpi *peers.MPI, ways []peers.Bcast) (peers.Bcast, error) {
	try := func(ways []peers.Bcast, repeats int) (all []tried, failed error) {
		for _, way := range ways {
			if millis, err := bcast(mpi, way, repeats); err == nil {
				all = append(all, tried{way, millis})
				fmt.Fprintf(os.Stderr, "%6.0f ms  %s\n", millis, way)
			} else {
				failed = err
			}
		}
		slices.SortStableFunc(all, func(a, b tried) int { return int(1e3*a.millis) - int(1e3*b.millis) })
		return all, failed
	}
	all, err := try(ways, 1)
	var again []peers.Bcast
	for _, t := range all[:min(shortlist, len(all))] {
		again = append(again, t.way)
	}
	if all, _ = try(again, repeats); len(all) == 0 {
		return peers.Bcast{}, fmt.Errorf("no way of MPI works: %w", err)
	}
	return all[0].way, nil
}
