package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/ripc"
)

const (
	senders   = 16                     // goroutines that send at a time
	slowEvery = 100                    // so many messages the receiver stops for a moment
	slowness  = 500 * time.Microsecond // long enough that every sender waits
)

// load sends numbered messages as fast as they are taken, from many goroutines, and then asks how many have come.
func (s *nodeSide) load() (outcome, error) {
	ctx, to := context.Background(), ripc.Name(target)
	ended := make(chan error)
	start := time.Now()
	for first := range senders {
		go func() { ended <- s.sendNumbers(ctx, to, first) }()
	}
	var failed error
	for range senders {
		failed = errors.Join(failed, <-ended)
	}
	if failed != nil {
		return outcome{}, failed
	}
	m, err := s.node.Call(ctx, to)
	if err != nil {
		return outcome{}, err
	}
	defer m.Release()
	if len(m.Bytes()) != 8 {
		return outcome{}, fmt.Errorf("the answer has %d bytes", len(m.Bytes()))
	}
	come := int(binary.BigEndian.Uint64(m.Bytes()))
	return outcome{Took: time.Since(start), Lost: s.order.Count - come}, nil
}

// sendNumbers sends every so many of the numbers below Count.
func (s *nodeSide) sendNumbers(ctx context.Context, to ripc.ID, first int) error {
	for i := first; i < s.order.Count; i += senders {
		if err := s.node.Send(ctx, to, binary.BigEndian.AppendUint64(nil, uint64(i))); err != nil {
			return err
		}
	}
	return nil
}

// receiveSlowly counts the different numbers that come, until it is asked for them: everything that was sent before the
// question comes before it.
func (s *nodeSide) receiveSlowly() (outcome, error) {
	seen := make(map[uint64]bool)
	for m, err := range s.service.Messages(context.Background()) {
		if err != nil {
			return outcome{}, err
		}
		if m.IsCall() {
			err := m.Answer(context.Background(), binary.BigEndian.AppendUint64(nil, uint64(len(seen))))
			m.Release()
			return outcome{}, err
		}
		if seen[binary.BigEndian.Uint64(m.Bytes())] = true; len(seen)%slowEvery == 0 {
			time.Sleep(slowness)
		}
		m.Release()
	}
	return outcome{}, nil
}
