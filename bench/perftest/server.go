package perftest

import (
	"context"
	"fmt"
)

// Server answers a client.
type Server struct {
	Side
}

// Serve does what one client's plan says, and returns when the client is done. When ctx is done it ends at once, and
// closes its queue pairs, by which the client notices.
func (s *Server) Serve(ctx context.Context) error {
	sig := &signals{}
	ctx, end := watchContext(ctx, sig, 0)
	defer end()
	theirs, err := talk{s.Exchange}.round(ctx, "plan", s.limits(nil))
	if err != nil {
		return both(ctx.Err(), err)
	}
	plan, err := accept(theirs)
	if err != nil {
		_, failed := talk{s.Exchange}.round(ctx, "connect", note{Failed: text(err)})
		return both(err, failed)
	}
	plan.cut(s.limits(nil), theirs)
	e, err := s.join(ctx, plan, sig)
	if err != nil {
		return both(ctx.Err(), err)
	}
	err = s.runs(ctx, e, plan, sig)
	if err == nil {
		err = ctx.Err()
	}
	return both(err, e.close())
}

// accept looks at a plan, which came from a stranger.
func accept(theirs note) (*Plan, error) {
	if theirs.Plan == nil {
		return nil, fmt.Errorf("a client without a plan %w", ErrPlan)
	}
	return theirs.Plan, theirs.Plan.Validate()
}

func (s *Server) runs(ctx context.Context, e *end, plan *Plan, sig *signals) error {
	for i, run := range plan.Runs() {
		last, err := s.run(ctx, e, sig, i, run)
		if err != nil {
			return fmt.Errorf("%v: %w", run, err)
		}
		if last {
			break
		}
	}
	return nil
}

func (s *Server) run(ctx context.Context, e *end, sig *signals, index int, run Run) (last bool, err error) {
	for _, w := range e.workers {
		w.prepare(run, s.wait(e.plan, run), s.Served, sig)
	}
	err = prepareServer(e, index, run, sig)
	if _, told := (talk{s.Exchange}).round(ctx, "ready", note{Failed: text(err)}); err != nil || told != nil {
		return false, why(err, told)
	}
	before := processTime()
	err = s.each(e, sig, func(_ int, w *worker) error { return w.respond() })
	used := processTime() - before
	if ctx.Err() != nil {
		return false, ctx.Err() // the client may be in the middle of the run: it has no ear for a note
	}
	mine := note{Failed: text(err)}
	if err == nil {
		mine = inspect(e, index, run, sig)
	}
	mine.CPU = int64(used)
	theirs, failed := talk{s.Exchange}.round(ctx, "done", mine)
	return theirs.Last, why(err, failed)
}

// wait is how the server waits in a run. Who only lends memory sleeps, unless the NIC's work needs it.
func (s *Server) wait(plan *Plan, run Run) Wait {
	idle := run.Operation == Read || run.Operation.Atomic() || run.Operation == Write && run.Measure == Bandwidth
	if idle && !s.Served {
		return Sleeping
	}
	return plan.Wait
}
