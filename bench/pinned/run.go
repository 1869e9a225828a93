package pinned

import (
	"errors"
	"io"
)

// One runs f with a process in a role, on the first core.
func One(role string, f func(p *Process) error) error {
	first, _, err := Cores()
	if err != nil {
		return err
	}
	return with(role, first, f)
}

// Two runs f with two processes, each in its role, on a core of its own. If one fails, the other is ended too.
func Two(near, far string, f func(near, far *Process) error) error {
	first, second, err := Cores()
	if err != nil {
		return err
	}
	return with(near, first, func(a *Process) error {
		return with(far, second, func(b *Process) error { return together(a, b, f) })
	})
}

// together runs f, and ends each process as soon as the other has failed, so that f does not wait for it in vain.
func together(a, b *Process, f func(a, b *Process) error) error {
	done, watched := make(chan struct{}), make(chan struct{})
	watch := func(p, partner *Process) {
		defer func() { watched <- struct{}{} }()
		select {
		case <-p.ended:
			if p.failed != nil {
				partner.abort()
			}
		case <-done:
		}
	}
	go watch(a, b)
	go watch(b, a)
	err := f(a, b)
	close(done)
	<-watched
	<-watched
	return err
}

// with runs f with a process, and ends the process. That a process is gone says nothing if it says why itself.
func with(role string, core int, f func(p *Process) error) error {
	p, err := start(role, core)
	if err != nil {
		return err
	}
	if err = f(p); err != nil {
		p.abort()
	}
	closed := p.close()
	if closed != nil && errors.Is(err, io.EOF) {
		return closed
	}
	return errors.Join(err, closed)
}
