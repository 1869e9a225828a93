package member

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/rdmc"
	"github.com/weft-fabric/weft/rdmc/schedule"
	"github.com/weft-fabric/weft/verbs"
)

// session is one group of a member, with a loop of its own.
type session struct {
	Group
	queue *verbs.CompletionQueue
	loop  *loop.Loop
	group *rdmc.Group
	store *store
	crew  *crew
	offer control.Formed
	take  func() // store.takeResults: made once, not for each block

	notices   chan Event    // has room for all that there can be
	ending    chan struct{} // closed by End
	lost      chan struct{} // closed when the loop has ended by itself
	free      chan struct{} // closed when rdmc has no memory of ours any more, after leave
	ready     chan struct{} // closed when it is connected
	begun     chan struct{} // closed when it does its work
	broken    chan struct{} // closed when it has failed
	closed    chan struct{} // closed when rdmc has freed everything
	notifier  sync.WaitGroup
	hasFailed atomic.Bool // the owner was told
	isLost    bool        // lost is closed; runNotify's

	// These belong to the loop.
	failure error
	leaving bool
	isFree  bool
	first   []bool // by stream: a block was checked
	done    []bool // by stream: rdmc is done with it
	told    []bool // by stream: it is complete
	sent    int    // streams
}

// newSession makes this member's end of a group, and starts all that it needs.
func (m *Member) newSession(g Group) (*session, error) {
	config, err := g.config()
	if err != nil {
		return nil, err
	}
	s := &session{Group: g, ready: make(chan struct{}), begun: make(chan struct{}), broken: make(chan struct{}), closed: make(chan struct{}), ending: make(chan struct{}),
		lost: make(chan struct{}), free: make(chan struct{}), notices: make(chan Event, 2*len(g.Streams)+1)}
	s.first, s.done, s.told = make([]bool, len(g.Streams)), make([]bool, len(g.Streams)), make([]bool, len(g.Streams))
	if err := s.furnish(m, &config); err != nil {
		return nil, err
	}
	if err := s.open(m, config); err != nil {
		return nil, err
	}
	s.crew.start()
	s.notifier.Add(1)
	go s.runNotify()
	return s, nil
}

// furnish makes the store and its crew.
func (s *session) furnish(m *Member, config *rdmc.Config) error {
	caches := s.Rank == 0 || config.Reload || s.Plan.Finish
	p := newPool(m.memory, s.Streams[0], caches)
	if need := least(*config, s.Streams[0]); len(p.slots) < need {
		return fmt.Errorf("%w: %d bytes hold %d blocks of %d, and it takes %d", ErrMemory, m.memory.Len(), len(p.slots), p.stride, need)
	}
	s.crew = newCrew(&s.Group, p, s.report)
	for _, l := range s.Streams {
		have := schedule.NewSet(l.Blocks())
		switch {
		case s.Rank == 0:
			have = schedule.FullSet(l.Blocks())
		case s.Plan.Finish:
			have = config.Unfinished[0].Have[s.Rank].Clone()
		}
		s.crew.kept, s.crew.count = append(s.crew.kept, have), append(s.crew.count, have.Count())
	}
	s.store = &store{pool: p, crew: s.crew, isRoot: s.Rank == 0, caches: caches, checked: s.noteChecked, kept: s.complete, failed: s.failOwn,
		released: s.noteReleased, reader: newReader(&s.Group, config)}
	s.take = s.store.takeResults
	if s.Rank > 0 {
		s.store.room = rdmc.StoreRoom(*config)
	}
	return nil
}

// open makes the loop and the group, and starts the loop.
func (s *session) open(m *Member, config rdmc.Config) (err error) {
	config.Store, config.Connected, config.Ready = s.store, func() { close(s.ready) }, s.hasBegun
	config.Incoming, config.Completed, config.Failed, config.Closed = s.incoming, s.completed, s.failed, func() { close(s.closed) }
	room, err := completionRoom(config, m.config.Device.Limits())
	if err != nil {
		return err
	}
	if s.queue, err = m.config.Device.NewCompletionQueue(room); err != nil {
		return err
	}
	if s.loop, err = loop.New(loop.Config{Completions: s.queue}); err != nil {
		return errors.Join(err, s.queue.Close())
	}
	s.store.loop = s.loop
	if s.group, err = rdmc.New(s.loop, m.domain, config); err != nil {
		return errors.Join(err, s.loop.Close(), s.queue.Close())
	}
	s.store.group, s.offer = s.group, s.formed()
	if err = s.loop.Start(); err != nil {
		return errors.Join(err, s.shut())
	}
	return nil
}

// mostRoom is up to where a completion queue is made for connections with everybody, because to find out with whom exactly takes as long as
// to plan a repair.
const mostRoom = 1 << 16

func completionRoom(config rdmc.Config, limits verbs.Limits) (int, error) {
	everybody := config
	everybody.Self, everybody.Algorithm, everybody.Racks, everybody.Unfinished = 0, schedule.Sequential, nil, nil
	room, err := rdmc.CompletionRoom(everybody)
	if err != nil || room <= min(mostRoom, limits.MaxCompletion) {
		return room, err
	}
	return rdmc.CompletionRoom(config)
}

// report has the loop take what the crew has done. If there is no loop any more, runNotify finds out.
func (s *session) report() { _ = s.loop.Do(s.take) }

// do has f run on the loop, and waits for it.
func (s *session) do(ctx context.Context, f func() error) error {
	var result error
	done := make(chan struct{})
	if err := s.loop.Do(func() { result = f(); close(done) }); err != nil {
		return err
	}
	if err := s.wait(ctx, done); err != nil {
		return err
	}
	return result
}

// wait waits until something is done on the loop.
func (s *session) wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.lost:
		return s.loop.Err()
	}
}

// formed is what the others need to know of this end.
func (s *session) formed() control.Formed {
	f := control.Formed{Description: s.group.Description(), Addresses: control.Addresses{}}
	for _, peer := range s.group.Peers() {
		for _, address := range s.group.Addresses(peer) {
			f.Addresses[peer] = append(f.Addresses[peer], control.Address(address))
		}
	}
	return f
}
