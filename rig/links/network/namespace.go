package network

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// namespace is a network namespace, alive as long as the process that holds it.
type namespace struct {
	holder *exec.Cmd
	life   *os.File // the holder waits for its end, which comes with Close or with the end of our process
}

func newNamespace() (*namespace, error) {
	theirs, life, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	holder := exec.Command("cat")
	holder.Stdin = theirs
	// Ctrl-C at a terminal is for us: we end the holders, when the commands have ended.
	holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Setpgid: true}
	if err := holder.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("make a network namespace: %w", err), life.Close())
	}
	return &namespace{holder, life}, nil
}

func (n *namespace) pid() string { return strconv.Itoa(n.holder.Process.Pid) }

// command is a command that runs in the namespace. It ends with our process.
func (n *namespace) command(ctx context.Context, name string, arguments ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "nsenter", append([]string{"--net=/proc/" + n.pid() + "/ns/net", "--", name}, arguments...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// batch gives ip or tc several commands at once.
func (n *namespace) batch(program string, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	c := n.command(context.Background(), program, "-batch", "-")
	c.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if said, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, bytes.TrimSpace(said))
	}
	return nil
}

// forget has new connections learn nothing from earlier ones to the same host: what is measured first must not help, or
// hinder, what is measured next.
func (n *namespace) forget() error {
	c := n.command(context.Background(), "sh", "-c", "echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save")
	if said, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("forget what TCP has learnt: %w: %s", err, bytes.TrimSpace(said))
	}
	return nil
}

func (n *namespace) close() error {
	err := n.life.Close()
	_ = n.holder.Wait() // how it ended does not matter
	return err
}
