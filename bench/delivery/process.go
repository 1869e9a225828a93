package delivery

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// waitDelay is how long what a process has said may take to arrive after its end.
const waitDelay = 5 * time.Second

// process is a process of a contestant.
type process struct {
	command *exec.Cmd
	said    *transcript
	err     error         // how it ended
	ended   chan struct{} // closed when err is there
}

// startProcess starts a command. What it says on both outputs is kept, unless the command has a place for one of them.
func startProcess(command *exec.Cmd) (*process, error) {
	p := &process{command: command, said: newTranscript(), ended: make(chan struct{})}
	if command.Stdout == nil {
		command.Stdout = p.said
	}
	command.Stderr, command.WaitDelay = p.said, waitDelay
	if err := command.Start(); err != nil {
		return nil, err
	}
	go p.runWait()
	return p, nil
}

// runWait waits for the end of the process, which ends with its context or with the pen; whoever started it waits for this.
func (p *process) runWait() {
	p.err = p.command.Wait()
	close(p.ended)
}

// wait waits until the process has ended by itself.
func (p *process) wait() error {
	<-p.ended
	if p.err != nil {
		return fmt.Errorf("%s: %w: %s", p.name(), p.err, p.said.tail())
	}
	return nil
}

// hear waits until the process has said a word so many times.
func (p *process) hear(ctx context.Context, word string, times int) error {
	for {
		count, more := p.said.count(word)
		if count >= times {
			return nil
		}
		select {
		case <-more:
		case <-p.ended:
			if count, _ := p.said.count(word); count < times {
				return p.endedEarly(word)
			}
		case <-ctx.Done():
			return fmt.Errorf("%s has not said %q in time: %s", p.name(), word, p.said.tail())
		}
	}
}

// endedEarly is why a process never said a word.
func (p *process) endedEarly(word string) error {
	if err := p.wait(); err != nil {
		return err
	}
	return fmt.Errorf("%s ended without a word of %q: %s", p.name(), word, p.said.tail())
}

// name is the program that was started on a host.
func (p *process) name() string {
	for i, a := range p.command.Args {
		if a == "--" && i+1 < len(p.command.Args) {
			return p.command.Args[i+1]
		}
	}
	return p.command.Path
}

// installed says how to get a program that is missing.
func installed(program, name string) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("%s is missing; install it with: scripts/need --all %s", program, name)
	}
	return nil
}

// transcript is what a process has said: the last of it.
type transcript struct {
	mu   sync.Mutex
	text []byte
	more chan struct{} // closed when there is more
}

// What is kept of a transcript, and what an error shows of it.
const (
	mostText = 1 << 20
	mostTail = 600
)

func newTranscript() *transcript { return &transcript{more: make(chan struct{})} }

// Write adds to it.
func (t *transcript) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-mostText):]
	close(t.more)
	t.more = make(chan struct{})
	return len(b), nil
}

// count is how often a word has been said, and when to ask again.
func (t *transcript) count(word string) (int, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Count(t.text, []byte(word)), t.more
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// tail is the end of it, in one line.
func (t *transcript) tail() string {
	text := strings.Join(strings.Fields(t.String()), " ")
	return text[max(0, len(text)-mostTail):]
}
