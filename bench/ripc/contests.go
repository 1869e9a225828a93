package main

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/peers"
	"github.com/weft-fabric/weft/provider/soft"
)

// short is how many bytes a short message carries.
const short = 8

// contests are what is measured against somebody else.
func contests(scale int) []contest.Contest {
	return slices.Concat(sharedMemoryContests(scale), tcpContests(scale), webContests(scale))
}

// webContests are of an unmodified net/http, over connections of ripc's and over those of the kernel.
func webContests(scale int) (all []contest.Contest) {
	for _, lane := range []struct {
		what  string
		lane  soft.Lanes
		bound float64
	}{{"shm", soft.SharedMemory, 1}, {"tcp", soft.TCP, 0.9}} {
		for _, get := range []struct {
			what        string
			size, count int
		}{{"1 KiB", 1 << 10, scale * 500}, {"1 MiB", 1 << 20, scale * 20}, {"64 MiB", 64 << 20, max(2, scale/2)}} {
			ours := order{Lane: lane.lane, Job: "get", Size: get.size, Count: get.count}
			theirs := ours
			theirs.Kernel = true
			all = append(all, contest.Contest{What: fmt.Sprintf("%s, net/http, GET %s", lane.what, get.what), Peer: "net/http on loopback TCP",
				Unit: "GET/s", Bound: lane.bound, Theirs: theirs.perSecond, Ours: ours.perSecond})
		}
	}
	return all
}

func sharedMemoryContests(scale int) []contest.Contest {
	const large = 64 << 20
	inline := order{Lane: soft.SharedMemory, Inline: true, Poll: true, Job: "call", Size: short, Count: scale * 20_000}
	awake := order{Lane: soft.SharedMemory, Poll: true, Job: "call", Size: short, Count: scale * 10_000}
	asleep := order{Lane: soft.SharedMemory, Job: "call", Size: short, Count: scale * 1_000}
	const ucp = "UCX ucp_am_lat, shared memory"
	return []contest.Contest{
		{What: "shm, short call, inline, both poll", Peer: ucp, Unit: "µs", Bound: 2, AtMost: true, Why: "most of it is code: in runs whose cores share a cache UCX takes 0.4 µs, in others both take longer (ADR 24, ADR 27)",
			Theirs: ucxRoundTrip("ucp_am_lat", "shm", scale), Ours: inline.micros},
		{What: "shm, short call, inline, both poll", Peer: "UCX am_lat posix, the layer below", Unit: "µs",
			Theirs: ucxRoundTrip("am_lat", "posix", scale), Ours: inline.micros},
		{What: "shm, short call, nodes, both poll", Peer: ucp, Unit: "µs", Theirs: ucxRoundTrip("ucp_am_lat", "shm", scale), Ours: awake.micros},
		{What: "shm, short call, nodes, both sleep", Peer: "Unix socket ping-pong in Go", Unit: "µs", Bound: 1.2, AtMost: true,
			Theirs: func() (float64, error) { return peers.PingPong("unix", short, asleep.Count) }, Ours: asleep.micros},
		{What: "shm, 64 MiB lent and read", Peer: "Go copy, memfd to memfd", Unit: "GB/s", Bound: 0.85,
			Theirs: func() (float64, error) {
				rate, err := peers.Copy(large, scale*5)
				return rate / 1e9, err
			},
			Ours: order{Lane: soft.SharedMemory, Job: "lend", Size: large, Count: scale * 5}.bandwidth},
	}
}

func tcpContests(scale int) []contest.Contest {
	asleep := order{Lane: soft.TCP, Job: "call", Size: short, Count: scale * 1_000}
	return []contest.Contest{
		{What: "tcp, short call, nodes, both sleep", Peer: "TCP ping-pong in Go", Unit: "µs", Bound: 1.3, AtMost: true,
			Theirs: func() (float64, error) { return peers.PingPong("tcp", short, asleep.Count) }, Ours: asleep.micros},
	}
}

// ucxRoundTrip measures active messages of UCX there and back, in microseconds.
func ucxRoundTrip(test, transport string, scale int) func() (float64, error) {
	return func() (float64, error) {
		half, err := peers.UCX{Test: test, Transport: transport, Size: short, Count: scale * 50_000}.Latency()
		return 2 * half, err
	}
}
