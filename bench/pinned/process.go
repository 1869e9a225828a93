package pinned

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// closeLimit is how long a role may take to end after its orders have.
	closeLimit = 5 * time.Second
	// abortDelay is how long a role lives on after the measurement has failed: long enough to say why, if it was its own.
	abortDelay = 100 * time.Millisecond
)

// Process is this program again, as a role.
type Process struct {
	Line
	role     string
	core     int
	command  *exec.Cmd
	complain bytes.Buffer // what it wrote to standard error
	orders   *os.File
	reports  *os.File
	ended    chan struct{} // closed by runWait
	failed   error         // how it ended, as soon as it has
	aborted  atomic.Bool   // it was killed because something else had failed
}

// start runs this program as a role, pinned to a core.
func start(role string, core int) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Process{role: role, core: core, command: exec.Command(self), ended: make(chan struct{})}
	p.command.Env = append(os.Environ(), roleVariable+"="+role)
	p.command.Stderr = &p.complain
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.launch(); err != nil {
		return nil, fmt.Errorf("start %s on core %d: %w", role, core, err)
	}
	go p.runWait()
	return p, nil
}

func (p *Process) launch() error {
	theirIn, orders, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = theirIn.Close() }()
	reports, theirOut, err := os.Pipe()
	if err != nil {
		return errors.Join(err, orders.Close())
	}
	defer func() { _ = theirOut.Close() }()
	p.command.Stdin, p.command.Stdout = theirIn, theirOut
	p.Line, p.orders, p.reports = newLine(reports, orders, Patience), orders, reports
	if err := OnCore(p.core, p.command.Start); err != nil {
		return errors.Join(err, orders.Close(), reports.Close())
	}
	return nil
}

// runWait waits for the end of the process. It ends with it, and close waits for both.
func (p *Process) runWait() {
	if err := p.command.Wait(); err != nil {
		p.failed = fmt.Errorf("%s on core %d: %w: %s", p.role, p.core, err, strings.TrimSpace(p.complain.String()))
	}
	close(p.ended)
}

// Stop stops the process (SIGSTOP), and returns when it stands still.
func (p *Process) Stop() error {
	if err := p.command.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for deadline := time.Now().Add(closeLimit); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if stopped, err := stands(p.command.Process.Pid); stopped || err != nil {
			return err
		}
	}
	return fmt.Errorf("%s does not stop", p.role)
}

// stands reports whether a process is stopped. The letter that says so is behind the name, which may hold anything.
func stands(pid int) (bool, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false, err
	}
	return strings.HasPrefix(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " T"), nil
}

// Continue lets a stopped process go on.
func (p *Process) Continue() error { return p.command.Process.Signal(syscall.SIGCONT) }

// close ends the orders and waits for the process, which it kills if that takes too long. It fails as the role did.
func (p *Process) close() error {
	failed := p.orders.Close()
	if !p.endsWithin(closeLimit) {
		_ = p.command.Process.Kill()
		<-p.ended
	}
	if p.aborted.Load() {
		return errors.Join(failed, p.reports.Close())
	}
	return errors.Join(p.failed, failed, p.reports.Close())
}

// abort ends a process because something else has failed, unless it ends by itself: then it was perhaps the cause.
func (p *Process) abort() {
	if !p.endsWithin(abortDelay) {
		p.aborted.Store(true)
		_ = p.command.Process.Kill()
	}
}

func (p *Process) endsWithin(limit time.Duration) bool {
	select {
	case <-p.ended:
		return true
	case <-time.After(limit):
		return false
	}
}
