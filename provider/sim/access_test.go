package sim

import (
	"bytes"
	"testing"
	"time"

	"github.com/weft-fabric/weft/verbs/driver"
)

// refusal is a request that the target must refuse.
type refusal struct {
	name    string
	prepare func(t *testing.T, b *host, qb *queuePair)
	request func(a, b *host) driver.Request
	status  driver.Status
}

var refusals = []refusal{
	{"wrong key", nil, func(a, b *host) driver.Request {
		r := b.remote(0, 8)
		r.Key++
		return driver.Request{Op: driver.OpWrite, Span: a.span(0, 8), Remote: r}
	}, driver.RemoteAccess},
	{"past the end", nil, func(a, b *host) driver.Request {
		return driver.Request{Op: driver.OpWrite, Span: a.span(0, 9), Remote: b.remote(testSize-8, 9)}
	}, driver.RemoteAccess},
	{"before the start", nil, func(a, b *host) driver.Request {
		return driver.Request{Op: driver.OpRead, Span: a.span(0, 9), Remote: b.remote(-1, 9)}
	}, driver.RemoteAccess},
	{"more than the capability", nil, func(a, b *host) driver.Request {
		return driver.Request{Op: driver.OpWrite, Span: a.span(0, 9), Remote: b.remote(0, 8)}
	}, driver.RemoteAccess},
	{"closed memory", func(t *testing.T, b *host, _ *queuePair) { must(t, b.memory.Close()) },
		func(a, b *host) driver.Request {
			return driver.Request{Op: driver.OpWrite, Span: a.span(0, 8), Remote: b.remote(0, 8)}
		}, driver.RemoteAccess},
	{"memory may not be read", func(_ *testing.T, b *host, _ *queuePair) { b.memory.access = driver.RemoteWrite },
		func(a, b *host) driver.Request {
			return driver.Request{Op: driver.OpRead, Span: a.span(0, 8), Remote: b.remote(0, 8)}
		}, driver.RemoteAccess},
	{"queue pair may not write", func(_ *testing.T, _ *host, q *queuePair) { q.access = driver.RemoteRead },
		func(a, b *host) driver.Request {
			return driver.Request{Op: driver.OpWriteImm, Span: a.span(0, 8), Remote: b.remote(0, 8)}
		}, driver.RemoteInvalid},
	{"atomic on half words", nil, func(a, b *host) driver.Request {
		return driver.Request{Op: driver.OpFetchAdd, Span: a.span(0, 8), Remote: b.remote(4, 8)}
	}, driver.RemoteInvalid},
	{"other domain", func(t *testing.T, b *host, _ *queuePair) {
		other, err := b.device.NewDomain()
		must(t, err)
		m, err := other.(*Domain).Alloc(64, driver.RemoteAll)
		must(t, err)
		b.memory = m.(*memory)
	}, func(a, b *host) driver.Request {
		return driver.Request{Op: driver.OpWrite, Span: a.span(0, 8), Remote: b.remote(0, 8)}
	}, driver.RemoteAccess},
}

func TestRefusalsPutBothEndsInError(t *testing.T) {
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			f, a, b, qa, qb := couple(t, Config{})
			qb.mustReceive(t, driver.Receive{Tag: 9, Span: b.span(0, 1)})
			if c.prepare != nil {
				c.prepare(t, b, qb)
			}
			qa.must(t, driver.Request{Tag: 1, Op: driver.OpRead}, c.request(a, b), driver.Request{Tag: 3, Op: driver.OpSend})
			a.want(driver.OpRead, driver.OK)
			if got := a.take(); got.Status != c.status {
				t.Errorf("ended as %v, want %v", got.Status, c.status)
			}
			a.want(driver.OpSend, driver.Flushed)
			b.want(driver.OpReceive, driver.Flushed)
			if qa.State() != driver.Error || qb.State() != driver.Error {
				t.Errorf("states %v, %v", qa.State(), qb.State())
			}
			settled(t, f)
		})
	}
}

