package verbstest

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

// This file carries a lab through a pipe: a server in the child process, and the lab that asks it.

// call is what travels to the process that serves a lab; answer is what comes back, one for each call.
type call struct {
	Kind    callKind
	End     int // number of the end, from 1
	Name    string
	Config  EndConfig
	Command Command
	Signal  Signal
}

type answer struct {
	End          int
	Capabilities Capabilities
	Result       Result
	Failure      *wireError
}

type callKind uint8

const (
	callCapabilities callKind = iota
	callOpen
	callDo
	callSignal
	callCloseEnd
	callClose // the last one
)

// Serve offers a lab to whoever is at the other side of r and w, usually [Child] in the process that started this one.
// It returns after the other side has closed the lab or has gone, and closes the lab. Whenever the last end that was open
// is closed, the process must hold no more (descriptors, mappings, goroutines) than when Serve was called.
func Serve(r io.Reader, w io.Writer, lab Lab) error {
	register()
	idle, err := baseline()
	if err != nil {
		return errors.Join(err, lab.Close())
	}
	s := &server{lab: lab, idle: idle}
	in, out := gob.NewDecoder(r), gob.NewEncoder(w)
	for {
		var c call
		if err := in.Decode(&c); err != nil {
			return errors.Join(fmt.Errorf("verbstest: serve: %w", err), lab.Close())
		}
		if err := out.Encode(s.answer(c)); err != nil {
			return errors.Join(fmt.Errorf("verbstest: serve: %w", err), lab.Close())
		}
		if c.Kind == callClose {
			return nil
		}
	}
}

type server struct {
	lab  Lab
	ends table[End]
	open int      // ends that are not closed
	idle holdings // what the process holds without any end
}

func (s *server) answer(c call) (a answer) {
	var err error
	switch c.Kind {
	case callCapabilities:
		a.Capabilities = s.lab.Capabilities()
	case callOpen:
		var e End
		if e, err = s.lab.Open(c.Name, c.Config); err == nil {
			a.End = s.ends.put(e)
			s.open++
		}
	case callClose:
		err = errors.Join(s.lab.Close(), s.idle.returned())
	default:
		a.Result, err = s.toEnd(c)
	}
	a.Failure = newWireError(err)
	return a
}

func (s *server) toEnd(c call) (Result, error) {
	e, err := s.ends.get(c.End)
	if err != nil {
		return Result{}, err
	}
	switch c.Kind {
	case callDo:
		return e.Do(c.Command)
	case callSignal:
		return Result{}, e.Signal(c.Signal)
	}
	return Result{}, s.closeEnd(e)
}

// closeEnd closes an end. The last one turns off the light.
func (s *server) closeEnd(e End) error {
	err := e.Close()
	if s.open--; s.open > 0 {
		return err
	}
	return errors.Join(err, s.idle.returned())
}

// Child starts a process that calls [Serve] on its standard input and output, and is the lab that it serves.
func Child(cmd *exec.Cmd) (Lab, error) { return startChild(cmd) }

func startChild(cmd *exec.Cmd) (*childLab, error) {
	register()
	to, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	l := &childLab{cmd: cmd, to: to, out: gob.NewEncoder(to), in: gob.NewDecoder(from)}
	a, err := l.ask(call{Kind: callCapabilities})
	if err != nil {
		return nil, errors.Join(err, l.end())
	}
	l.capabilities = a.Capabilities
	return l, nil
}

type childLab struct {
	cmd          *exec.Cmd
	to           io.Closer
	out          *gob.Encoder
	in           *gob.Decoder
	capabilities Capabilities
	mu           sync.Mutex // one question at a time
}

// answerLimit is how long a child may be silent before it is killed. Its commands have limits of their own.
const answerLimit = 5 * time.Minute

func (l *childLab) ask(c call) (answer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var a answer
	watchdog := time.AfterFunc(answerLimit, func() { _ = l.cmd.Process.Kill() }) // the answer then is an error
	defer watchdog.Stop()
	if err := l.out.Encode(&c); err != nil {
		return a, fmt.Errorf("ask child: %w", err)
	}
	if err := l.in.Decode(&a); err != nil {
		return a, fmt.Errorf("the child has not answered: %w", err)
	}
	return a, a.Failure.asError()
}

// end lets the child see the end of its input, and waits for it.
func (l *childLab) end() error { return errors.Join(l.to.Close(), l.cmd.Wait()) }

func (l *childLab) Capabilities() Capabilities { return l.capabilities }

func (l *childLab) Open(name string, config EndConfig) (End, error) {
	a, err := l.ask(call{Kind: callOpen, Name: name, Config: config})
	return &childEnd{l, a.End}, err
}

func (l *childLab) Close() error {
	_, err := l.ask(call{Kind: callClose})
	return errors.Join(err, l.end())
}

type childEnd struct {
	lab    *childLab
	number int
}

func (e *childEnd) Do(c Command) (Result, error) {
	a, err := e.lab.ask(call{Kind: callDo, End: e.number, Command: c})
	return a.Result, err
}

func (e *childEnd) Signal(s Signal) error {
	_, err := e.lab.ask(call{Kind: callSignal, End: e.number, Signal: s})
	return err
}

func (e *childEnd) Close() error {
	_, err := e.lab.ask(call{Kind: callCloseEnd, End: e.number})
	return err
}
