package main

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weft-fabric/weft/verbs"
)

// measureAllocations counts allocations from post to completion on both providers: the most that any operation makes.
func measureAllocations(int) ([]result, error) {
	onSoft, err := allocationsSoft()
	if err != nil {
		return nil, err
	}
	onSim, err := allocationsSim()
	return []result{
		{What: "allocations from post to completion, soft", Unit: "", Value: onSoft, AtMost: true},
		{What: "allocations from post to completion, sim", Unit: "", Value: onSim, AtMost: true},
	}, err
}

func allocationsSoft() (most float64, err error) {
	a, b, err := newSoftPair()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, a.close(), b.close()) }()
	return allocations(a, b, func(done func() bool) error {
		for !done() {
			for _, e := range []*end{a, b} {
				if _, err := e.loop.Turn(); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func allocationsSim() (most float64, err error) {
	c, err := newCluster(2, 1, 2, 16)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.connectAll(); err != nil {
		return 0, err
	}
	for _, e := range c.ends {
		if e.memory, err = e.domain.Alloc(1<<20, verbs.RemoteAll); err != nil {
			return 0, err
		}
	}
	// Pair 0 of the first node calls pair 1 of the second.
	a, b := c.ends[0], &end{queue: c.ends[1].queue, memory: c.ends[1].memory, port: c.ends[1].port,
		pairs: c.ends[1].pairs[1:]}
	return allocations(a, b, func(done func() bool) error {
		return c.fabric.RunUntil(done, c.fabric.Now().Add(time.Second))
	})
}

// allocations runs every operation from a to b, and returns the most allocations that one of them makes.
func allocations(a, b *end, until func(done func() bool) error) (most float64, err error) {
	from, to := a.memory.Span(0, 4096), b.memory.Remote(0, 1<<20)
	word, remoteWord := a.memory.Span(0, 8), to.Sub(0, 8)
	q := a.pairs[0]
	want := 0
	done := func() bool { return a.ended >= want }
	for _, stage := range []func() error{
		func() error { return q.Write(a.port.Tag(1), from, to, 0) },
		func() error { return q.Write(a.port.Tag(1), word, to, verbs.Inline) },
		func() error { return q.Read(a.port.Tag(1), from, to, 0) },
		func() error { return q.FetchAdd(a.port.Tag(1), word, remoteWord, 1, 0) },
		func() error { return q.CompareSwap(a.port.Tag(1), word, remoteWord, 1, 2, 0) },
		func() error { return errors.Join(receive(b), q.Send(a.port.Tag(1), from, 0)) },
		func() error { return errors.Join(receive(b), q.WriteImm(a.port.Tag(1), from, to, 7, 0)) },
	} {
		made := testing.AllocsPerRun(200, func() {
			want = a.ended + 1
			err = errors.Join(err, stage(), a.queue.Flush(), until(done))
		})
		most = max(most, made)
	}
	return most, errors.Join(err, a.failed)
}

func receive(b *end) error {
	if err := b.pairs[0].Receive(b.port.Tag(2), b.memory.Span(8192, 4096)); err != nil {
		return fmt.Errorf("receive: %w", err)
	}
	return b.queue.Flush()
}
