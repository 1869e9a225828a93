package verbstest

import "github.com/weft-fabric/weft/verbs"

// This file is the commands about windows.

// OpenWindow opens a window of a queue pair. Result: ID.
type OpenWindow struct{ Pair int }

func (c OpenWindow) carryOut(a *agent) (Result, error) {
	q, err := a.pairs.get(c.Pair)
	if err != nil {
		return Result{}, err
	}
	w, err := q.NewWindow()
	if err != nil {
		return Result{}, err
	}
	return Result{ID: a.windows.put(w)}, nil
}

// Bind stages that a piece of memory is lent. What is staged is flushed in the end of the turn, or with the next Post of the
// queue pair. Result: Remote.
type Bind struct {
	Window int
	Tag    uint64
	Piece  verbs.Span
	Access verbs.Access
	Flags  verbs.Flags
}

func (c Bind) carryOut(a *agent) (Result, error) {
	w, err := a.windows.get(c.Window)
	if err != nil {
		return Result{}, err
	}
	remote, err := w.Bind(a.port.Tag(c.Tag), c.Piece, c.Access, c.Flags)
	return Result{Remote: remote}, err
}

// Revoke stages that what is lent is taken back; it is flushed as a Bind is. Snapshot is taken in the very step in which it
// completes.
type Revoke struct {
	Window   int
	Tag      uint64
	Flags    verbs.Flags
	Snapshot Snapshot
}

func (c Revoke) carryOut(a *agent) (Result, error) {
	w, err := a.windows.get(c.Window)
	if err != nil {
		return Result{}, err
	}
	a.arm(c.Tag, c.Snapshot)
	return Result{}, w.Revoke(a.port.Tag(c.Tag), c.Flags)
}
