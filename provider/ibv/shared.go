package ibv

import (
	"fmt"

	"github.com/weft-fabric/weft/provider/ibv/native"
	"github.com/weft-fabric/weft/verbs/driver"
)

// sharedReceives is a pool of receives (InfiniBand: SRQ).
type sharedReceives struct {
	domain           *domain
	queue            *completionQueue
	native           *native.Shared
	slot, generation uint32

	posted []receive // by the sequence of the ident
	vacant []uint32  // places in posted
}

func newSharedReceives(d *domain, queue *completionQueue, config driver.SharedConfig) (*sharedReceives, error) {
	n, err := d.native.NewShared(config.Depth, config.MaxSpans)
	if err != nil {
		return nil, explainLimit(fmt.Errorf("shared receives of depth %d: %w", config.Depth, err))
	}
	s := &sharedReceives{domain: d, queue: queue, native: n, posted: make([]receive, config.Depth)}
	for i := range s.posted {
		s.vacant = append(s.vacant, uint32(i))
	}
	var ok bool
	if s.slot, s.generation, ok = queue.pools.take(s); !ok {
		_ = n.Close() // nothing was posted
		return nil, fmt.Errorf("a completion queue serves at most %d pools: %w", maxSlots, driver.ErrLimit)
	}
	return s, nil
}

// PostReceive hands a list over with one call.
func (s *sharedReceives) PostReceive(list []driver.Receive) (int, error) {
	if s.queue.device.lost.Load() {
		return 0, s.queue.device.errLost()
	}
	if len(list) > len(s.vacant) {
		return 0, fmt.Errorf("%d receives, %d have room: %w", len(list), len(s.vacant), driver.ErrLimit)
	}
	for i := range list {
		place := s.vacant[len(s.vacant)-1-i]
		s.posted[place].keep(&list[i])
		s.native.Receives[i].ID = uint64(makeIdent(identShared, s.slot, s.generation, place))
		s.native.Receives[i].Count = fillReceive(s.native.ReceiveSpans(i), &list[i])
	}
	n, err := s.native.PostReceives(len(list))
	s.vacant = s.vacant[:len(s.vacant)-n]
	return n, err
}

// settle books a receive of the pool and returns it. It is valid until the next one is posted.
func (s *sharedReceives) settle(place uint32) *receive {
	s.vacant = append(s.vacant, place)
	return &s.posted[place]
}

// Close drops what is posted, and what has arrived and was not polled.
func (s *sharedReceives) Close() error {
	s.queue.pools.leave(s.slot)
	return s.queue.device.forgive(s.native.Close())
}
