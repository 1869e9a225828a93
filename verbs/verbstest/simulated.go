package verbstest

import (
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// This file is the lab whose ends are nodes of a simulator, in virtual time.

// Fabric is what a lab needs of a simulator.
type Fabric interface {
	Now() clock.Time
	// RunUntil lets virtual time pass until done, which it asks after each event, and fails if that is not before limit
	// or if nothing more can happen.
	RunUntil(done func() bool, limit clock.Time) error
	// Err is the first error of a loop's turn. Nothing happens after it.
	Err() error
}

// SimulatedConfig describes a lab whose ends are nodes of a simulator. Fabric and Open are required.
type SimulatedConfig struct {
	Fabric Fabric
	// Open makes a node.
	Open func() (driver.Device, error)
	// Kill makes a node crash. It goes with the capability Kill.
	Kill         func(driver.Device)
	Capabilities Capabilities
	Limit        time.Duration // of virtual time, that a command may wait; 0: 10 s
}

// Simulated makes a lab in virtual time: everything happens in the goroutine of the test, while it waits.
func Simulated(config SimulatedConfig) Lab {
	if config.Limit == 0 {
		config.Limit = 10 * time.Second
	}
	return &simulatedLab{config: config}
}

type simulatedLab struct {
	config SimulatedConfig
	ends   []*simulatedEnd
}

func (l *simulatedLab) Capabilities() Capabilities { return l.config.Capabilities.withDefaults() }

func (l *simulatedLab) Open(name string, config EndConfig) (End, error) {
	e := &simulatedEnd{lab: l}
	a, err := newAgent(name, e.open, config.scanEvery(l.config.Limit))
	if err != nil {
		return nil, err
	}
	e.agent = a
	l.ends = append(l.ends, e)
	return e, nil
}

// Close closes the ends in the order they were opened.
func (l *simulatedLab) Close() error {
	var failed []error
	for _, e := range l.ends {
		failed = append(failed, e.Close())
	}
	return errors.Join(failed...)
}

type simulatedEnd struct {
	lab      *simulatedLab
	agent    *agent
	device   driver.Device // the end's own, for Kill
	isKilled bool
	isClosed bool
}

// open makes a node, and remembers the first as the end's own.
func (e *simulatedEnd) open() (driver.Device, error) {
	d, err := e.lab.config.Open()
	if e.device == nil {
		e.device = d
	}
	return d, err
}

func (e *simulatedEnd) Do(c Command) (result Result, err error) {
	if e.isKilled {
		return Result{}, fmt.Errorf("%s: %s: it was killed", e.agent.name, sentence(c))
	}
	replied := false
	posted := e.agent.loop.Do(func() {
		e.agent.begin(c, func(r Result, failed error) { replied, result, err = true, r, failed })
	})
	if posted != nil {
		return Result{}, fmt.Errorf("%s: %T: %w", e.agent.name, c, posted)
	}
	fabric := e.lab.config.Fabric
	stuck := fabric.RunUntil(func() bool {
		e.agent.answer() // states change without a turn of the loop, too
		return replied
	}, fabric.Now().Add(e.lab.config.Limit))
	if !replied {
		e.agent.waiting = nil
		if failed := fabric.Err(); failed != nil {
			return Result{}, fmt.Errorf("%s: %s: a loop has failed: %w", e.agent.name, sentence(c), failed)
		}
		return Result{}, fmt.Errorf("%s: %s: within %v: %w (%w)", e.agent.name, sentence(c), e.lab.config.Limit, ErrHang, stuck)
	}
	return result, err
}

func (e *simulatedEnd) Signal(s Signal) error {
	has := e.lab.config.Capabilities.Has
	switch {
	case s == KillEnd && has&Kill != 0:
		e.isKilled = true
		e.lab.config.Kill(e.device)
	case s == StopEnd && has&Stop != 0:
		e.agent.queue.Drive(nil)
	case s == ContinueEnd && has&Stop != 0:
		e.agent.queue.Drive(e.agent.loop)
	default:
		return fmt.Errorf("%s: %v: %w", e.agent.name, s, ErrNotCapable)
	}
	return nil
}

func (e *simulatedEnd) Close() error {
	if e.isClosed {
		return nil
	}
	e.isClosed = true
	err := e.agent.close()
	if e.isKilled {
		return nil // a dead node closes nothing, and nobody promises that closing works
	}
	return err
}
