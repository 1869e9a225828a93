package verbs

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

// lendingPair is a fake with windows.
type lendingPair struct {
	*fakePair
	made    []*fakeWindow
	calls   []string // what is done to it, and to its windows, in order
	refuses error    // of NewWindow
	failing error    // of Close of the windows
}

type fakeWindow struct {
	pair   *lendingPair
	number uint32
	keys   uint64
	closed int // times
}

func (p *lendingPair) NewWindow() (driver.Window, error) {
	if p.refuses != nil {
		return nil, p.refuses
	}
	w := &fakeWindow{pair: p, number: uint32(len(p.made) + 1)}
	p.made = append(p.made, w)
	return w, nil
}

func (p *lendingPair) Reset(tag Tag) error {
	p.calls = append(p.calls, "reset")
	return p.fakePair.Reset(tag)
}

func (p *lendingPair) Close() error {
	p.calls = append(p.calls, "close")
	return p.fakePair.Close()
}

func (w *fakeWindow) Number() uint32  { return w.number }
func (w *fakeWindow) NextKey() uint64 { w.keys++; return uint64(w.number)<<32 | w.keys }
func (w *fakeWindow) Close() error {
	w.closed++
	w.pair.calls = append(w.pair.calls, "window")
	return w.pair.failing
}

// lendingRig is a rig whose queue pair has windows.
func lendingRig(t *testing.T, config QueueConfig) (*rig, *lendingPair) {
	t.Helper()
	r := newRig(t, config)
	p := &lendingPair{fakePair: r.fake}
	r.pair.driver = p
	return r, p
}

func TestWindowsNeedAProviderThatHasThem(t *testing.T) {
	r := newRig(t, QueueConfig{})
	if _, err := r.pair.NewWindow(); !errors.Is(err, ErrNotSupported) {
		t.Errorf("without: %v", err)
	}
	lending, p := lendingRig(t, QueueConfig{})
	p.refuses = driver.ErrLimit
	if _, err := lending.pair.NewWindow(); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "new window") {
		t.Errorf("with no more: %v", err)
	}
	check(t, r.pair.Close())
	if _, err := r.pair.NewWindow(); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A Bind says to the provider what the program asked for, and to the program what the peer has to name.
func TestBindAndRevokeArePosted(t *testing.T) {
	r, p := lendingRig(t, QueueConfig{})
	must(r.pair.NewWindow())(t)
	w := must(r.pair.NewWindow())(t)
	piece := r.memory.Span(64, 100)
	lent := must(w.Bind(5, piece, RemoteRead|RemoteAtomic, Quiet))(t)
	if want := (RemoteSpan{Address: piece.Address, Length: 100, Key: 2<<32 | 1}); lent != want {
		t.Errorf("lent %+v, want %+v", lent, want)
	}
	check(t, w.Revoke(6, 0))
	again := must(w.Bind(7, piece, RemoteWrite, 0))(t)
	if again.Key == lent.Key {
		t.Error("lent twice under one key")
	}
	check(t, r.queue.Flush())
	if p.bells != 1 || len(p.requests) != 3 {
		t.Fatalf("%d doorbells for %d requests", p.bells, len(p.requests))
	}
	bind, revoke := p.requests[0], p.requests[1]
	if bind.Op != OpBind || bind.Flags != Quiet || bind.Span != piece || bind.Remote != lent || bind.Compare != 2 ||
		Access(bind.Swap) != RemoteRead|RemoteAtomic {
		t.Errorf("bind %+v", bind)
	}
	if revoke.Op != OpRevoke || revoke.Flags != 0 || revoke.Span != (Span{}) || revoke.Compare != 2 {
		t.Errorf("revoke %+v", revoke)
	}
	p.carryOut()
	got := r.poll(t)
	if len(got) != 2 || got[0].Tag != 6 || got[0].Op != OpRevoke || got[1].Tag != 7 || got[1].Op != OpBind {
		t.Errorf("completed %+v", got)
	}
}

func TestBadBindsAreRefused(t *testing.T) {
	r, p := lendingRig(t, QueueConfig{})
	w := must(r.pair.NewWindow())(t)
	good := r.memory.Span(0, 8)
	for name, c := range map[string]struct {
		piece  Span
		access Access
		flags  Flags
		want   error
	}{
		"empty":             {r.memory.Span(0, 0), RemoteRead, 0, ErrArgument},
		"for nothing":       {good, 0, 0, ErrArgument},
		"for the unknown":   {good, 0x80, 0, ErrArgument},
		"fenced":            {good, RemoteRead, Fence, ErrArgument},
		"inline":            {good, RemoteRead, Quiet | Inline, ErrArgument},
		"with unknown bits": {good, RemoteRead, 0x80, ErrArgument},
		"outside":           {r.memory.Span(4090, 8), RemoteRead, 0, ErrBounds},
	} {
		lent, err := w.Bind(1, c.piece, c.access, c.flags)
		if !errors.Is(err, c.want) || lent != (RemoteSpan{}) {
			t.Errorf("%s: %v, lent %+v", name, err, lent)
		}
	}
	if err := w.Revoke(1, 0); !errors.Is(err, ErrState) {
		t.Errorf("revoke of nothing: %v", err)
	}
	for _, op := range []Op{OpBind, OpRevoke} {
		if err := r.pair.Stage(&Request{Op: op, Span: good}); !errors.Is(err, ErrArgument) {
			t.Errorf("stage %v: %v", op, err)
		}
	}
	check(t, r.queue.Flush())
	if len(p.requests) != 0 {
		t.Errorf("the provider was given %+v", p.requests)
	}
}

