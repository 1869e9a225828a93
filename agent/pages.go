package agent

import (
	"context"

	"github.com/weft-fabric/weft/push/control"
)

// pages takes pages of the content, and compares what was found on the disk with them.
func (s *session) pages(ctx context.Context, q *control.Pages) (control.Empty, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return control.Empty{}, err
	}
	defer leave()
	all := s.store.delivery.Content().Pages()
	switch {
	case !isExamined(s.board.read().Phase):
		return control.Empty{}, untimely("pages can be compared when what is on disk was examined")
	case q.First < 0 || q.First > all || len(q.Pages) > all-q.First:
		return control.Empty{}, malformed("pages %d and %d more, and there are %d", q.First, len(q.Pages), all)
	}
	for i, header := range q.Pages {
		if ctx.Err() != nil {
			return control.Empty{}, context.Cause(ctx)
		}
		if err := s.store.takePage(q.First+i, header); err != nil {
			return control.Empty{}, err
		}
	}
	if !q.Last {
		return control.Empty{}, nil
	}
	return control.Empty{}, s.compared()
}

// compared is when all pages are here: now it is known what would be overwritten.
func (s *session) compared() error {
	defer s.store.tasks.begin().end()
	if err := s.store.delivery.Conflicts(); err != nil && !s.order.Verify {
		s.fail(err)
		return err
	}
	s.isCompared = true
	if s.store.isComplete() {
		s.board.tell(func(now *control.Status) { now.Phase = control.PhaseComplete })
	}
	return nil
}

// have says which blocks are here.
func (s *session) have(ctx context.Context, _ *control.HaveRequest) (control.Have, error) {
	_, leave, err := s.enter(ctx)
	if err != nil {
		return control.Have{}, err
	}
	defer leave()
	set, err := s.store.has().AppendBinary(nil)
	return control.Have{Set: set}, err
}
