package agent

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/manifest"
	"github.com/weft-fabric/weft/push/target"
)

// session is a push at this host.
//
//	open ──▶ (form ─▶ connect ─▶ begin ─▶ end)* ──▶ finish ──▶ over ──▶ forgotten
//	  └──────────────── a failure, the lease, a stop ──────────▶ over ──▶ forgotten
//	  └──────────────── abort ──────────────────────────────────────────▶ forgotten
//
// One that is over has given back all that it had; what is left of it tells its pusher how it ended, until the lease ends.
type session struct {
	agent    *agent
	owner    keys.Identity
	order    target.Order
	key      ed25519.PublicKey // the push's own
	verifier *manifest.Verifier
	log      *slog.Logger
	lease    *lease
	board    *board
	store    *store

	ctx  context.Context // ends when the push is over here
	over context.CancelCauseFunc
	torn chan struct{} // closed when everything was given back
	gone context.Context
	quit context.CancelFunc // ends gone: nobody will ask any more

	work       chan struct{}         // has one element while somebody works with what follows
	last       int                   // epoch of the last group, or -1
	done       *control.Finished     // it was committed
	isCompared bool                  // what is on disk was, with all pages
	group      atomic.Pointer[group] // changed by who works only; nil: none is formed
	runs       sync.WaitGroup        // the examination

	mu    sync.Mutex // guards what follows; changed by who works only
	crew  crew       // nil: there was no group yet, or it was given up
	made  wish       // what crew was made for
	tally tally      // what former crews have done
	told  uint64     // bytes sent that metrics know of
	forms bool       // a group is being formed: hops are still those of the one before
}

// How a session ends well.
var (
	errFinished = errors.New("the push has finished")
	errAborted  = errors.New("the pusher has ended the push")
	errReopened = errors.New("the pusher has opened the push again")
)

// errLease is how one ends whose pusher is gone.
var errLease = &control.Trouble{Class: control.Unreachable, Text: "nothing was heard of the pusher for too long; what has arrived stays, a later push goes on from there"}

// fail ends the push here, for a reason that the pusher hears. Only the first counts.
func (s *session) fail(why error) {
	if s.hasEnded() {
		return
	}
	trouble := troubleOf(why)
	s.over(trouble)
	if !errors.Is(context.Cause(s.ctx), trouble) { // somebody else was first
		return
	}
	s.agent.counts.failed(trouble.Class)
	s.log.Warn("push has failed", "class", trouble.Class, "error", trouble.Text)
	s.board.tell(func(now *control.Status) { now.Phase, now.Error = control.PhaseFailed, trouble })
}

// hasEnded reports whether the push is over here.
func (s *session) hasEnded() bool { return s.ctx.Err() != nil }

// forget has nobody find the session any more, once it is over.
func (s *session) forget() {
	s.over(errAborted)
	s.quit()
}

// run lives as long as the session. The agent waits for it.
func (s *session) run() {
	defer s.agent.remove(s)
	if !s.lasts(s.ctx) {
		s.fail(errLease)
		s.quit()
	}
	s.tearDown()
	close(s.torn)
	s.lasts(s.gone)
}

// lasts waits until ctx ends, and reports whether it did before the lease.
func (s *session) lasts(ctx context.Context) bool {
	for {
		left := s.lease.left()
		if left == 0 {
			return false
		}
		timer := time.NewTimer(left)
		select {
		case <-ctx.Done():
			timer.Stop()
			return true
		case <-timer.C:
		}
	}
}

// tearDown gives everything back. The partial stays.
func (s *session) tearDown() {
	s.work <- struct{}{} // calls end with s.ctx
	defer func() { <-s.work }()
	if err := s.dismiss(); err != nil {
		s.log.Warn("the group was not left well", "error", err)
	}
	s.runs.Wait()
	if err := s.store.delivery.Keep(); err != nil && s.done == nil {
		s.log.Warn("what has arrived may be lost", "error", err)
	}
	s.store.forget(s.verifier)
	s.agent.giveBack(s.order.ID)
	s.log.Info("push is over", "why", context.Cause(s.ctx), "received", s.store.count().received)
}

// enter has a call work with the session, alone, and with a context that ends also when the push is over.
func (s *session) enter(ctx context.Context) (within context.Context, leave func(), err error) {
	select {
	case s.work <- struct{}{}:
	case <-s.ctx.Done():
		return nil, nil, s.isOver()
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	if s.hasEnded() {
		<-s.work
		return nil, nil, s.isOver()
	}
	within, cancel := either(ctx, s.ctx)
	return within, func() { cancel(); <-s.work }, nil
}

// isOver is what is said to a call that comes too late.
func (s *session) isOver() error {
	var trouble *control.Trouble
	if cause := context.Cause(s.ctx); !errors.As(cause, &trouble) {
		return untimely("push %v is over: %v", s.order.ID, cause)
	}
	return trouble
}

// either is a context that ends with the first of two.
func either(a, b context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(a)
	stop := context.AfterFunc(b, func() { cancel(context.Cause(b)) })
	return ctx, func() { stop(); cancel(nil) }
}

// abort ends a push because its pusher says so. One that is not there is no error: it is what was wanted.
func (a *agent) abort(ctx context.Context, caller keys.Identity, q *control.Abort) (control.Empty, error) {
	if a.disown(caller, q.ID) {
		return control.Empty{}, nil
	}
	s, err := a.find(caller, q.ID)
	if errors.Is(err, errNoPush) {
		return control.Empty{}, nil
	}
	if err != nil {
		return control.Empty{}, err
	}
	s.log.Info("pusher ends the push", "reason", q.Reason)
	s.forget()
	select {
	case <-s.torn:
		return control.Empty{}, nil
	case <-ctx.Done():
		return control.Empty{}, context.Cause(ctx)
	}
}