func TestLocalProtection(t *testing.T) {
	for _, c := range []struct {
		name string
		op   driver.Op
		span func(a, b *host) driver.Span
	}{
		{"no key", driver.OpWrite, func(a, _ *host) driver.Span { s := a.span(0, 8); s.Key = 0; return s }},
		{"another's key", driver.OpWrite, func(_, _ *host) driver.Span {
			return driver.Span{Length: 8, Address: 1 << 40, Key: 1 << 30}
		}},
		{"past the end", driver.OpSend, func(a, _ *host) driver.Span { return a.span(testSize-7, 8) }},
		{"read", driver.OpRead, func(a, _ *host) driver.Span { return a.span(testSize-7, 8) }},
		{"stale", driver.OpWrite, func(a, _ *host) driver.Span {
			m, _ := a.domain.Alloc(8, 0)
			r := m.Region()
			_ = m.Close()
			_, _ = a.domain.Alloc(8, 0) // takes the same place
			return driver.Span{Address: r.Address, Length: 8, Key: r.LocalKey}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, a, b, qa, _ := couple(t, Config{})
			qa.must(t, driver.Request{Tag: 1, Op: driver.OpWrite, Span: a.span(0, 8), Remote: b.remote(0, 8)},
				driver.Request{Tag: 2, Op: c.op, Span: c.span(a, b), Remote: b.remote(0, 8)},
				driver.Request{Tag: 3, Op: driver.OpWrite, Span: a.span(0, 8), Remote: b.remote(8, 8)})
			a.setWord(0, 1)
			a.want(driver.OpWrite, driver.OK)
			a.want(c.op, driver.LocalProtection)
			a.want(driver.OpWrite, driver.Flushed)
			if b.word(8) != 0 {
				t.Error("what was behind the failure landed")
			}
			settled(t, f)
		})
	}
}

// When a revocation completes, nothing that only the old access allowed can land any more.
func TestRevokedMeansRevoked(t *testing.T) {
	for _, gate := range []string{"queue pair", "memory"} {
		f, a, b, qa, qb := couple(t, Config{Seed: 5})
		for i := range a.bytes() {
			a.bytes()[i] = byte(i) | 1
		}
		list := make([]driver.Request, testDepth)
		for i := range list {
			list[i] = driver.Request{Op: driver.OpWrite, Span: a.span(0, 1000), Remote: b.remote(1000*i, 1000)}
		}
		qa.must(t, list...)
		// Begin early enough for the change to fall into the stream.
		access := f.delay.access
		f.delay.access = 6000
		if gate == "memory" {
			must(t, b.memory.SetAccess(b.queue, 77, driver.RemoteRead))
		} else {
			must(t, qb.SetAccess(77, driver.RemoteRead))
		}
		f.delay.access = access
		c := b.take()
		if c.Tag != 77 || c.Status != driver.OK || !(c.Op == driver.OpMemoryAccess || c.Op == driver.OpQueueAccess) {
			t.Fatalf("got %+v", c)
		}
		seen := bytes.Clone(b.bytes())
		if seen[0] == 0 || seen[63*1000] != 0 {
			t.Fatal("the change did not fall into the stream")
		}
		must(t, f.Run(f.now.Add(time.Second)))
		if !bytes.Equal(seen, b.bytes()) {
			t.Errorf("%s: something landed after the revocation", gate)
		}
		refused := 0
		for _, c := range a.poll() {
			if c.Status.Refused() {
				refused++
			}
		}
		if refused != 1 {
			t.Errorf("%s: %d requests were refused, want 1 and the rest flushed", gate, refused)
		}
		settled(t, f)
	}
}

// A read that has passed the gates, and whose bytes have not left when they are shut, is refused too.
func TestRevokedReadsBringNothing(t *testing.T) {
	f, a, b, qa, qb := couple(t, quiet())
	b.bytes()[0] = 1
	qa.must(t, driver.Request{Op: driver.OpRead, Span: a.span(0, 60000), Remote: b.remote(0, 60000)})
	f.At(f.now+3000, func() { qb.access = 0 })
	a.want(driver.OpRead, driver.RemoteInvalid)
	if a.bytes()[0] != 0 {
		t.Error("bytes came back")
	}
	settled(t, f)
}

// However long the answers travel, those before a refusal count, and word that the target left comes behind them.
func TestAnswersComeBeforeTheGoodbye(t *testing.T) {
	for seed := range uint64(50) {
		_, a, b, qa, _ := couple(t, Config{Seed: seed, Jitter: 20})
		list := make10(driver.Request{Op: driver.OpWrite, Span: a.span(0, 8), Remote: b.remote(0, 8)})
		list[9].Remote.Key++
		qa.must(t, list...)
		for range 9 {
			a.want(driver.OpWrite, driver.OK)
		}
		a.want(driver.OpWrite, driver.RemoteAccess)
	}
}

