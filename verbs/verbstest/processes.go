package verbstest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// This file is the lab whose ends are processes of their own.

// Crew is child processes that serve as ends, in one lab after another: starting a process for each end of each test
// would take most of the time. Only processes that were killed, or told to pause, or that could not give back what they
// held, serve but once.
type Crew struct {
	start        func() *exec.Cmd
	capabilities Capabilities
	idle         []*member
}

// Processes makes a crew for lanes between processes. Start returns a command, not started, that serves a lab as for
// [Child]. Killing and stopping an end does that to its process, by SIGKILL, SIGSTOP and SIGCONT; capabilities say what
// that means, and what the ends can do besides. The crew is to be closed after the last of its labs.
func Processes(start func() *exec.Cmd, capabilities Capabilities) *Crew {
	return &Crew{start: start, capabilities: capabilities.withDefaults()}
}

// Lab makes a lab in which each end is a process of the crew, except for those beside another.
func (c *Crew) Lab(TB) Lab { return &processLab{crew: c} }

// Close ends the processes.
func (c *Crew) Close() error {
	var failed []error
	for _, m := range c.idle {
		failed = append(failed, m.lab.Close())
	}
	c.idle = nil
	return errors.Join(failed...)
}

// member is one process of a crew.
type member struct {
	cmd     *exec.Cmd
	lab     *childLab
	ends    int         // that are open
	isDead  atomic.Bool // killed, and waited for
	isSpent bool        // it was told to pause: it serves but once
}

// hire returns an idle member, or starts one. One that shall pause by itself is started for that.
func (c *Crew) hire(pause string) (*member, error) {
	if n := len(c.idle); n > 0 && pause == "" {
		m := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return m, nil
	}
	cmd := c.start()
	if pause != "" {
		cmd.Env = append(cmd.Environ(), "WEFT_PAUSE="+pause)
	}
	if cmd.SysProcAttr == nil { // a process that is stopped would outlive this one for ever
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	}
	lab, err := startChild(cmd)
	if err != nil {
		return nil, err
	}
	return &member{cmd: cmd, lab: lab, isSpent: pause != ""}, nil
}

// leave is called when an end of the member is closed. After its last the member is idle again, or ends.
func (c *Crew) leave(m *member) error {
	if m.ends--; m.ends > 0 || m.isDead.Load() {
		return nil
	}
	if m.isSpent {
		return m.lab.Close()
	}
	c.idle = append(c.idle, m)
	return nil
}

// kill ends the process, and waits for it: whatever it held is free then.
func (m *member) kill() error {
	m.isDead.Store(true)
	err := m.cmd.Process.Kill()
	_ = m.cmd.Wait() // it says that the process was killed
	return err
}

type processLab struct {
	crew *Crew
	ends []*processEnd
}

func (l *processLab) Capabilities() Capabilities { return l.crew.capabilities }

func (l *processLab) Open(name string, config EndConfig) (End, error) {
	m, err := l.home(config)
	if err != nil {
		return nil, err
	}
	m.ends++
	e := &processEnd{name: name, crew: l.crew, member: m}
	if e.End, err = m.lab.Open(name, config); err != nil {
		return nil, errors.Join(err, l.crew.leave(m))
	}
	l.ends = append(l.ends, e)
	return e, nil
}

// home is the process that an end shall live in.
func (l *processLab) home(config EndConfig) (*member, error) {
	if config.Beside == "" {
		return l.crew.hire(config.Pause)
	}
	for _, e := range l.ends {
		if e.name == config.Beside && !e.isClosed {
			return e.member, nil
		}
	}
	return nil, fmt.Errorf("verbstest: there is no end %q to live beside", config.Beside)
}

// Close closes the ends in the order they were opened. None may be stopped meanwhile: another could have to wait for it.
func (l *processLab) Close() error {
	var failed []error
	for _, e := range l.ends {
		failed = append(failed, e.goOn())
	}
	for _, e := range l.ends {
		failed = append(failed, e.Close())
	}
	return errors.Join(failed...)
}

type processEnd struct {
	End
	name      string
	crew      *Crew
	member    *member
	isStopped atomic.Bool
	isClosed  bool
}

// Do refuses to ask who cannot answer.
func (e *processEnd) Do(c Command) (Result, error) {
	if e.isStopped.Load() || e.member.isDead.Load() {
		return Result{}, fmt.Errorf("%s: %s: its process is stopped or dead", e.name, sentence(c))
	}
	return e.End.Do(c)
}

// Signal treats the process as told, and returns when it has taken the signal.
func (e *processEnd) Signal(s Signal) error {
	switch s {
	case KillEnd:
		return e.member.kill()
	case StopEnd:
		if err := e.member.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			return fmt.Errorf("%s: stop: %w", e.name, err)
		}
		return e.awaitStop()
	case AwaitPause:
		return e.awaitStop()
	}
	e.isStopped.Store(false)
	return e.member.cmd.Process.Signal(syscall.SIGCONT)
}

// patience is how long a process may take to stop. Only a hang takes so long.
const patience = 20 * time.Second

// awaitStop waits until every thread of the process has stopped.
func (e *processEnd) awaitStop() error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Microsecond) {
		stopped, err := isStopped(e.member.cmd.Process.Pid)
		if err != nil {
			return err
		}
		if stopped {
			e.isStopped.Store(true)
			return nil
		}
	}
	return fmt.Errorf("%s: it has not stopped within %v: %w", e.name, patience, ErrHang)
}

func isStopped(process int) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", process))
	if err != nil {
		return false, err
	}
	for _, file := range threads {
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue // the thread has ended
		}
		if err != nil {
			return false, fmt.Errorf("verbstest: look at a thread: %w", err)
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if !strings.HasPrefix(rest, "T") {
			return false, nil
		}
	}
	return len(threads) > 0, nil
}

// goOn continues the process if it is stopped.
func (e *processEnd) goOn() error {
	if !e.isStopped.Load() || e.member.isDead.Load() {
		return nil
	}
	return e.Signal(ContinueEnd)
}

func (e *processEnd) Close() error {
	if e.isClosed {
		return nil
	}
	e.isClosed = true
	if e.member.isDead.Load() {
		return e.crew.leave(e.member) // a dead process answers nothing
	}
	if err := e.goOn(); err != nil {
		return err
	}
	if err := e.End.Close(); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", e.name, err), e.member.kill())
	}
	return e.crew.leave(e.member)
}
