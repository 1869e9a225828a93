package main

import (
	"time"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/peers"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/soft"
)

// contests are the software NIC's lanes between processes, against what a program would take instead.
func contests(scale int) []contest.Contest {
	return append(sharedMemoryContests(scale), tcpContests(scale)...)
}

func sharedMemoryContests(scale int) []contest.Contest {
	rate := order{Lane: soft.SharedMemory, Near: "write in lists", Far: "be written to", Size: 8, Count: scale * 500_000,
		List: 32, Quiet: 64}.rate
	return []contest.Contest{
		{
			What: "shm lane, 8 B write ping-pong, both poll", Peer: "UCX am_lat posix", Unit: "µs", Bound: 1.5, AtMost: true,
			Theirs: peers.UCX{Test: "am_lat", Transport: "posix", Size: 8, Count: scale * 100_000}.Latency,
			Ours: order{Lane: soft.SharedMemory, Near: "ping by write", Far: "answer by write", Size: 8,
				Count: scale * 100_000}.halfTrip,
		},
		{
			What: "shm lane, 8 B write, post to completion, target stopped", Peer: "in-process lane", Unit: "µs", Bound: 1.5,
			AtMost: true,
			Theirs: order{Lane: soft.InProcess, Near: "write one by one", Size: 8, Count: scale * 200_000}.timeAlone,
			Ours: order{Lane: soft.SharedMemory, Near: "write one by one", Far: "be written to", Size: 8, Count: scale * 200_000,
				Stop: true}.time,
		},
		copyContest("shm lane, 1 MiB writes", 1<<20, scale*500),
		copyContest("shm lane, 64 MiB writes", 64<<20, scale*5),
		{
			What: "shm lane, 8 B writes, lists of 32, quiet 64", Peer: "UCX am_bw posix", Unit: "M/s", Bound: 1,
			Theirs: ucxRate("am_bw", scale*500_000), Ours: rate,
		},
		{
			What: "shm lane, 8 B writes, lists of 32, quiet 64", Peer: "UCX put_bw posix, a bare store", Unit: "M/s",
			Theirs: ucxRate("put_bw", scale*1_000_000), Ours: rate,
		},
	}
}

func copyContest(what string, size, count int) contest.Contest {
	return contest.Contest{
		What: what, Peer: "Go copy, memfd to memfd", Unit: "GB/s", Bound: 0.9,
		Theirs: giga(func() (float64, error) { return peers.Copy(size, count) }),
		Ours: order{Lane: soft.SharedMemory, Near: "write one by one", Far: "be written to", Size: size,
			Count: count}.bandwidth,
	}
}

func tcpContests(scale int) []contest.Contest {
	ping := order{Lane: soft.TCP, Near: "ping by immediate", Far: "answer by immediate", Size: 8}
	asleep, awake := ping, ping
	asleep.Count, asleep.Spin = scale*1_000, 0
	awake.Count, awake.Spin = scale*5_000, never
	return []contest.Contest{
		{
			What: "tcp lane, 1 MiB writes", Peer: "Go net.Conn stream", Unit: "GB/s", Bound: 0.95,
			Theirs: giga(func() (float64, error) { return peers.TCPStream(1<<20, scale*200) }),
			Ours: order{Lane: soft.TCP, Near: "write in lists", Far: "be written to", Size: 1 << 20, Count: scale * 200,
				Depth: 8, List: 1, Quiet: 1, Spin: loop.DefaultSpin}.bandwidth,
		},
		{
			What: "tcp lane, 8 B WriteImm ping-pong, both sleep", Peer: "Go net.Conn ping-pong", Unit: "µs", Bound: 1.25,
			AtMost: true,
			Theirs: func() (float64, error) { return peers.TCPPingPong(8, scale*1_000) },
			Ours:   asleep.halfTrip,
		},
		{
			What: "tcp lane, 8 B WriteImm ping-pong, both poll", Peer: "UCX tag_lat tcp", Unit: "µs", Bound: 1.2,
			AtMost: true,
			Theirs: peers.UCX{Test: "tag_lat", Transport: "tcp", Size: 8, Count: scale * 5_000}.Latency,
			Ours:   awake.halfTrip,
		},
	}
}

func ucxRate(test string, count int) func() (float64, error) {
	return func() (float64, error) {
		rate, err := peers.UCX{Test: test, Transport: "posix", Size: 8, Count: count}.Rate()
		return rate / 1e6, err
	}
}

func giga(f func() (float64, error)) func() (float64, error) {
	return func() (float64, error) {
		v, err := f()
		return v / 1e9, err
	}
}

// time is microseconds for one message.
func (o order) time() (float64, error) {
	near, _, err := run(o)
	return o.micros(near.Took), err
}

// timeAlone is time within one process.
func (o order) timeAlone() (float64, error) {
	found, err := runAlone(o)
	return o.micros(found.Took), err
}

// halfTrip is microseconds for one of the two ways of a message.
func (o order) halfTrip() (float64, error) {
	micros, err := o.time()
	return micros / 2, err
}

// rate is millions of messages a second.
func (o order) rate() (float64, error) {
	micros, err := o.time()
	return 1 / micros, err
}

// bandwidth is gigabytes a second.
func (o order) bandwidth() (float64, error) {
	micros, err := o.time()
	return float64(o.Size) / micros / 1e3, err
}

func (o order) micros(took time.Duration) float64 { return took.Seconds() * 1e6 / float64(o.Count) }
