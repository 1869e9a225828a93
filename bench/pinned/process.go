package pinned

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// closeLimit is how long a role may take to end after its orders have.
const closeLimit = 5 * time.Second

// abortDelay is how long a role lives on after the measurement has failed: long enough to say why it ended.
const abortDelay = 100 * time.Millisecond

// Process is this program again, as a role.
type Process struct {
	Line
	role     string
	core     int
	command  *exec.Cmd
	complain bytes.Buffer // what it wrote to standard error
	pipes    []*os.File   // the parent's ends
}

// Start runs this program as a role, pinned to a core.
func Start(role string, core int) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Process{role: role, core: core, command: exec.Command(self)}
	p.command.Env = append(os.Environ(), roleVariable+"="+role)
	p.command.Stderr = &p.complain
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	// A role that was killed keeps nothing open, so the copy of its standard error ends soon.
	p.command.WaitDelay = closeLimit
	if err := p.start(); err != nil {
		return nil, fmt.Errorf("start %s on core %d: %w", role, core, err)
	}
	return p, nil
}

func (p *Process) start() error {
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
	p.Line = newLine(reports, orders, Patience)
	p.pipes = []*os.File{orders, reports}
	if err := OnCore(p.core, p.command.Start); err != nil {
		return errors.Join(err, orders.Close(), reports.Close())
	}
	return nil
}

// Stop stops the process (SIGSTOP), and returns when every thread of it stands still.
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

// stands reports whether a process is stopped: the letter behind the name, in parentheses, that may hold anything.
func stands(pid int) (bool, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false, err
	}
	return strings.HasPrefix(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " T"), nil
}

// Continue lets a stopped process go on.
func (p *Process) Continue() error { return p.command.Process.Signal(syscall.SIGCONT) }

// Close ends the orders and waits for the process, which it kills if that takes too long. It fails as the role did.
func (p *Process) Close() error {
	failed := p.pipes[0].Close()
	kill := time.AfterFunc(closeLimit, func() { _ = p.command.Process.Kill() })
	err := p.command.Wait()
	kill.Stop()
	if err != nil {
		err = fmt.Errorf("%s on core %d: %w: %s", p.role, p.core, err, strings.TrimSpace(p.complain.String()))
	}
	return errors.Join(failed, err, p.pipes[1].Close())
}

// abort ends a process that has not failed by itself, and leaves one that has the time to say why.
func (p *Process) abort() {
	_ = p.Continue()
	time.AfterFunc(abortDelay, func() { _ = p.command.Process.Kill() })
}
