package multicast

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/delivery"
	"github.com/weft-fabric/weft/bench/peers"
)

// What is sent on one host: to three receivers, several times in each sample.
const (
	hostMembers = 4
	repeats     = 5
	quickWays   = 12               // that are tried with Quick
	wayTime     = 30 * time.Second // for trying ways; who comes later was not fast elsewhere
	shortlist   = 4                // of ways that are tried again before one is chosen
	hostTime    = 100 * time.Second
	weftLimit   = 3 * time.Minute
)

// hostSteps are the contests between processes of one host.
func (b *bench) hostSteps() []planned {
	return []planned{
		b.hostStep("4 processes, shared memory, 256 MiB", "Open MPI in shared memory", "shm", peers.BcastsInSharedMemory()),
		b.hostStep("4 processes, loopback TCP, 256 MiB", "the best MPI over TCP", "tcp", peers.BcastsOverTCP()),
	}
}

// hostStep finds the fastest way of the peer, and then holds the contest.
func (b *bench) hostStep(what, peer, provider string, ways []peers.Bcast) planned {
	c := contest.Contest{What: what, Peer: peer, Unit: "ms", Bound: 1, AtMost: true}
	hold := func() (rows []contest.Result, err error) {
		if b.programs == nil {
			return nil, b.noMPI
		}
		if b.Quick {
			ways = ways[:quickWays]
		}
		best, err := b.fastest(ways)
		if err != nil {
			return nil, err
		}
		b.record.Note("%s: the fastest of the ways that were tried is %s", peer, best)
		c.Theirs = func() (float64, error) { return b.bcast(best, repeats) }
		c.Ours = func() (float64, error) { return b.onHost(provider, repeats) }
		b.pace.say(b.Said, "%s: %d pairs", what, b.Pairs)
		row, err := c.Hold(b.Pairs)
		return []contest.Result{row}, err
	}
	return planned{contest.Step{Name: what + ", " + peer, Run: hold}, hostTime}
}

// bcast is the median of several broadcasts by MPI, in milliseconds.
func (b *bench) bcast(way peers.Bcast, repeats int) (float64, error) {
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	seconds, err := b.programs.Times(b.ctx, way, hostMembers, messageBytes, repeats)
	if err != nil {
		return 0, err
	}
	return 1e3 * contest.Median(seconds), nil
}

// onHost is the median of several multicasts between processes of this host, in milliseconds.
func (b *bench) onHost(provider string, repeats int) (float64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(b.ctx, weftLimit)
	defer cancel()
	c := exec.CommandContext(ctx, self, "multicast", "--json", "--size", strconv.Itoa(messageBytes), "--repeat", strconv.Itoa(repeats),
		"--provider", provider, "--local", strconv.Itoa(hostMembers))
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := c.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return 0, fmt.Errorf("weft multicast: %w: %s", err, ended.Stderr)
	}
	if err != nil {
		return 0, err
	}
	s, err := delivery.ParseReport(said, provider)
	return 1e3 * s.Seconds, err
}

// tried is a way and how long it took.
type tried struct {
	way    peers.Bcast
	millis float64
}

// fastest tries ways for a while, and the fastest of them again. A way that this machine cannot go is left out.
func (b *bench) fastest(ways []peers.Bcast) (peers.Bcast, error) {
	try := func(ways []peers.Bcast, repeats int) (all []tried, failed error) {
		for began := time.Now(); len(ways) > 0 && time.Since(began) < wayTime; ways = ways[1:] {
			millis, err := b.bcast(ways[0], repeats)
			if err != nil {
				failed = err
				continue
			}
			all = append(all, tried{ways[0], millis})
			b.pace.say(b.Said, "%6.0f ms  %s", millis, ways[0])
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