// A message of an earlier connection does not land in a later one of the same queue pairs.
func TestOldMessagesDoNotLandInNewConnections(t *testing.T) {
	costs := DefaultCosts()
	costs.Reset = 0
	for seed := range uint64(50) {
		_, a, b, qa, qb := couple(t, Config{Seed: seed, Jitter: 50, Costs: &costs})
		a.bytes()[0] = 1
		qa.must(t, driver.Request{Op: driver.OpWrite, Flags: driver.Inline, Span: a.span(0, 1), Remote: b.remote(0, 1)})
		a.fabric.At(a.fabric.now+400, func() { must(t, qa.Reset(1)); must(t, qb.Reset(2)) })
		a.want(driver.OpWrite, driver.Flushed)
		a.want(driver.OpReset, driver.OK)
		b.want(driver.OpReset, driver.OK)
		join(a, b, qa, qb)
		if landed := b.bytes()[0]; landed == 0 {
			must(t, a.fabric.Run(a.fabric.now.Add(time.Millisecond)))
			if b.bytes()[0] != 0 {
				t.Fatalf("seed %d: a write of the old connection landed in the new one", seed)
			}
		}
	}
}

func TestStaleAddressDoesNotConnect(t *testing.T) {
	f := newFabric(t, Config{})
	a, b := newHost(t, f, NodeConfig{Name: "a"}), newHost(t, f, NodeConfig{Name: "b"})
	qa, qb := a.pair(), b.pair()
	stale := qb.Address()
	must(t, qb.Reset(1))
	b.want(driver.OpReset, driver.OK)
	must(t, qa.Connect(2, stale))
	must(t, qb.Connect(3, qa.Address()))
	a.want(driver.OpConnect, driver.RetryExceeded)
	b.want(driver.OpConnect, driver.RetryExceeded)
}

// Two Resets overlap: what was begun between their completions is flushed by the second.
func TestOverlappingResets(t *testing.T) {
	f, a, b, qa, _ := couple(t, Config{})
	must(t, qa.Reset(1))
	must(t, f.Run(f.now.Add(100*time.Microsecond)))
	must(t, qa.Reset(2))
	a.want(driver.OpReset, driver.OK)
	must(t, qa.Connect(3, b.pair().Address()))
	if c := a.want(driver.OpConnect, driver.Flushed); c.Tag != 3 {
		t.Errorf("got %+v", c)
	}
	a.want(driver.OpReset, driver.OK)
	if qa.State() != driver.New {
		t.Errorf("state %v", qa.State())
	}
}

func TestResetFlushesThenReconnects(t *testing.T) {
	f, a, b, qa, qb := couple(t, Config{})
	before := qa.Address()
	qa.mustReceive(t, driver.Receive{Tag: 1})
	qa.must(t, driver.Request{Tag: 2, Op: driver.OpWrite, Span: a.span(0, 8), Remote: b.remote(0, 8)})
	must(t, qa.Reset(3))
	if qa.State() != driver.Error {
		t.Errorf("while it resets, the state is %v", qa.State())
	}
	a.want(driver.OpWrite, driver.Flushed)
	a.want(driver.OpReceive, driver.Flushed)
	a.want(driver.OpReset, driver.OK)
	if qa.State() != driver.New || qa.Address() == before {
		t.Errorf("state %v, address %v, before %v", qa.State(), qa.Address(), before)
	}
	must(t, qb.Reset(4))
	b.want(driver.OpReset, driver.OK)
	join(a, b, qa, qb)
	qa.must(t, driver.Request{Op: driver.OpWrite})
	a.want(driver.OpWrite, driver.OK)
	settled(t, f)
}

// A gate that is being shut shuts, even if nobody is left to hear of it.
func TestAccessChangesWithoutItsQueue(t *testing.T) {
	f, a, b, qa, _ := couple(t, Config{})
	other, err := b.device.NewCompletionQueue(1)
	must(t, err)
	must(t, b.memory.SetAccess(other, 1, driver.RemoteRead))
	must(t, other.Close())
	must(t, f.Run(f.now.Add(time.Millisecond)))
	qa.must(t, driver.Request{Op: driver.OpWrite, Span: a.span(0, 8), Remote: b.remote(0, 8)})
	a.want(driver.OpWrite, driver.RemoteAccess)
	if n := other.(*completionQueue).items.count; n != 0 {
		t.Errorf("a closed queue holds %d completions", n)
	}
}

// What was under way on a node when it crashed does not happen any more: no change of access, no Reset.
func TestNothingChangesOnACrashedNode(t *testing.T) {
	var after []Event
	f, _, b, _, qb := couple(t, Config{Observe: func(e Event) { after = append(after, e) }})
	must(t, b.memory.SetAccess(b.queue, 1, 0))
	must(t, qb.SetAccess(2, 0))
	must(t, qb.Reset(3))
	must(t, f.Crash("b"))
	after = nil
	must(t, f.Run(f.now.Add(time.Second)))
	for _, e := range after {
		if e.Node == 1 {
			t.Errorf("the dead node did something: %+v", e)
		}
	}
	settled(t, f)
}
