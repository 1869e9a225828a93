package connect

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/verbs"
)

// EndConfig describes an End. The zero value is one queue pair without memory.
type EndConfig struct {
	Pairs   int               // queue pairs; 0: 1
	Queue   verbs.QueueConfig // of each queue pair; Completions and Shared are not used
	Memory  int               // bytes; 0: none
	Access  verbs.Access      // what peers may do with the memory, as far as Queue.Access lets them
	Waiting loop.Waiting      // how the loop waits
}

// End is what one thread of a program usually opens on a device: queue pairs that report to one completion queue, the
// loop that owns it, and memory. Its fields are the program's to use; Close closes them, children first.
type End struct {
	Domain      *verbs.Domain
	Completions *verbs.CompletionQueue
	Memory      *verbs.Memory // nil if EndConfig.Memory is 0
	Pairs       []*verbs.QueuePair
	Loop        *loop.Loop
	Verbs       *loop.Blocking
}

// OpenEnd opens an end on a device, which stays the caller's: one device may have many.
func OpenEnd(device *verbs.Device, config EndConfig) (*End, error) {
	if device == nil || config.Pairs < 0 || config.Memory < 0 {
		return nil, fmt.Errorf("open end: no device, or a negative number: %w", ErrArgument)
	}
	config.Pairs = max(1, config.Pairs)
	e := &End{}
	if err := e.open(device, &config); err != nil {
		return nil, errors.Join(fmt.Errorf("open end: %w", err), e.Close())
	}
	return e, nil
}

func (e *End) open(device *verbs.Device, config *EndConfig) (err error) {
	if e.Domain, err = device.NewDomain(); err != nil {
		return err
	}
	if e.Completions, err = device.NewCompletionQueue(config.room()); err != nil {
		return err
	}
	if config.Memory > 0 {
		if e.Memory, err = e.Domain.Alloc(config.Memory, config.Access); err != nil {
			return err
		}
	}
	if err := e.openPairs(config); err != nil {
		return err
	}
	if e.Loop, err = loop.New(loop.Config{Completions: e.Completions, Waiting: config.Waiting}); err != nil {
		return err
	}
	e.Verbs, err = loop.NewBlocking(e.Loop)
	return err
}

func (e *End) openPairs(config *EndConfig) error {
	config.Queue.Completions, config.Queue.Shared = e.Completions, nil
	for range config.Pairs {
		q, err := e.Domain.NewQueuePair(config.Queue)
		if err != nil {
			return err
		}
		e.Pairs = append(e.Pairs, q)
	}
	return nil
}

// room is how many completions the queue must hold: what the queue pairs reserve, and some for the memory's SetAccess.
func (c *EndConfig) room() int {
	const preset = 64 // what verbs takes for a depth of 0
	depth := func(n int) int {
		if n == 0 {
			return preset
		}
		return n
	}
	return c.Pairs*(depth(c.Queue.SendDepth)+depth(c.Queue.ReceiveDepth)+verbs.ControlRoom) + verbs.ControlRoom
}

// Join connects all queue pairs of the end with the peer's, and swaps the cards: see Session.Join.
func (e *End) Join(ctx context.Context, s *Session, card Card) (Card, error) {
	return s.Join(ctx, e.Verbs, e.Pairs, card)
}

// Close closes everything that OpenEnd opened. A second Close does nothing.
func (e *End) Close() error {
	var failed error
	if e.Loop != nil {
		failed = e.Loop.Close()
	}
	for _, q := range e.Pairs {
		failed = errors.Join(failed, q.Close())
	}
	if e.Memory != nil {
		failed = errors.Join(failed, e.Memory.Close())
	}
	if e.Completions != nil {
		failed = errors.Join(failed, e.Completions.Close())
	}
	if e.Domain != nil {
		failed = errors.Join(failed, e.Domain.Close())
	}
	return failed
}
