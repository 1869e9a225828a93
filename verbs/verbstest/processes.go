package verbstest

import (
	"errors"
	"os/exec"
)

// This file is the lab whose ends are processes of their own.

// Processes makes a lab in which each end is a child process of its own, for lanes between processes. Start returns a
// command, not started, that serves a lab of one end as for [Child]. Killing an end kills its process; capabilities say
// what the ends can do besides.
func Processes(start func() *exec.Cmd, capabilities Capabilities) Lab {
	return &processLab{start: start, capabilities: capabilities}
}

type processLab struct {
	start        func() *exec.Cmd
	capabilities Capabilities
	ends         []*processEnd
}

func (l *processLab) Capabilities() Capabilities { return l.capabilities.withDefaults() }

func (l *processLab) Open(name string, config EndConfig) (End, error) {
	cmd := l.start()
	lab, err := Child(cmd)
	if err != nil {
		return nil, err
	}
	e := &processEnd{cmd: cmd, lab: lab}
	l.ends = append(l.ends, e)
	e.End, err = lab.Open(name, config)
	return e, err
}

// Close ends the processes in the order they were started.
func (l *processLab) Close() error {
	var failed []error
	for _, e := range l.ends {
		failed = append(failed, e.Close())
	}
	return errors.Join(failed...)
}

type processEnd struct {
	End
	cmd      *exec.Cmd
	lab      Lab
	isKilled bool
	isClosed bool
}

// Signal kills the process itself. The other signals are the agent's business.
func (e *processEnd) Signal(s Signal) error {
	if s != KillEnd {
		return e.End.Signal(s)
	}
	e.isKilled = true
	return e.cmd.Process.Kill()
}

func (e *processEnd) Close() error {
	if e.isClosed {
		return nil
	}
	e.isClosed = true
	err := e.lab.Close()
	if e.isKilled {
		return nil // a dead process answers nothing
	}
	return err
}
