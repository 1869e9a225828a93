package verbs

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/verbs/driver"
)

func TestOneDoorbellForAList(t *testing.T) {
	r := newRig(t, QueueConfig{})
	for tag := range Tag(10) {
		check(t, r.write(tag, 0))
	}
	if r.fake.bells != 0 {
		t.Fatalf("%d doorbells before Flush", r.fake.bells)
	}
	check(t, r.queue.Flush())
	check(t, r.queue.Flush())
	if r.fake.bells != 1 || len(r.fake.requests) != 10 {
		t.Fatalf("%d doorbells for %d requests, want 1 for 10", r.fake.bells, len(r.fake.requests))
	}
}

// Tags come back untouched and in order while the provider's sequence numbers cross their wrap.
func TestTagsComeBack(t *testing.T) {
	r := newRig(t, QueueConfig{SendDepth: 7})
	for round := range Tag(100) {
		for i := range Tag(7) {
			check(t, r.write(round<<40|i, 0))
		}
		check(t, r.queue.Flush())
		r.fake.carryOut()
		for i, c := range r.poll(t) {
			if want := round<<40 | Tag(i); c.Tag != want || c.Queue != r.pair.Number() {
				t.Fatalf("round %d: completion %d is %+v, want tag %#x", round, i, c, uint64(want))
			}
		}
	}
}

func TestQueueFullAndRecovery(t *testing.T) {
	r := newRig(t, QueueConfig{SendDepth: 4})
	for tag := range Tag(4) {
		check(t, r.write(tag, 0))
	}
	if err := r.write(9, 0); !errors.Is(err, ErrQueueFull) {
		t.Fatalf("the fifth of four: %v", err)
	}
	check(t, r.queue.Flush())
	r.fake.finish(0, OK)
	if got := r.poll(t); len(got) != 1 || r.pair.Room() != 1 {
		t.Fatalf("after one completion: %v, room %d", got, r.pair.Room())
	}
	check(t, r.write(9, 0))
}

// DESIGN: when half a send queue is Quiet, verbs signals one itself and swallows it, so that all-Quiet never deadlocks.
func TestAllQuietNeverDeadlocks(t *testing.T) {
	for _, depth := range []int{1, 2, 3, 8, 64} {
		r := newRig(t, QueueConfig{SendDepth: depth})
		for i := range 1000 {
			if r.pair.Room() == 0 {
				check(t, r.queue.Flush())
				r.fake.carryOut()
				if got := r.poll(t); len(got) != 0 {
					t.Fatalf("depth %d: a Quiet request was reported: %+v", depth, got)
				}
			}
			if err := r.write(Tag(i), Quiet); err != nil {
				t.Fatalf("depth %d, request %d: %v", depth, i, err)
			}
		}
		r.drain(t)
	}
}

func (r *rig) drain(t *testing.T) {
	check(t, r.queue.Flush())
	r.fake.carryOut()
	r.poll(t)
}

func TestQuietFailureIsReported(t *testing.T) {
	r := newRig(t, QueueConfig{SendDepth: 8})
	for tag := range Tag(3) {
		check(t, r.write(tag, Quiet))
	}
	check(t, r.queue.Flush())
	r.fake.finish(1, RemoteAccess) // the first succeeded in silence
	r.fake.finish(2, Flushed)
	got := r.poll(t)
	if len(got) != 2 || got[0].Tag != 1 || got[0].Status != RemoteAccess || got[1].Tag != 2 || got[1].Status != Flushed {
		t.Fatalf("%+v", got)
	}
	if r.pair.Room() != 8 {
		t.Errorf("room %d after everything ended, want 8", r.pair.Room())
	}
}

// A write that is done when it returns overtakes nothing that is staged, and writes no more than the span has.
func TestWriteNow(t *testing.T) {
	r := newRig(t, QueueConfig{SendDepth: 8})
	b, to := make([]byte, 8), RemoteSpan{Length: 8}
	if !r.pair.WriteNow(b, to) || r.fake.written != 8 {
		t.Error("it was not written")
	}
	if r.pair.WriteNow(b, RemoteSpan{Length: 7}) {
		t.Error("more was written than the span has")
	}
	if r.fake.isBusy = true; r.pair.WriteNow(b, to) {
		t.Error("it was written by a provider that did not")
	}
	r.fake.isBusy = false
	check(t, r.write(1, Quiet))
	if r.pair.WriteNow(b, to) {
		t.Error("it has overtaken what was staged")
	}
	if check(t, r.queue.Flush()); !r.pair.WriteNow(b, to) || r.fake.written != 16 {
		t.Error("it was not written behind what was posted")
	}
	q := must(r.domain.NewQueuePair(QueueConfig{Completions: r.queue}))(t)
	if q.WriteNow(b, to) {
		t.Error("it was written by a queue pair that is not connected")
	}
	check(t, q.Close())
}