// What cannot be staged changes nothing: the window can be bound, or revoked, later.
func TestLendingOnAFullQueue(t *testing.T) {
	r, p := lendingRig(t, QueueConfig{SendDepth: 1})
	w := must(r.pair.NewWindow())(t)
	bind := func() error {
		_, err := w.Bind(1, r.memory.Span(0, 8), RemoteRead, 0)
		return err
	}
	check(t, r.write(0, 0))
	if err := bind(); !errors.Is(err, ErrQueueFull) {
		t.Errorf("bind: %v", err)
	}
	r.finishAll(t, p)
	check(t, bind())
	if err := w.Revoke(2, 0); !errors.Is(err, ErrQueueFull) {
		t.Errorf("revoke: %v", err)
	}
	r.finishAll(t, p)
	if err := bind(); !errors.Is(err, ErrInUse) {
		t.Errorf("bind of what could not be revoked: %v", err)
	}
	check(t, w.Revoke(2, 0))
}

// finishAll lets everything staged be done.
func (r *rig) finishAll(t *testing.T, p *lendingPair) {
	t.Helper()
	check(t, r.queue.Flush())
	p.carryOut()
	r.poll(t)
}

func TestLendingBeforeConnecting(t *testing.T) {
	r, _ := lendingRig(t, QueueConfig{})
	fresh := must(r.domain.NewQueuePair(QueueConfig{Completions: r.queue}))(t)
	defer fresh.Close()
	fresh.driver = &lendingPair{fakePair: fresh.driver.(*fakePair)}
	w := must(fresh.NewWindow())(t)
	if _, err := w.Bind(1, r.memory.Span(0, 8), RemoteRead, 0); !errors.Is(err, ErrState) {
		t.Errorf("bind: %v", err)
	}
}

// Windows close in any order, once, and whatever is left closes with the queue pair, before it.
func TestWindowsCloseBeforeTheirPair(t *testing.T) {
	r, p := lendingRig(t, QueueConfig{})
	windows := make([]*Window, 6)
	for i := range windows {
		windows[i] = must(r.pair.NewWindow())(t)
	}
	for _, i := range []int{5, 0, 2} { // the last, the first, one between
		check(t, windows[i].Close())
		check(t, windows[i].Close())
	}
	for i, w := range r.pair.windows {
		if w.place != i || w.isClosed {
			t.Errorf("window %d thinks it is at %d, closed %t", i, w.place, w.isClosed)
		}
	}
	if len(r.pair.windows) != 3 || len(p.calls) != 3 {
		t.Errorf("%d windows are left, and %d were closed", len(r.pair.windows), len(p.calls))
	}
	check(t, r.pair.Close())
	if want := []string{"window", "window", "window", "window", "window", "window", "close"}; !slices.Equal(p.calls, want) {
		t.Errorf("closed in the order %v", p.calls)
	}
	for i, w := range p.made {
		if w.closed != 1 {
			t.Errorf("window %d was closed %d times", i, w.closed)
		}
	}
	if _, err := windows[1].Bind(1, r.memory.Span(0, 8), RemoteRead, 0); !errors.Is(err, ErrClosed) {
		t.Errorf("bind after Close: %v", err)
	}
	if err := windows[1].Revoke(1, 0); !errors.Is(err, ErrClosed) {
		t.Errorf("revoke after Close: %v", err)
	}
}

// A Reset hands over what is staged, closes the windows, and only then resets. One that cannot begin closes none.
func TestResetClosesWindows(t *testing.T) {
	r, p := lendingRig(t, QueueConfig{})
	w := must(r.pair.NewWindow())(t)
	must(w.Bind(1, r.memory.Span(0, 8), RemoteRead, 0))(t)
	for i := range Tag(ControlRoom) {
		check(t, r.pair.SetAccess(i, 0))
	}
	if err := r.pair.Reset(9); !errors.Is(err, ErrQueueFull) {
		t.Fatalf("reset: %v", err)
	}
	if len(p.calls) != 0 {
		t.Errorf("a Reset that was refused did %v", p.calls)
	}
	r.fake.queue.ready = append(r.fake.queue.ready, Completion{Tag: p.controls[len(p.controls)-1], Op: OpQueueAccess})
	r.poll(t)
	check(t, r.pair.Reset(9))
	if want := []string{"window", "reset"}; !slices.Equal(p.calls, want) || len(p.requests) != 1 {
		t.Errorf("reset did %v, with %d requests handed over", p.calls, len(p.requests))
	}
	if _, err := w.Bind(1, r.memory.Span(0, 8), RemoteRead, 0); !errors.Is(err, ErrClosed) {
		t.Errorf("bind after Reset: %v", err)
	}
}

// A window that the provider cannot close is closed all the same, and the error is heard.
func TestWindowsThatDoNotClose(t *testing.T) {
	r, p := lendingRig(t, QueueConfig{})
	must(r.pair.NewWindow())(t)
	must(r.pair.NewWindow())(t)
	p.failing = errors.New("stuck")
	if err := r.pair.Close(); !errors.Is(err, p.failing) {
		t.Errorf("close: %v", err)
	}
	if want := []string{"window", "window", "close"}; !slices.Equal(p.calls, want) {
		t.Errorf("did %v", p.calls)
	}
}
