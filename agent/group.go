package agent

import (
	"context"
	"slices"
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
	"github.com/weft-fabric/weft/rdmc/schedule"
)

// maxConnect is how long an agent waits for the other members of a group, whatever its pusher says.
const maxConnect = time.Minute

// group is one that this host is a member of.
type group struct {
	epoch   int
	streams []manifest.Layout
	state   groupState
	began   time.Time

	ctx    context.Context // ends with it
	cancel context.CancelFunc
}

// groupState is how far a group is: formed, then connected, then begun.
type groupState string

const (
	formed    groupState = "formed"
	connected groupState = "connected"
	begun     groupState = "begun"
)

// form makes this host's end of a group.
func (s *session) form(ctx context.Context, q *control.Form) (control.Formed, error) {
	_, leave, err := s.enter(ctx)
	if err != nil {
		return control.Formed{}, err
	}
	defer leave()
	streams, err := s.checkForm(q)
	if err != nil {
		return control.Formed{}, err
	}
	if err := s.hire(&q.Plan, streams); err != nil {
		return control.Formed{}, err
	}
	s.setForming(true)
	defer s.setForming(false)
	return s.formGroup(q, streams)
}

// formGroup makes this host's end of a group, with the crew that is there.
func (s *session) formGroup(q *control.Form, streams []manifest.Layout) (control.Formed, error) {
	g := &group{epoch: q.Epoch, streams: streams, state: formed}
	g.ctx, g.cancel = context.WithCancel(s.ctx)
	s.last = q.Epoch
	s.board.note(func(now *control.Status) { now.Epoch, now.GroupFailed = q.Epoch, nil }) // the answer tells the pusher
	answer, err := s.crew.Form(member.Group{Plan: q.Plan, Rank: q.Rank, Epoch: q.Epoch, Streams: streams, Blocks: timed{s.agent.config.Blocks(s.store), &s.store.tasks},
		Notify: func(e member.Event) { s.heard(g, e) }})
	if err != nil {
		g.cancel()
		return control.Formed{}, err
	}
	s.group.Store(g)
	return answer, nil
}

func (s *session) setForming(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forms = is
}

// checkForm says whether a group can be formed now, and what it is for.
func (s *session) checkForm(q *control.Form) ([]manifest.Layout, error) {
	switch g := s.group.Load(); {
	case g != nil:
		return nil, untimely("group %d has not been ended", g.epoch)
	case q.Epoch <= s.last:
		return nil, untimely("group %d comes after group %d", q.Epoch, s.last)
	case q.Rank < 1 || q.Rank >= len(q.Plan.Members):
		return nil, malformed("rank %d of %d members is no agent's", q.Rank, len(q.Plan.Members))
	case q.Plan.Plain && !s.agent.config.PlainAllowed:
		return nil, unfit("this agent takes no data that is not encrypted: push without --plain, or start it without --no-plain")
	case !slices.Contains(s.agent.ways, q.Plan.Way):
		return nil, unfit("this agent has no way %q for data; it has %q", q.Plan.Way, s.agent.ways)
	}
	return s.streamsOf(q)
}

// streamsOf is what a group sends.
func (s *session) streamsOf(q *control.Form) ([]manifest.Layout, error) {
	list, content := s.store.delivery.Manifest(), s.store.delivery.Content()
	switch {
	case q.Plan.Stream != manifest.ManifestStream && q.Plan.Stream != manifest.ContentStream:
		return nil, malformed("a group for stream %v", q.Plan.Stream)
	case !q.Plan.Finish:
		return []manifest.Layout{list, content}, nil
	case q.Plan.Stream == manifest.ManifestStream:
		return []manifest.Layout{list}, nil
	case !isExamined(s.board.read().Phase):
		return nil, untimely("the content cannot be finished: the manifest is not here yet, or what is on disk not examined")
	}
	return []manifest.Layout{content}, s.checkHave(q, content.Blocks())
}

func isExamined(p control.Phase) bool {
	return p == control.PhaseReady || p == control.PhaseReceiving || p == control.PhaseComplete
}

// checkHave has nobody count on blocks that this host does not have.
func (s *session) checkHave(q *control.Form, blocks int) error {
	if len(q.Plan.Have) != len(q.Plan.Members) {
		return malformed("%d sets of blocks for %d members", len(q.Plan.Have), len(q.Plan.Members))
	}
	if len(q.Plan.Have[q.Rank]) == 0 {
		return nil
	}
	said, err := schedule.ParseSet(q.Plan.Have[q.Rank], blocks)
	if err != nil {
		return notUnderstood(err)
	}
	held := s.store.has()
	for block := range said.All() {
		if !held.Has(block) {
			return untimely("block %d is not here, although the plan says so: ask what is here when the last group has ended", block)
		}
	}
	return nil
}

// leaveGroup has nobody wait for the group any more.
func (s *session) leaveGroup() {
	if g := s.group.Swap(nil); g != nil {
		g.cancel()
	}
}

// enterGroup is enter, for a call about a group that must be in a state.
func (s *session) enterGroup(ctx context.Context, epoch int, state groupState) (*group, context.Context, func(), error) {
	within, leave, err := s.enter(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	g := s.group.Load()
	if g == nil || g.epoch != epoch || g.state != state {
		leave()
		return nil, nil, nil, untimely("there is no group %d that is %s", epoch, state)
	}
	within, cancel := either(within, g.ctx)
	return g, within, func() { cancel(); leave() }, nil
}

// connect connects this end of a group with the others, and begins if that is all there is to wait for.
func (s *session) connect(ctx context.Context, q *control.Connect) (control.Empty, error) {
	g, ctx, leave, err := s.enterGroup(ctx, q.Epoch, formed)
	if err != nil {
		return control.Empty{}, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, maxConnect)
	defer cancel()
	if err := s.crew.Connect(ctx, q.Addresses); err != nil {
		return control.Empty{}, err
	}
	g.state = connected
	if !q.Begin {
		return control.Empty{}, nil
	}
	return control.Empty{}, s.beginGroup(ctx, g)
}

// begin lets messages come.
func (s *session) begin(ctx context.Context, q *control.Begin) (control.Empty, error) {
	g, ctx, leave, err := s.enterGroup(ctx, q.Epoch, connected)
	if err != nil {
		return control.Empty{}, err
	}
	defer leave()
	return control.Empty{}, s.beginGroup(ctx, g)
}

func (s *session) beginGroup(ctx context.Context, g *group) error {
	g.state = begun
	s.board.note(func(*control.Status) { g.began = time.Now() })
	return s.crew.Begin(ctx)
}

// endGroup leaves a group. What has come is written then. Who says it twice does no harm; and who waits for the group does so no longer.
func (s *session) endGroup(ctx context.Context, q *control.End) (control.Empty, error) {
	g := s.group.Load()
	if g == nil || g.epoch != q.Epoch {
		return control.Empty{}, nil
	}
	g.cancel() // who connects it stops doing so
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return control.Empty{}, err
	}
	defer leave()
	if s.group.Load() != g {
		return control.Empty{}, nil
	}
	s.leaveGroup()
	return control.Empty{}, s.crew.End(ctx)
}
