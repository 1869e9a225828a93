package main

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
	"github.com/weft-fabric/weft/verbs/driver"
)

// end is one node of a benchmark: a device with everything that stands on it.
type end struct {
	device *verbs.Device
	domain *verbs.Domain
	queue  *verbs.CompletionQueue
	loop   *loop.Loop
	memory *verbs.Memory
	pairs  []*verbs.QueuePair
	failed error // the first completion that did not end OK
	port   loop.Port
	onEnd  func(c *verbs.Completion) // nil: completions only count
	ended  int
}

// Step implements loop.Machine.
func (e *end) Step(c *verbs.Completion) {
	e.ended++
	if err := verbs.CompletionError(c); err != nil && e.failed == nil {
		e.failed = err
	}
	if e.onEnd != nil && c.Op != verbs.OpConnect {
		e.onEnd(c)
	}
}

func newEnd(provider driver.Device, pairs, depth int) (e *end, err error) {
	e = &end{}
	if e.device, err = verbs.Open(provider); err != nil {
		return nil, err
	}
	if e.domain, err = e.device.NewDomain(); err != nil {
		return nil, err
	}
	if e.queue, err = e.device.NewCompletionQueue(pairs*(2*depth+verbs.ControlRoom) + 1); err != nil {
		return nil, err
	}
	if e.loop, err = loop.New(loop.Config{Completions: e.queue}); err != nil {
		return nil, err
	}
	if e.port, err = e.loop.Add(e); err != nil {
		return nil, err
	}
	for range pairs {
		q, err := e.domain.NewQueuePair(verbs.QueueConfig{Completions: e.queue, SendDepth: depth, ReceiveDepth: depth,
			Access: verbs.RemoteAll})
		if err != nil {
			return nil, err
		}
		e.pairs = append(e.pairs, q)
	}
	return e, nil
}

// connect connects a queue pair of one end with one of another. The loops must turn for it to complete.
func connect(a, b *end, i, j int) error {
	return errors.Join(a.pairs[i].Connect(a.port.Tag(0), b.pairs[j].Address()),
		b.pairs[j].Connect(b.port.Tag(0), a.pairs[i].Address()))
}

func (e *end) close() error {
	failed := e.loop.Close()
	for _, q := range e.pairs {
		failed = errors.Join(failed, q.Close())
	}
	if e.memory != nil {
		failed = errors.Join(failed, e.memory.Close())
	}
	return errors.Join(failed, e.queue.Close(), e.domain.Close(), e.device.Close())
}

// newSoftPair makes two connected ends on the in-process lane.
func newSoftPair() (a, b *end, err error) {
	var ends [2]*end
	for i := range ends {
		provider, err := soft.New(soft.Config{})
		if err != nil {
			return nil, nil, err
		}
		if ends[i], err = newEnd(provider, 1, 128); err != nil {
			return nil, nil, err
		}
		if ends[i].memory, err = ends[i].domain.Alloc(8<<20, verbs.RemoteAll); err != nil {
			return nil, nil, err
		}
		for j := range ends[i].memory.Bytes() { // pages of its own, not all the one page of zeros
			ends[i].memory.Bytes()[j] = byte(j)
		}
	}
	a, b = ends[0], ends[1]
	if err := connect(a, b, 0, 0); err != nil {
		return nil, nil, err
	}
	for _, e := range ends {
		for e.ended == 0 {
			if _, err := e.loop.Turn(); err != nil {
				return nil, nil, err
			}
		}
		if e.failed != nil {
			return nil, nil, fmt.Errorf("connect: %w", e.failed)
		}
	}
	return a, b, nil
}
