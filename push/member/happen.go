package member

import (
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/rdmc"
)

// This file is what happens to a session, on its loop, and how its owner is told.

// hasBegun is called when the group begins: what is to be finished is read ahead.
func (s *session) hasBegun() {
	close(s.begun)
	if s.Plan.Finish {
		s.store.lookAt(0, s.group.Plan(0))
	}
}

// incoming hears of a message before its blocks. One that nobody has announced ends the group.
func (s *session) incoming(m rdmc.Message) rdmc.Place {
	if m.Number >= uint64(len(s.Streams)) || m.Size != s.Streams[m.Number].WireSize() {
		err := fmt.Errorf("%w: message %d has %d bytes, which is none of %d streams", rdmc.ErrProtocol, m.Number, m.Size, len(s.Streams))
		s.fail(&rdmc.Failure{Rank: 0, Cause: err})
		_ = s.group.Close()
	}
	return rdmc.Place{}
}

// noteChecked hears that a block has passed.
func (s *session) noteChecked(stream int32) {
	if !s.first[stream] {
		s.first[stream] = true
		s.notify(Event{Kind: FirstBlock, Stream: int(stream)})
	}
}

// completed hears that rdmc is done with a message.
func (s *session) completed(d rdmc.Delivery) {
	s.done[d.Number] = true
	s.complete(int32(d.Number))
}

// complete tells that a stream is complete, if it is: others have got what they need, and all is kept.
func (s *session) complete(stream int32) {
	if s.done[stream] && !s.told[stream] && s.crew.hasAll(int(stream)) {
		s.told[stream] = true
		s.notify(Event{Kind: Completed, Stream: int(stream)})
	}
}

// failed hears that the group has ended.
func (s *session) failed(f *rdmc.Failure) { s.fail(f) }

// failOwn ends the group because this member cannot do its part. The others hear that it has left.
func (s *session) failOwn(what string, err error) {
	s.fail(&rdmc.Failure{Rank: s.Rank, Cause: fmt.Errorf("%s: %w", what, err)})
	_ = s.group.Close() // End hears of it again
}

// fail tells once why the group has ended.
func (s *session) fail(f *rdmc.Failure) {
	s.store.stopReading()
	if s.leaving || s.hasFailed.Swap(true) {
		return
	}
	s.failure = f.Cause
	s.notify(failedEvent(f))
	close(s.broken)
}

func failedEvent(f *rdmc.Failure) Event {
	rejected := errors.Is(f.Cause, rdmc.ErrRejected)
	return Event{Kind: Failed, Failed: &control.GroupFailed{Rank: f.Rank, Cause: f.Cause.Error(), Told: f.Told(), Rejected: rejected}, Err: f.Cause}
}

// noteReleased hears that rdmc has no memory of ours, for now.
func (s *session) noteReleased() {
	if s.leaving && !s.isFree {
		s.isFree = true
		close(s.free)
	}
}

// notify has runNotify tell something. There is room.
func (s *session) notify(e Event) {
	e.Epoch = s.Epoch
	s.notices <- e
}

// glance is how often runNotify looks whether there still is a loop.
const glance = 50 * time.Millisecond

// runNotify tells the owner what happens. End stops it.
func (s *session) runNotify() {
	defer s.notifier.Done()
	ticker := time.NewTicker(glance)
	defer ticker.Stop()
	for {
		select {
		case e := <-s.notices:
			s.Notify(e)
		case <-ticker.C:
			s.lookForLoop()
		case <-s.ending:
			return
		}
	}
}

// lookForLoop finds out when the loop has ended by itself: its device is gone.
func (s *session) lookForLoop() {
	err := s.loop.Err()
	if err == nil || s.isLost {
		return
	}
	s.isLost = true
	close(s.lost)
	if !s.hasFailed.Swap(true) {
		e := failedEvent(&rdmc.Failure{Rank: s.Rank, Cause: fmt.Errorf("%w: %w", rdmc.ErrDevice, err)})
		e.Epoch = s.Epoch
		s.Notify(e)
	}
}
