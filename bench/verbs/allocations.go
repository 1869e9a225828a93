package main

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
)

// measureAllocations counts allocations from post to completion, on every provider and lane: the most that any operation
// makes, on either side.
func measureAllocations(int) (results []contest.Result, err error) {
	for _, m := range []struct {
		where   string
		measure func() (float64, error)
	}{
		{"in-process lane", allocationsSoft},
		{"shm lane", func() (float64, error) { return allocationsBetween(soft.SharedMemory) }},
		{"tcp lane", func() (float64, error) { return allocationsBetween(soft.TCP) }},
		{"sim", allocationsSim},
	} {
		r := contest.Result{What: m.where + ", allocations from post to completion", AtMost: true}
		if r.Value, err = m.measure(); err != nil {
			r.Failed = err.Error()
		}
		results = append(results, r)
	}
	return results, nil
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

// operation is one kind of work from post to completion.
type operation struct {
	stage    func() error
	receives bool // it takes a receive at the peer
}

// operations are all kinds, from the beginning of e's memory to the peer's.
func operations(e *end, tag verbs.Tag, to verbs.RemoteSpan) []operation {
	from, word, at, q := e.memory.Span(0, 4096), e.memory.Span(0, 8), to.Sub(0, 8), e.pairs[0]
	return []operation{
		{func() error { return q.Write(tag, from, to, 0) }, false},
		{func() error { return q.Write(tag, word, to, verbs.Inline) }, false},
		{func() error { return q.Read(tag, from, to, 0) }, false},
		{func() error { return q.FetchAdd(tag, word, at, 1, 0) }, false},
		{func() error { return q.CompareSwap(tag, word, at, 1, 2, 0) }, false},
		{func() error { return q.Send(tag, from, 0) }, true},
		{func() error { return q.WriteImm(tag, from, to, 7, 0) }, true},
	}
}

// allocations runs every operation from a to b, and returns the most allocations that one of them makes.
func allocations(a, b *end, until func(done func() bool) error) (most float64, err error) {
	want := 0
	done := func() bool { return a.ended >= want }
	for _, o := range operations(a, a.port.Tag(1), b.memory.Remote(0, 1<<20)) {
		made := testing.AllocsPerRun(200, func() {
			want = a.ended + 1
			if o.receives {
				err = errors.Join(err, receive(b))
			}
			err = errors.Join(err, o.stage(), a.queue.Flush(), until(done))
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

// allocationsBetween counts between two processes. Whatever else a runtime allocates now and then is far below one in a
// hundred operations.
func allocationsBetween(lane soft.Lanes) (float64, error) {
	near, far, err := run(order{Lane: lane, Near: "allocations", Far: "be there", Count: 5000, Size: 4096})
	return math.Round(100*max(near.Allocations, far.Allocations)) / 100, err
}

// nearAllocations runs every operation, once to warm up and once to count.
func nearAllocations(s *side) (found outcome, err error) {
	to := s.peer.Sub(data, 4096)
	if _, err := s.allocations(operations(s.end, 1, to), s.order.Warm); err != nil {
		return found, err
	}
	if err := s.tell(immMark); err != nil {
		return found, err
	}
	found.Allocations, err = s.allocations(operations(s.end, 1, to), s.order.Count)
	return found, s.goodbye(err)
}

func (s *side) allocations(all []operation, n int) (most float64, err error) {
	for _, o := range all {
		before := mallocs()
		for range n {
			if err := errors.Join(o.stage(), s.queue.Flush(), s.ends(1, s.order.Spin)); err != nil {
				return 0, err
			}
		}
		most = max(most, float64(mallocs()-before)/float64(n))
	}
	return most, nil
}
