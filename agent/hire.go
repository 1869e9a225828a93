package agent

import (
	"context"
	"errors"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
)

// maxEnd is how long it may take to write what has come of a group that nobody ends.
const maxEnd = 10 * time.Second

// hire has a crew that is fit for a plan.
func (s *session) hire(plan *control.Plan, streams []manifest.Layout) error {
	want := wish{way: plan.Way, plain: plan.Plain, rate: plan.Rate, memory: memoryFor(*plan, streams)}
	if s.crew != nil && s.made.fits(want) {
		return nil
	}
	if err := s.dismiss(); err != nil {
		return err
	}
	if err := s.takeMemory(&want, *plan, streams); err != nil {
		return err
	}
	hired, err := s.agent.enlist(s.order.ID, want)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crew, s.made = hired, want
	return nil
}

// takeMemory takes what a crew needs and, if there is as much, what it would need to finish what this group may leave undone: it is made
// once.
func (s *session) takeMemory(want *wish, plan control.Plan, streams []manifest.Layout) error {
	plan.Finish = true
	more := max(want.memory, memoryFor(plan, streams))
	err := s.agent.blocks.take(s.order.ID, s.order.Owner, more)
	if err == nil {
		want.memory = more
		return nil
	}
	return s.agent.blocks.take(s.order.ID, s.order.Owner, want.memory)
}

// memoryFor is how much memory for blocks a plan needs.
func memoryFor(plan control.Plan, streams []manifest.Layout) (bytes int) {
	for _, l := range streams {
		bytes = max(bytes, member.MemoryNeeded(plan, l))
	}
	return bytes
}

// dismiss gives the crew up, and its group with it.
func (s *session) dismiss() error {
	failed := s.quitGroup()
	if s.crew == nil {
		return failed
	}
	s.mu.Lock()
	former := s.crew
	s.tally, s.crew = s.tallied(), nil
	s.mu.Unlock()
	return errors.Join(failed, former.Close())
}

// quitGroup leaves the group, if there is one. What has come is written.
func (s *session) quitGroup() error {
	if s.group.Load() == nil {
		return nil
	}
	s.leaveGroup()
	ctx, cancel := context.WithTimeout(context.Background(), maxEnd)
	defer cancel()
	return s.crew.End(ctx)
}
