package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/weft-fabric/weft/rig/links/network"
)

// everywhere runs a command on every host at once and returns the highest status.
func everywhere(ctx context.Context, n *network.Network, command []string, out, errs io.Writer) int {
	var (
		running sync.WaitGroup
		writing sync.Mutex
		status  = make([]int, n.Hosts())
	)
	for host := range n.Hosts() {
		name := fmt.Sprintf("h%d ", host)
		running.Go(func() {
			said, complained := &lines{to: out, prefix: name, mu: &writing}, &lines{to: errs, prefix: name, mu: &writing}
			status[host] = on(ctx, n, host, command, said, complained)
		})
	}
	running.Wait()
	highest := 0
	for _, s := range status {
		highest = max(highest, s)
	}
	return highest
}

// on runs a command on one host. It finds its place in the environment.
func on(ctx context.Context, n *network.Network, host int, command []string, out, errs *lines) int {
	c := n.Command(ctx, host, command[0], command[1:]...)
	c.Env = append(os.Environ(), environment(n, host)...)
	c.Stdout, c.Stderr = out, errs
	err := c.Run()
	out.flush()
	errs.flush()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended):
		return max(ended.ExitCode(), 1) // who was ended by a signal has -1
	}
	_, _ = fmt.Fprintln(errs, err)
	return exitBroken
}

func environment(n *network.Network, host int) []string {
	var all []string
	for i := range n.Hosts() {
		all = append(all, n.Address(i))
	}
	return []string{fmt.Sprintf("WEFT_HOST=%d", host), "WEFT_ADDRESS=" + n.Address(host), "WEFT_ADDRESSES=" + strings.Join(all, " ")}
}

// lines writes whole lines, each behind a prefix.
type lines struct {
	to     io.Writer
	prefix string
	mu     *sync.Mutex // of everybody who writes
	rest   []byte      // of a line that has not ended
}

func (l *lines) Write(text []byte) (int, error) {
	l.rest = append(l.rest, text...)
	for {
		line, rest, ended := bytes.Cut(l.rest, []byte("\n"))
		if !ended {
			return len(text), nil
		}
		l.print(line)
		l.rest = append(l.rest[:0], rest...)
	}
}

func (l *lines) print(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.to, "%s%s\n", l.prefix, line)
}

// flush ends the last line.
func (l *lines) flush() {
	if len(l.rest) > 0 {
		l.print(l.rest)
		l.rest = nil
	}
}
