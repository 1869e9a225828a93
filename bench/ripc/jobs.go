package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/weft-fabric/weft/ripc"
)

// call calls, and calls again when the answer is there.
func (s *nodeSide) call() (outcome, error) {
	ctx, to, request := context.Background(), ripc.Name(target), bytes.Repeat([]byte{1}, s.order.Size)
	return s.order.timed(func(n int) error {
		for range n {
			m, err := s.node.Call(ctx, to, request)
			if err != nil {
				return err
			}
			if !bytes.Equal(m.Bytes(), request) {
				return fmt.Errorf("the answer is %q", m.Bytes())
			}
			m.Release()
		}
		return nil
	})
}

// answer answers calls with what they say.
func (s *nodeSide) answer() (outcome, error) {
	return outcome{}, s.receive(func(ctx context.Context, m *ripc.Message) error { return m.Answer(ctx, m.Bytes()) })
}

// receive has as many messages handled as are timed, and those before them.
func (s *nodeSide) receive(handle ripc.Handler) error {
	ctx := context.Background()
	for range s.order.Warm + s.order.Count {
		m, err := s.service.Receive(ctx)
		if err != nil {
			return err
		}
		if err := handle(ctx, m); err != nil {
			return err
		}
		m.Release()
	}
	return nil
}

// lend sends long messages, each when the one before was read.
func (s *nodeSide) lend() (outcome, error) {
	b, err := s.node.Alloc(s.order.Size)
	if err != nil {
		return outcome{}, err
	}
	defer b.Release()
	fill(b.Bytes())
	ctx, request := context.Background(), ripc.Request{To: ripc.Name(target), Lend: []*ripc.Buffer{b}}
	return s.order.timed(func(n int) error {
		for range n {
			m, err := s.node.Do(ctx, request)
			if err != nil {
				return err
			}
			m.Release()
		}
		return nil
	})
}

// pull reads long messages, all into the same buffer, and looks in the end whether they have arrived.
func (s *nodeSide) pull() (outcome, error) {
	into, err := s.node.Alloc(s.order.Size)
	if err != nil {
		return outcome{}, err
	}
	defer into.Release()
	clear(into.Bytes()) // so that every page is there
	err = s.receive(func(ctx context.Context, m *ripc.Message) error {
		if err := m.PullInto(ctx, into); err != nil {
			return err
		}
		return m.Answer(ctx)
	})
	if err != nil {
		return outcome{}, err
	}
	return outcome{}, check(into.Bytes())
}
