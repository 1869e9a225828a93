package verbs

import (
	"errors"
	"testing"
)

func TestChildrenCloseFirst(t *testing.T) {
	r := newRig(t, QueueConfig{})
	for _, parent := range []interface{ Close() error }{r.device, r.domain, r.queue} {
		if err := parent.Close(); !errors.Is(err, ErrInUse) {
			t.Errorf("close %v with open children: %v", parent, err)
		}
	}
}

func TestCloseTwiceAndUseAfter(t *testing.T) {
	device := must(Open(newFakeDevice()))(t)
	domain := must(device.NewDomain())(t)
	queue := must(device.NewCompletionQueue(1000))(t)
	memory := must(domain.Alloc(64, 0))(t)
	pair := must(domain.NewQueuePair(QueueConfig{Completions: queue}))(t)
	for range 2 {
		for _, c := range []interface{ Close() error }{pair, memory, queue, domain, device} {
			check(t, c.Close())
		}
	}
	_, errDomain := device.NewDomain()
	_, errQueue := device.NewCompletionQueue(1)
	_, errAlloc := domain.Alloc(1, 0)
	_, errPoll := queue.Poll(nil)
	for name, err := range map[string]error{
		"new domain": errDomain, "new completion queue": errQueue, "alloc": errAlloc, "poll": errPoll,
		"wait":    queue.WaitUntil(0, 0),
		"send":    pair.Send(0, Span{}, 0),
		"receive": pair.Receive(0, Span{}),
		"connect": pair.Connect(0, "x"),
		"reset":   pair.Reset(0),
		"access":  pair.SetAccess(0, 0),
		"memory":  memory.SetAccess(queue, 0, 0),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	if pair.State() != Closed || pair.Room() != 0 || pair.ReceiveRoom() != 0 || pair.Address() != "" {
		t.Errorf("state %v, room %d and %d, address %q", pair.State(), pair.Room(), pair.ReceiveRoom(), pair.Address())
	}
	if _, err := queue.Attach(nil); !errors.Is(err, ErrClosed) {
		t.Errorf("attach after Close: %v", err)
	}
}

func TestBadConfigurations(t *testing.T) {
	r := newRig(t, QueueConfig{})
	other := newRig(t, QueueConfig{})
	for name, c := range map[string]struct {
		config QueueConfig
		want   error
	}{
		"no completion queue":     {QueueConfig{}, ErrArgument},
		"another device's":        {QueueConfig{Completions: other.queue}, ErrForeign},
		"negative depth":          {QueueConfig{Completions: r.queue, SendDepth: -1}, ErrLimit},
		"too deep":                {QueueConfig{Completions: r.queue, ReceiveDepth: 1001}, ErrLimit},
		"too many spans":          {QueueConfig{Completions: r.queue, MaxSpans: 4}, ErrLimit},
		"too much inline":         {QueueConfig{Completions: r.queue, MaxInline: 33}, ErrLimit},
		"unknown access":          {QueueConfig{Completions: r.queue, Access: 1 << 7}, ErrArgument},
		"negative wait":           {QueueConfig{Completions: r.queue, ReceiverWait: -1}, ErrArgument},
		"no room for completions": {QueueConfig{Completions: r.queue, SendDepth: 1000, ReceiveDepth: 1000}, nil},
	} {
		pair, err := r.domain.NewQueuePair(c.config)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if err == nil {
			defer pair.Close()
		}
	}
	for depth := r.queue.Room(); depth > 0; depth = r.queue.Room() {
		pair, err := r.domain.NewQueuePair(QueueConfig{Completions: r.queue, SendDepth: 900, ReceiveDepth: 900})
		if errors.Is(err, ErrQueueFull) {
			return
		}
		check(t, err)
		defer pair.Close()
	}
	t.Error("the completion queue was never full")
}

func TestWordsPanicLikeSlices(t *testing.T) {
	r := newRig(t, QueueConfig{})
	r.memory.Store64(4088, 5)
	if got := r.memory.Load64(4088); got != 5 {
		t.Errorf("stored 5, loaded %d", got)
	}
	for _, offset := range []int{-8, 4, 4089, 4096, 1 << 40} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Load64(%d) of 4096 bytes went through", offset)
				}
			}()
			r.memory.Load64(offset)
		}()
	}
}

func TestOpenNil(t *testing.T) {
	if _, err := Open(nil); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
}

func TestOpErrorAnswersIs(t *testing.T) {
	for _, c := range []struct {
		status Status
		is     error
	}{{RemoteAccess, ErrRefused}, {RemoteInvalid, ErrRefused}, {Flushed, ErrFlushed}, {RetryExceeded, ErrPeerGone}} {
		err := CompletionError(&Completion{Op: OpWrite, Status: c.status, Queue: 3})
		if !errors.Is(err, c.is) || errors.Is(err, ErrState) {
			t.Errorf("%v is not %v", err, c.is)
		}
	}
	if err := CompletionError(&Completion{}); err != nil {
		t.Error(err)
	}
}
