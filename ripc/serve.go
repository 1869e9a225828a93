package ripc

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/weft-fabric/weft/internal/pause"
	"github.com/weft-fabric/weft/loop"
)

// Handler takes a message, and answers it if it is a call. The message is released when it returns. An error goes to the caller,
// as a *FailedError, and so does a panic, which is logged, unless it comes from the node's own work; a call that was not answered then is
// answered with nothing. Errors are logged as warnings, too: without Config.Log nobody hears of one if the message is no call.
//
// Its context is that of Serve, and ends also when nobody needs its work any more: with the caller's patience (see Message.Deadline), when
// the caller gives up (ErrCallerGaveUp) or is gone (ErrCallerGone), and with the node (ErrClosed). context.Cause says which.
type Handler func(ctx context.Context, m *Message) error

// Serve hands messages to a handler, so many at a time as it is told, until ctx ends or the service does. It returns when all
// handlers have, with nil if ctx has ended. A call whose caller is gone, or whose time is over before its turn comes, is not handled.
func (s *Service) Serve(ctx context.Context, parallel int, handle Handler) error {
	if parallel < 1 || handle == nil {
		return fmt.Errorf("serve %q: %d messages at a time, or the handler is nil: %w", s.name, parallel, ErrArgument)
	}
	within, stop := s.node.untilClosed(ctx)
	defer stop() // after the last handler
	var all sync.WaitGroup
	defer all.Wait()
	free := make(chan struct{}, parallel)
	for ctx.Err() == nil {
		m, err := s.receiveFor(ctx, newHandling(within))
		if err != nil && ctx.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			s.handleOne(m, handle)
		})
	}
	return nil
}

// receiveFor waits for the next message, which a handler gets.
func (s *Service) receiveFor(ctx context.Context, h *handling) (*Message, error) {
	m, err := s.receive(ctx, &h.receiver)
	if err != nil {
		_ = s.node.on(func() { s.node.office.endHandling(h) }) // after Close it has ended
		h.cancel(nil)
		return nil, err
	}
	m.handling = h
	return m, nil
}

// errExited is the failure of a handler that has not returned, nor panicked: it has ended its goroutine.
var errExited = errors.New("the handler has called runtime.Goexit, as FailNow of a test does")

// handleOne has one message handled. What follows is deferred: a handler may end its goroutine, and its caller is told all the same.
func (s *Service) handleOne(m *Message, handle Handler) {
	defer m.handling.cancel(nil)
	defer m.Release()
	err := errExited
	defer func() { s.conclude(m, err) }()
	if unwanted := m.unwanted(); unwanted != nil {
		err = unwanted
		return
	}
	err = guard(m, handle)
}

// conclude answers a call whose handler has not: with its error, or with nothing. Who waits is told also if it is the end of the
// handler's context that was in the way.
func (s *Service) conclude(m *Message, failed error) {
	if unsent := m.settle(failed); failed != nil || unsent != nil {
		s.report(m, failed, unsent)
	}
}

// settle answers a call that was not answered.
func (m *Message) settle(failed error) error {
	if !m.IsCall() || m.isAnswered {
		return nil
	}
	ctx := context.WithoutCancel(m.handling.ctx)
	if failed != nil {
		return m.failWith(ctx, failed)
	}
	return m.Answer(ctx)
}

// report logs how a handler has failed, or its answer. That of one whose context had ended is no news: its caller may just have left.
func (s *Service) report(m *Message, failed, unsent error) {
	log := s.node.log
	if m.handling.ctx.Err() != nil || m.isOverdue() {
		log.Debug("a handler has ended that nobody waited for", "service", s.name, "error", orElse(failed, unsent))
		return
	}
	if failed != nil {
		log.Warn("a handler has failed", "service", s.name, "error", failed)
	}
	if unsent != nil {
		log.Info("an answer was not sent", "service", s.name, "error", unsent)
	}
}

// guard makes an error of a handler's panic: one bad message must not end a process that serves others. A panic of the loop is not the
// handler's, which runs it while it waits: it ends the process as it would from any other goroutine.
func guard(m *Message, handle Handler) (err error) {
	ctx := m.handling.ctx
	if at, ok := m.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, at)
		defer cancel()
	}
	defer func() {
		if what := recover(); what != nil {
			if loop.InsideTurn() {
				panic(what)
			}
			m.node.log.Error("a handler has panicked", "service", m.service.name, "panic", what, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", what)
		}
	}()
	return asked(handle(ctx, m))
}

// asked asks an error what it will be asked again. One whose methods panic, as those of a nil pointer may, does so here, where it is caught.
func asked(err error) error {
	if err != nil {
		_, _ = errors.Is(err, context.DeadlineExceeded), err.Error()
	}
	return err
}

// Shutdown ends the node well: its services are given up, so that others may have them, what has arrived is still handled, and
// what is under way comes to its end. Then it closes the node, or when ctx ends, whose error it returns. Who has to receive must go on until then.
func (n *Node) Shutdown(ctx context.Context) error {
	var services []*Service
	if err := n.on(func() { services = n.office.all() }); err != nil {
		return n.Close()
	}
	for _, s := range services {
		if err := s.withdraw(ctx); err != nil {
			n.log.Warn("a service could not be given up", "service", s.name, "error", err)
		}
	}
	_ = n.on(func() { n.office.leave(services) }) // it may have been closed meanwhile
	var failed error
	for quiet := false; !quiet && failed == nil; {
		if n.on(func() { quiet = n.office.isQuiet(services) }) != nil {
			break
		}
		if !quiet {
			failed = pause.For(ctx, time.Millisecond)
		}
	}
	return errors.Join(failed, n.Close())
}

// leave has the services take nothing new, and says farewell to everybody.
func (f *office) leave(services []*Service) {
	f.isLeaving = true
	for _, s := range services {
		s.isLeaving = true
	}
	for _, p := range f.everybody() {
		if p.link != nil {
			p.link.Leave()
		}
		if p.back != nil {
			p.back.Leave()
		}
	}
}

// lull is after how long links are left that handlers have made for calls of their own, meanwhile.
const lull = 10 * time.Millisecond

// isQuiet reports whether nothing is left to be received, and all links have been left.
func (f *office) isQuiet(services []*Service) bool {
	f.leaveIdle(lull)
	for _, s := range services {
		if !s.arrived.Empty() {
			return false
		}
	}
	return !f.isLinked()
}

// isLinked reports whether a link is in use, or was left and has not ended: also of a process that nobody remembers by now, as this one is
// when it has linked itself anew.
func (f *office) isLinked() bool {
	for l := range f.hub.All() {
		if l.Peer != nil {
			return true
		}
	}
	return false
}
