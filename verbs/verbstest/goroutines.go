package verbstest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/verbs/driver"
)

// This file is the lab whose ends are goroutines of this process, in real time.

// GoroutineConfig describes a lab whose ends are goroutines of this process. Only Open is required.
type GoroutineConfig struct {
	// Open opens a device. Devices that it returned must be able to reach each other.
	Open func() (driver.Device, error)
	// Kill makes a device behave as if its process had died. It goes with the capability Kill.
	Kill         func(driver.Device)
	Capabilities Capabilities
	Limit        time.Duration // how long a command may wait; 0: 60 s
	ScanEvery    time.Duration // for ends that do not say; 0: what package loop takes
}

// Goroutines makes a lab in which each end is a goroutine that runs a loop.
func Goroutines(config GoroutineConfig) Lab {
	if config.Limit == 0 {
		config.Limit = time.Minute
	}
	return &goroutineLab{config: config}
}

type goroutineLab struct {
	config GoroutineConfig
	ends   []*goroutineEnd
}

func (l *goroutineLab) Capabilities() Capabilities { return l.config.Capabilities.withDefaults() }

func (l *goroutineLab) Open(name string, config EndConfig) (End, error) {
	e := &goroutineEnd{lab: l, finished: make(chan struct{})}
	a, err := newAgent(name, e.open, l.config.resolve(config))
	if err != nil {
		return nil, err
	}
	e.agent = a
	if config.Shared {
		if e.shared, err = loop.NewShared(a.loop); err != nil {
			return nil, errors.Join(err, a.close())
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.cancel = cancel
	l.ends = append(l.ends, e)
	go e.runLoop(ctx)
	return e, nil
}

// resolve fills in what an end leaves to its lab.
func (c GoroutineConfig) resolve(end EndConfig) EndConfig {
	if end.ScanEvery == 0 {
		end.ScanEvery = c.ScanEvery
	}
	return end.scanEvery(c.Limit)
}

// Close closes the ends in the order they were opened.
func (l *goroutineLab) Close() error {
	var failed []error
	for _, e := range l.ends {
		failed = append(failed, e.Close())
	}
	return errors.Join(failed...)
}

type goroutineEnd struct {
	lab      *goroutineLab
	agent    *agent
	shared   *loop.Shared  // nil: the loop is the goroutine's alone
	device   driver.Device // the end's own, for Kill
	cancel   context.CancelFunc
	finished chan struct{} // closed when runLoop has returned
	failure  error         // of the loop; valid once finished is closed
	resume   chan struct{} // not nil while the end is stopped
	isKilled bool
	isClosed bool
}

// open opens a device, and remembers the first as the end's own.
func (e *goroutineEnd) open() (driver.Device, error) {
	d, err := e.lab.config.Open()
	if e.device == nil {
		e.device = d
	}
	return d, err
}

// runLoop is the end's goroutine. Close stops it and waits for it.
func (e *goroutineEnd) runLoop(ctx context.Context) {
	defer close(e.finished)
	if e.shared == nil {
		e.failure = e.agent.loop.Run(ctx)
		return
	}
	if err := e.shared.Await(ctx, &loop.Event{}); !errors.Is(err, context.Canceled) {
		e.failure = err
	}
	e.failure = errors.Join(e.failure, e.shared.Close())
}

// run has f run on the loop.
func (e *goroutineEnd) run(f func()) error {
	if e.shared != nil {
		return e.shared.Do(f)
	}
	return e.agent.loop.Do(f)
}

type reply struct {
	result Result
	err    error
}

func (e *goroutineEnd) Do(c Command) (Result, error) {
	replies := make(chan reply, 1)
	err := e.run(func() {
		e.agent.begin(c, func(r Result, err error) { replies <- reply{r, err} })
	})
	if err != nil {
		return Result{}, fmt.Errorf("%s: %T: %w", e.agent.name, c, err)
	}
	limit := time.NewTimer(e.lab.config.Limit)
	defer limit.Stop()
	select {
	case r := <-replies:
		return r.result, r.err
	case <-e.finished:
		return Result{}, fmt.Errorf("%s: %s: the loop has ended: %w", e.agent.name, sentence(c), e.failure)
	case <-limit.C:
		return Result{}, fmt.Errorf("%s: %s: within %v: %w", e.agent.name, sentence(c), e.lab.config.Limit, ErrHang)
	}
}

// sentence names a command, for a failure's message.
func sentence(c Command) string {
	if until, ok := c.(Until); ok {
		return fmt.Sprintf("wait until %v", until.Condition)
	}
	return fmt.Sprintf("%T", c)
}

func (e *goroutineEnd) Signal(s Signal) error {
	has := e.lab.config.Capabilities.Has
	switch {
	case s == KillEnd && has&Kill != 0:
		e.isKilled = true
		e.lab.config.Kill(e.device)
		return nil
	case s == StopEnd && has&Stop != 0 && e.resume == nil:
		return e.stop()
	case s == ContinueEnd && e.resume != nil:
		close(e.resume)
		e.resume = nil
		return nil
	}
	return fmt.Errorf("%s: %v: %w", e.agent.name, s, ErrNotCapable)
}

// stop makes the loop stand still in the middle of a turn, and returns when it does.
func (e *goroutineEnd) stop() error {
	resume, stopped := make(chan struct{}), make(chan struct{})
	e.resume = resume
	err := e.agent.loop.Do(func() {
		close(stopped)
		<-resume
	})
	if err != nil {
		return err
	}
	select {
	case <-stopped:
		return nil
	case <-e.finished:
		return fmt.Errorf("%s: stop: the loop has ended: %w", e.agent.name, e.failure)
	}
}

func (e *goroutineEnd) Close() error {
	if e.isClosed {
		return nil
	}
	e.isClosed = true
	if e.resume != nil {
		close(e.resume)
	}
	e.cancel()
	<-e.finished
	err := e.agent.close()
	if e.isKilled {
		return nil // a dead process closes nothing, and nobody promises that closing works
	}
	return errors.Join(e.failure, err)
}
