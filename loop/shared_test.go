package loop

import (
	"context"
	"errors"
	"testing"
	"time"
)

var background = context.Background()

func newShared(t *testing.T, config Config) (*rig, *Shared) {
	t.Helper()
	r := newRig(t, config)
	s, err := NewShared(r.Loop)
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	return r, s
}

func TestASharedLoopIsBusyForOthers(t *testing.T) {
	r, s := newShared(t, Config{})
	_, blocking := NewBlocking(r.Loop)
	_, again := NewShared(r.Loop)
	_, turn := r.Turn()
	for what, err := range map[string]error{"Do": r.Do(func() {}), "Run": r.Run(background), "Start": r.Start(),
		"NewBlocking": blocking, "NewShared": again, "Turn": turn, "Close": r.Loop.Close()} {
		if !errors.Is(err, ErrBusy) {
			t.Errorf("%s: %v, want ErrBusy", what, err)
		}
	}
	check(t, s.Close())
	check(t, r.Do(func() {}))
}

func TestWhoAwaitsRunsTheLoop(t *testing.T) {
	r, s := newShared(t, Config{})
	var m recorder
	var e Event
	m.then = e.Set
	check(t, s.Do(func() {
		port, err := r.Add(&m)
		check(t, err)
		r.complete(t, port.Tag(7))
		port.After(time.Second, 8)
	}))
	check(t, s.Await(background, &e))
	if len(m.seen) != 1 || m.seen[0].Tag != 7 {
		t.Errorf("the machine saw %+v", m.seen)
	}
}
