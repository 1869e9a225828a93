package pinned

import "errors"

// One runs f with a process in a role, on the first core.
func One(role string, f func(p *Process) error) error {
	first, _, err := Cores()
	if err != nil {
		return err
	}
	return with(role, first, f)
}

// Two runs f with two processes, each in its role, on a core of its own.
func Two(near, far string, f func(near, far *Process) error) error {
	first, second, err := Cores()
	if err != nil {
		return err
	}
	return with(near, first, func(a *Process) error {
		return with(far, second, func(b *Process) error { return f(a, b) })
	})
}

// with runs f with a process, and ends the process. After a failure nobody waits for it to finish what it does.
func with(role string, core int, f func(p *Process) error) error {
	p, err := Start(role, core)
	if err != nil {
		return err
	}
	if err := f(p); err != nil {
		p.abort()
		return errors.Join(err, p.Close())
	}
	return p.Close()
}