func TestProviderFaultsAreNoticed(t *testing.T) {
	for name, misbehave := range map[string]func(p *fakePair){
		"twice":        func(p *fakePair) { p.finish(0, OK); p.finish(0, OK) },
		"out of order": func(p *fakePair) { p.finish(1, OK); p.finish(0, OK) },
		"invented": func(p *fakePair) {
			p.queue.ready = append(p.queue.ready, Completion{Tag: p.requests[0].Tag + 50})
		},
		"a control operation that was not started": func(p *fakePair) {
			p.queue.ready = append(p.queue.ready, Completion{Tag: p.controls[0], Op: OpConnect})
		},
		"a change of memory access that was not started": func(p *fakePair) {
			p.queue.ready = append(p.queue.ready, Completion{Tag: makeToken(kindMemory, 0, 0, 3), Op: OpMemoryAccess})
		},
	} {
		r := newRig(t, QueueConfig{})
		check(t, r.write(1, 0))
		check(t, r.write(2, 0))
		check(t, r.queue.Flush())
		misbehave(r.fake)
		if _, err := r.queue.Poll(make([]Completion, 10)); !errors.Is(err, ErrProvider) {
			t.Errorf("%s: %v, want ErrProvider", name, err)
		}
	}
}

func TestResetForgetsOnlyWhatSucceeded(t *testing.T) {
	for _, c := range []struct {
		flags Flags
		want  error
	}{{Quiet, nil}, {0, ErrProvider}} {
		r := newRig(t, QueueConfig{})
		check(t, r.write(1, c.flags))
		check(t, r.pair.Reset(2))
		if err := r.write(3, 0); !errors.Is(err, ErrState) {
			t.Errorf("a write while a Reset is under way: %v", err)
		}
		r.fake.queue.ready = append(r.fake.queue.ready, Completion{Tag: r.fake.controls[1], Op: OpReset})
		_, err := r.queue.Poll(make([]Completion, 10))
		if !errors.Is(err, c.want) {
			t.Errorf("Reset without flushing a request with flags %v: %v, want %v", c.flags, err, c.want)
		}
		r.connect(t)
		if r.pair.Room() != 64 {
			t.Errorf("room %d after Reset", r.pair.Room())
		}
	}
}

func TestClosedPairsCompletionsAreDropped(t *testing.T) {
	r := newRig(t, QueueConfig{})
	check(t, r.write(1, 0))
	check(t, r.queue.Flush())
	old := r.fake
	check(t, r.pair.Close())
	r.pair = must(r.domain.NewQueuePair(QueueConfig{Completions: r.queue}))(t) // takes the slot over
	old.finish(0, OK)
	if got := r.poll(t); len(got) != 0 {
		t.Errorf("a completion of a closed queue pair came through: %+v", got)
	}
}

func TestPiecesAreCopied(t *testing.T) {
	r := newRig(t, QueueConfig{MaxSpans: 3})
	pieces := []Span{r.memory.Span(8, 8), r.memory.Span(16, 8)}
	want := slices.Clone(pieces)
	for range 20 { // enough to make the copies grow
		check(t, r.pair.Stage(&Request{Op: OpSend, Span: r.memory.Span(0, 8), More: pieces}))
	}
	pieces[0], pieces[1] = Span{}, Span{}
	check(t, r.queue.Flush())
	for i, posted := range r.fake.requests {
		if !slices.Equal(posted.More, want) {
			t.Fatalf("request %d was posted with pieces %+v", i, posted.More)
		}
	}
}

