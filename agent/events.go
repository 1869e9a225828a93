package agent

import (
	"time"

	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/member"
)

// heard is told what happens in a group, one thing at a time.
func (s *session) heard(g *group, e member.Event) {
	if g.epoch != s.board.read().Epoch || s.hasEnded() {
		return // there is another group by now
	}
	switch e.Kind {
	case member.FirstBlock:
		s.heardFirst(g, e.Stream)
	case member.Completed:
		s.heardCompleted(g, e.Stream)
	case member.Failed:
		s.log.Info("group has ended", "epoch", g.epoch, "rank", e.Failed.Rank, "cause", e.Failed.Cause)
		s.board.tell(func(now *control.Status) { now.GroupFailed = e.Failed })
	}
}

// heardFirst: the first block of a stream has come.
func (s *session) heardFirst(g *group, stream int) {
	if g.streams[stream].Stream != manifest.ContentStream {
		return
	}
	s.board.tell(func(now *control.Status) {
		now.Phase = control.PhaseReceiving
		now.FirstByte = max(1, int64(time.Since(g.began)))
	})
}

// heardCompleted: all of a stream is here.
func (s *session) heardCompleted(g *group, stream int) {
	switch {
	case g.streams[stream].Stream == manifest.ManifestStream:
		if s.store.seal() { // a manifest that came once more is not examined again
			s.runs.Go(s.runExamination)
		}
	case s.store.isComplete():
		s.board.tell(func(now *control.Status) { now.Phase = control.PhaseComplete })
	default:
		s.fail(corrupt("the group says that all blocks are here, and %d of %d are", s.store.count().have, s.store.held.Len()))
	}
}

// runExamination looks what of a push is here already, once its manifest is. The session waits for it.
func (s *session) runExamination() {
	task := s.store.tasks.begin()
	defer task.end()
	if err := s.store.delivery.ManifestDone(s.ctx, func(n uint64) { task.goOn(); s.looked(n) }); err != nil {
		s.fail(err)
		return
	}
	s.board.note(func(now *control.Status) { now.Phase = control.PhaseExamining }) // where that takes long, the pusher looks meanwhile
	n, err := s.store.delivery.Examine(s.ctx, func(done, total uint64) { task.goOn(); s.examined(done, total) })
	if err != nil {
		s.fail(err)
		return
	}
	s.board.tell(func(now *control.Status) { now.Phase, now.Candidates = control.PhaseReady, n })
}

// looked notes that the first look, at names and sizes, goes on.
func (s *session) looked(n uint64) {
	s.board.note(func(now *control.Status) { now.Looked = n })
}

// examined notes how far that is.
func (s *session) examined(done, total uint64) {
	s.board.note(func(now *control.Status) { now.Examined, now.ToExamine = done, total })
}
