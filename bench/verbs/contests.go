package main

import (
	"time"

	"github.com/weft-fabric/weft/bench/peers"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/soft"
)

// contests are the software NIC's lanes between processes, against what a program would take instead.
func contests(scale int) []contest {
	return append(sharedMemoryContests(scale), tcpContests(scale)...)
}

func sharedMemoryContests(scale int) []contest {
	rate := order{Lane: soft.SharedMemory, Near: "write in lists", Far: "be written to", Size: 8, Count: scale * 500_000,
		List: 32, Quiet: 64}.rate
	return []contest{
		{
			what: "shm lane, 8 B write ping-pong, both poll", peer: "UCX am_lat posix", unit: "µs", bound: 1.5, atMost: true,
			theirs: peers.UCX{Test: "am_lat", Transport: "posix", Size: 8, Count: scale * 100_000}.Latency,
			ours: order{Lane: soft.SharedMemory, Near: "ping by write", Far: "answer by write", Size: 8,
				Count: scale * 100_000}.halfTrip,
		},
		{
			what: "shm lane, 8 B write, post to completion, target stopped", peer: "in-process lane", unit: "µs", bound: 1.5,
			atMost: true,
			theirs: order{Lane: soft.InProcess, Near: "write one by one", Size: 8, Count: scale * 200_000}.timeAlone,
			ours: order{Lane: soft.SharedMemory, Near: "write one by one", Far: "be written to", Size: 8, Count: scale * 200_000,
				Stop: true}.time,
		},
		copyContest("shm lane, 1 MiB writes", 1<<20, scale*500),
		copyContest("shm lane, 64 MiB writes", 64<<20, scale*5),
		{
			what: "shm lane, 8 B writes, lists of 32, quiet 64", peer: "UCX am_bw posix", unit: "M/s", bound: 1,
			theirs: ucxRate("am_bw", scale*500_000), ours: rate,
		},
		{
			what: "shm lane, 8 B writes, lists of 32, quiet 64", peer: "UCX put_bw posix, a bare store", unit: "M/s",
			theirs: ucxRate("put_bw", scale*1_000_000), ours: rate,
		},
	}
}

func copyContest(what string, size, count int) contest {
	return contest{
		what: what, peer: "Go copy, memfd to memfd", unit: "GB/s", bound: 0.9,
		theirs: giga(func() (float64, error) { return peers.Copy(size, count) }),
		ours: order{Lane: soft.SharedMemory, Near: "write one by one", Far: "be written to", Size: size,
			Count: count}.bandwidth,
	}
}

func tcpContests(scale int) []contest {
	ping := order{Lane: soft.TCP, Near: "ping by immediate", Far: "answer by immediate", Size: 8}
	asleep, awake := ping, ping
	asleep.Count, asleep.Spin = scale*1_000, 0
	awake.Count, awake.Spin = scale*5_000, never
	return []contest{
		{
			what: "tcp lane, 1 MiB writes", peer: "Go net.Conn stream", unit: "GB/s", bound: 0.95,
			theirs: giga(func() (float64, error) { return peers.TCPStream(1<<20, scale*200) }),
			ours: order{Lane: soft.TCP, Near: "write in lists", Far: "be written to", Size: 1 << 20, Count: scale * 200,
				Depth: 8, List: 1, Quiet: 1, Spin: loop.DefaultSpin}.bandwidth,
		},
		{
			what: "tcp lane, 8 B WriteImm ping-pong, both sleep", peer: "Go net.Conn ping-pong", unit: "µs", bound: 1.25,
			atMost: true,
			theirs: func() (float64, error) { return peers.TCPPingPong(8, scale*1_000) },
			ours:   asleep.halfTrip,
		},
		{
			what: "tcp lane, 8 B WriteImm ping-pong, both poll", peer: "UCX tag_lat tcp", unit: "µs", bound: 1.2,
			atMost: true,
			theirs: peers.UCX{Test: "tag_lat", Transport: "tcp", Size: 8, Count: scale * 5_000}.Latency,
			ours:   awake.halfTrip,
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
