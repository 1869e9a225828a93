package member

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/verbs"
)

// connect connects with all peers.
func (s *session) connect(ctx context.Context, addresses control.Addresses) error {
	if err := s.do(ctx, func() error { return s.beginConnect(addresses) }); err != nil {
		return err
	}
	return s.await(ctx, s.ready)
}

// begin has the group do its work. That takes a turn of the loop, before which nothing can be sent. A group that fails meanwhile has begun,
// as one that fails a moment later.
func (s *session) begin(ctx context.Context) error {
	if err := s.do(ctx, func() error { s.group.Begin(); return nil }); err != nil {
		return err
	}
	err := s.await(ctx, s.begun)
	select {
	case <-s.broken:
		return nil
	default:
		return err
	}
}

// await waits for something that happens to the group, unless that ends before.
func (s *session) await(ctx context.Context, happened <-chan struct{}) error {
	select {
	case <-happened:
		return nil
	case <-s.broken:
		return s.failure
	case <-s.ending:
		return ErrEnded
	case <-s.lost:
		return s.loop.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *session) beginConnect(addresses control.Addresses) error {
	for _, peer := range s.group.Peers() {
		theirs := make([]verbs.Address, len(addresses[peer]))
		for i, address := range addresses[peer] {
			theirs[i] = verbs.Address(address)
		}
		if err := s.group.Connect(peer, theirs); err != nil {
			return err
		}
	}
	return nil
}

// send begins to send a stream.
func (s *session) send(stream int) error {
	if stream != s.sent || stream >= len(s.Streams) || s.Plan.Finish {
		return fmt.Errorf("send stream %d of %d, of which %d were sent: %w", stream, len(s.Streams), s.sent, ErrArgument)
	}
	m, err := s.group.Send(rdmc.Place{}, s.Streams[stream].WireSize())
	if err != nil {
		return err
	}
	s.sent++
	s.store.lookAt(stream, s.group.Plan(m.Number))
	return nil
}

// stats is what this group did.
func (s *session) stats() (stats Stats) {
	stats.Received, stats.Full = s.store.received, s.store.fullTime()
	for _, hop := range s.group.Hops(nil) {
		stats.Sent += hop.Bytes
		stats.Hops = append(stats.Hops, control.Hop{Rank: hop.Rank, Blocks: hop.Blocks, Bytes: hop.Bytes, Wire: int64(hop.Busy)})
	}
	return stats
}

// leave ends the group here.
func (s *session) leave() error {
	s.leaving = true
	s.store.stopReading()
	err := s.group.Close()
	if s.store.held == 0 {
		s.noteReleased()
	}
	return err
}

// end leaves the group, and returns when nothing touches memory any more and what has come is kept. What is left, linger frees.
func (s *session) end(ctx context.Context) error {
	err := s.do(context.WithoutCancel(ctx), s.leave)
	if err == nil {
		err = s.wait(context.WithoutCancel(ctx), s.free)
	}
	if lost := s.loop.Err(); lost != nil {
		err = s.shut() // there is nobody else who could
	}
	s.crew.drain(ctx)
	s.crew.stop()
	close(s.ending)
	s.notifier.Wait()
	return err
}

// shut frees everything without a word. The loop must not be needed any more.
func (s *session) shut() error {
	err := s.loop.Close()
	if s.loop.Err() != nil {
		err = nil // which was told as an event
	}
	s.group.Discard()
	return errors.Join(err, s.queue.Close())
}

// linger waits until last words were taken, for some seconds if a peer is gone, and frees what is left.
func (s *session) linger() error {
	ticker := time.NewTicker(glance)
	defer ticker.Stop()
	for s.loop.Err() == nil {
		select {
		case <-s.closed:
			return s.shut()
		case <-ticker.C:
		}
	}
	return s.shut()
}