// What is staged in the place of an old one has nothing left of it.
func TestPlacesAreUsedAgain(t *testing.T) {
	r := newRig(t, QueueConfig{MaxSpans: 3})
	pool := &SharedReceives{queue: r.queue, driver: r.fake, config: SharedConfig{Depth: 4, MaxSpans: 3}}
	word := r.memory.Span(0, 8)
	full := Request{Op: OpSendImm, Imm: 7, Span: word, More: []Span{word, word}}
	check(t, r.pair.Stage(&full))
	check(t, r.pair.StageReceive(&Receive{Span: word, More: full.More}))
	check(t, pool.StageReceive(&Receive{Span: word, More: full.More}))
	check(t, r.queue.Flush())
	check(t, r.pair.Send(0, word, 0))
	check(t, r.pair.Receive(0, word))
	check(t, pool.Receive(0, word))
	check(t, r.queue.Flush())
	if got := r.fake.requests[1]; len(got.More) > 0 || got.Imm != 0 {
		t.Errorf("a plain request was posted as %+v", got)
	}
	for i, got := range r.fake.receives[2:] {
		if len(got.More) > 0 {
			t.Errorf("plain receive %d was posted as %+v", i, got)
		}
	}
}

func TestBadRequests(t *testing.T) {
	r := newRig(t, QueueConfig{})
	m := r.memory
	word, remote := m.Span(0, 8), m.Remote(0, 4096)
	big := Span{Address: word.Address, Length: 1<<20 + 1, Key: word.Key}
	for name, c := range map[string]struct {
		request Request
		want    error
	}{
		"no operation":          {Request{}, ErrArgument},
		"a receive as request":  {Request{Op: OpReceive}, ErrArgument},
		"unknown flag":          {Request{Op: OpSend, Flags: 1 << 7}, ErrArgument},
		"span past the end":     {Request{Op: OpSend, Span: m.Span(4090, 7)}, ErrBounds},
		"span before the start": {Request{Op: OpSend, Span: m.Span(-1, 1)}, ErrBounds},
		"negative length":       {Request{Op: OpSend, Span: m.Span(0, -1)}, ErrBounds},
		"second piece outside":  {Request{Op: OpSend, Span: word, More: []Span{m.Span(4096, 1)}}, ErrBounds},
		"remote too short":      {Request{Op: OpWrite, Span: word, Remote: m.Remote(0, 7)}, ErrBounds},
		"no remote":             {Request{Op: OpRead, Span: word}, ErrBounds},
		"too long":              {Request{Op: OpSend, Span: big}, ErrLimit},
		"too many pieces":       {Request{Op: OpSend, Span: word, More: []Span{word, word, word}}, ErrLimit},
		"too long for inline":   {Request{Op: OpSend, Span: m.Span(0, 33), Flags: Inline}, ErrLimit},
		"inline read":           {Request{Op: OpRead, Span: word, Remote: remote, Flags: Inline}, ErrArgument},
		"atomic of 4 bytes":     {Request{Op: OpFetchAdd, Span: m.Span(0, 4), Remote: remote}, ErrArgument},
		"unaligned atomic":      {Request{Op: OpFetchAdd, Span: word, Remote: m.Remote(4, 8)}, ErrArgument},
		"unaligned result":      {Request{Op: OpCompareSwap, Span: m.Span(4, 8), Remote: remote}, ErrArgument},
		"chain without support": {Request{Op: OpSend, After: r.pair.Arrival(1)}, ErrNotSupported},
		"inline chain":          {Request{Op: OpSend, Flags: Inline, After: r.pair.Arrival(1)}, ErrNotSupported},
	} {
		if err := r.pair.Stage(&c.request); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	for name, err := range map[string]error{"request": r.pair.Stage(nil), "receive": r.pair.StageReceive(nil)} {
		if !errors.Is(err, ErrArgument) {
			t.Errorf("no %s: %v", name, err)
		}
	}
	if r.pair.Room() != 64 {
		t.Errorf("refused requests took room: %d left of 64", r.pair.Room())
	}
}

// What a provider refuses is dropped, with an error that says how much; what it took goes on, and room comes back.
func TestFlushReportsTheProvider(t *testing.T) {
	r := newRig(t, QueueConfig{SendDepth: 8})
	lost := errors.New("device lost")
	r.fake.failing, r.fake.takes = lost, 2
	for tag := range Tag(5) {
		check(t, r.write(tag, 0))
		check(t, r.pair.Receive(tag, Span{}))
	}
	if _, err := r.queue.Poll(nil); !errors.Is(err, lost) || !strings.Contains(err.Error(), "3 of 5 requests") {
		t.Errorf("poll flushes, and reports %v", err)
	}
	if r.pair.Room() != 6 || r.pair.ReceiveRoom() != 62 {
		t.Errorf("room %d of 8 and %d of 64 after two of five were taken", r.pair.Room(), r.pair.ReceiveRoom())
	}
	r.fake.failing = nil
	check(t, r.write(7, Quiet)) // signaled, because the last signaled one may have been refused
	check(t, r.queue.Flush())
	r.fake.carryOut()
	if got := r.poll(t); len(got) != 2 || got[0].Tag != 0 || got[1].Tag != 1 || r.pair.Room() != 8 {
		t.Errorf("%+v came, room %d", got, r.pair.Room())
	}
}

// A provider that completes what was not posted yet is found out. Of several breaches the first is reported.
func TestNothingIsOutstanding(t *testing.T) {
	r := newRig(t, QueueConfig{})
	next := func(kind tokenKind, h *history, op Op) Completion {
		return Completion{Tag: makeToken(kind, r.pair.slot, r.pair.generation, h.next), Op: op}
	}
	request, receive := next(kindRequest, &r.pair.requests, OpSend), next(kindReceive, &r.pair.receives, OpReceive)
	for first, list := range map[string][]Completion{"request": {request, receive}, "receive": {receive, request}} {
		r.fake.queue.ready = list
		_, err := r.queue.Poll(make([]Completion, 2))
		if !errors.Is(err, ErrProvider) || !strings.Contains(err.Error(), "completed "+first) {
			t.Errorf("a %s that was not posted has completed: %v", first, err)
		}
	}
	if r.pair.Room() != 64 || r.pair.ReceiveRoom() != 64 {
		t.Errorf("room for %d requests and %d receives, want 64", r.pair.Room(), r.pair.ReceiveRoom())
	}
	if _, err := r.queue.Poll(nil); err != nil {
		t.Errorf("it is reported again: %v", err)
	}
}

func TestSpansLongerThanARequest(t *testing.T) {
	m := &Memory{region: driver.Region{Length: 1 << 40}}
	if s := m.Span(0, 1<<32+8); s.Key != driver.BadKey {
		t.Errorf("a span of more than 4 GiB came out as %+v", s)
	}
	if s := m.Span(1<<39, 1<<31); s.Key == driver.BadKey || s.Length != 1<<31 {
		t.Errorf("a span in the middle came out as %+v", s)
	}
	if r := m.Remote(1, 1<<40-1); r.Length != 1<<40-1 {
		t.Errorf("a remote span of nearly everything came out as %+v", r)
	}
}

func TestStagingDoesNotAllocate(t *testing.T) {
	r := newRig(t, QueueConfig{})
	into := make([]Completion, 64)
	from, to := r.memory.Span(0, 8), r.memory.Remote(8, 8)
	more := []Span{from}
	got := testing.AllocsPerRun(1000, func() {
		for i := range 32 {
			_ = r.pair.Write(Tag(i), from, to, 0)
		}
		_ = r.pair.Stage(&Request{Op: OpSend, Span: from, More: more})
		_ = r.queue.Flush()
		r.fake.carryOut()
		r.fake.queue.ready = r.fake.queue.ready[:min(len(r.fake.queue.ready), 64)]
		_, _ = r.queue.Poll(into)
	})
	if got > 2 { // the fake's own copy of More, and its list of completions
		t.Errorf("%v allocations for 33 requests", got)
	}
}

func TestSetAccessNeedsTheCapability(t *testing.T) {
	r := newRig(t, QueueConfig{})
	if err := r.memory.SetAccess(r.queue, 1, 0); !errors.Is(err, ErrNotSupported) {
		t.Error(err)
	}
	if _, err := r.domain.AllocPhantom(1, 0); !errors.Is(err, ErrNotSupported) {
		t.Error(err)
	}
	if _, err := r.domain.NewSharedReceives(SharedConfig{Completions: r.queue}); !errors.Is(err, ErrNotSupported) {
		t.Error(err)
	}
	if err := r.queue.WaitUntil(0, 0); !errors.Is(err, ErrNotSupported) {
		t.Error(err)
	}
	if _, counts := r.device.Locks(); counts {
		t.Error("the fake counts locks")
	}
	if err := r.memory.Mark(0, 1, Origin{}); !errors.Is(err, ErrNotSupported) {
		t.Error(err)
	}
}

var _ driver.Device = (*fakeDevice)(nil)
