package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// server is a process that said it is ready.
type server struct {
	command  *exec.Cmd
	complain bytes.Buffer
	rest     chan struct{} // closed when all that it said has been read
}

// startAndHear starts a process and waits until it prints a line with a word.
func startAndHear(command *exec.Cmd, word string) (*server, error) {
	s := &server{command: command, rest: make(chan struct{})}
	command.Stderr = &s.complain
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), word) {
			go s.runDrain(out)
			return s, nil
		}
	}
	close(s.rest)
	return nil, errors.Join(fmt.Errorf("%s never said %q", command.Path, word), s.wait())
}

// runDrain reads what nobody wants to know, until the process ends; wait waits for it.
func (s *server) runDrain(out io.Reader) {
	_, _ = io.Copy(io.Discard, out)
	close(s.rest)
}

func (s *server) wait() error {
	<-s.rest
	if err := s.command.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(s.complain.Bytes()))
	}
	return nil
}

// explained adds what a process wrote to standard error.
func explained(err error) error {
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(ended.Stderr))
	}
	return err
}
