package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// patience is how long a child that was told to end may take.
const patience = 5 * time.Second

// child is this program, started once more. It ends when its standard input does: also if this process is killed.
type child struct {
	what    string // for messages: "the server"
	command *exec.Cmd
	input   interface{ Close() error }
	said    bytes.Buffer  // on standard error
	err     error         // what became of it
	ended   chan struct{} // closed when err is there
}

// startTalkingChild is startChild of one whose standard output is read here. It must be closed when the child has ended.
func startTalkingChild(what string, args []string) (*child, *os.File, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	c, err := startWith(what, args, write)
	if err = errors.Join(err, write.Close()); err != nil {
		return nil, nil, errors.Join(err, read.Close())
	}
	return c, read, nil
}

// startChild starts this program with other arguments.
func startChild(what string, args []string) (*child, error) { return startWith(what, args, nil) }

func startWith(what string, args []string, output *os.File) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program, to start %s: %w", what, err)
	}
	c := &child{what: what, command: exec.Command(self, args...), ended: make(chan struct{})}
	// In a group of its own it does not get the terminal's Ctrl-C, and can answer until this process has ended. If this
	// process is killed, so is the child, even if it stands still.
	c.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.command.Stderr = &c.said
	if output != nil {
		c.command.Stdout = output
	}
	if c.input, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", what, err)
	}
	return c, nil
}

// runWait waits for the child's end, and tells whoever works with it. It ends when the child does; end sees to that.
func (c *child) runWait(failed context.CancelCauseFunc) {
	err := c.command.Wait()
	if text := strings.TrimSpace(c.said.String()); err != nil && text != "" {
		err = errors.New(strings.TrimPrefix(complaint(text), "weft: "))
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", c.what, err)
	}
	c.err = err
	close(c.ended)
	if err != nil {
		failed(err)
	}
}

// end tells the child to end, and waits for it. One that does not is killed.
func (c *child) end() error {
	_ = c.input.Close() // it may have ended
	select {
	case <-c.ended:
	case <-time.After(patience):
		_ = c.command.Process.Kill() // it may have ended
		<-c.ended
	}
	return c.err
}
