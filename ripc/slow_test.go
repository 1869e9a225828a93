package ripc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/link"
)

// flood is somebody who sends numbered messages to a service that receives nothing, until he is done, or has to stop.
type flood struct {
	to   ID
	stop context.CancelFunc
	all  sync.WaitGroup
	err  error // with which it has ended
}

// newFlood begins one, of n messages at most, and returns when the service has enough and the next message waits.
func newFlood(t *testing.T, from, at *Node, to ID, n int) *flood {
	t.Helper()
	f := &flood{to: to}
	var ctx context.Context
	ctx, f.stop = context.WithCancel(patient(t))
	f.all.Go(func() {
		for i := 0; i < n && f.err == nil; i++ {
			f.err = from.Send(ctx, to, fmt.Append(nil, i))
		}
	})
	t.Cleanup(func() {
		f.stop()
		f.all.Wait()
	})
	until(t, from, "the service has enough, and others have not", func() bool {
		p := from.office.peers[at.id]
		return p != nil && p.link != nil && !p.link.MaySend(to) && p.link.MaySend(Name("other")) && from.office.hub.Waiting() > 0
	})
	return f
}

// end is how it ends.
func (f *flood) end() error {
	f.all.Wait()
	return f.err
}

// register registers a service that is closed when the test ends.
func register(t *testing.T, n *Node, name string) *Service {
	t.Helper()
	s, err := n.Register(patient(t), name)
	check(t, err)
	t.Cleanup(func() { _ = s.Close() }) // the test may have done that
	return s
}

// receiveFrom receives numbered messages, from one up to, not including, another.
func receiveFrom(t *testing.T, s *Service, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		m, err := s.Receive(patient(t))
		check(t, err)
		if string(m.Bytes()) != fmt.Sprint(i) {
			t.Fatalf("message %d says %q", i, m.Bytes())
		}
		m.Release()
	}
}

// A service that receives nothing holds up those who send to it, and nobody else, in another process and in the same one. When it receives,
// nothing was lost.
func TestASlowServiceHoldsUpNoOther(t *testing.T) {
	for name, isSame := range map[string]bool{"another process": false, "the same": true} {
		t.Run(name, func(t *testing.T) {
			d := newDirectory()
			a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
			if isSame {
				a = b
			}
			slow := register(t, b, "slow")
			echo(t, b, "lively")
			f := newFlood(t, a, b, slow.ID(), 1000)
			var callers sync.WaitGroup
			for range 10 {
				callers.Go(func() {
					for range 1000 {
						ask(t, a, "lively", "still there?")
					}
				})
			}
			callers.Wait()
			receiveFrom(t, slow, 0, 1000)
			check(t, f.end())
			if s, err := a.Stats(); err != nil || s.Waiting != 0 || s.Refused != 0 {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

// Calls that go to and fro between two processes come to an end, however many are under way on their links: a handler of the one calls the other,
// whose handler calls another service of the one. Its link would have no room, if each call under way had a place there until it is answered.
func TestCallsToAndFroComeToAnEnd(t *testing.T) {
	const window, calls = 16, 100
	d := newDirectory()
	a, b := newNode(t, d, Config{Window: window}), newNode(t, d, Config{Window: window})
	var here atomic.Int64
	all := make(chan struct{})
	pass := func(n *Node, next string) Handler {
		return func(ctx context.Context, m *Message) error {
			answer, err := n.Call(ctx, Name(next), m.Items()...)
			if err == nil {
				answer.Release()
			}
			return err
		}
	}
	first := func(ctx context.Context, m *Message) error {
		if here.Add(1) == window { // all places of the link would be taken
			close(all)
		}
		select {
		case <-all:
			return pass(b, "second")(ctx, m)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	var servers sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	for _, s := range []struct {
		at     *Node
		name   string
		handle Handler
	}{{b, "first", first}, {a, "second", pass(a, "third")}} {
		service := register(t, s.at, s.name)
		servers.Go(func() { check(t, service.Serve(ctx, calls, s.handle)) })
	}
	defer servers.Wait()
	defer stop()
	echo(t, b, "third")
	var callers sync.WaitGroup
	for range calls {
		callers.Go(func() {
			m, err := a.Call(patient(t), Name("first"), []byte("to and fro"))
			if err != nil {
				t.Error(err)
				return
			}
			m.Release()
		})
	}
	callers.Wait()
}

// Who waits for a slow service can give up, and hears so when his node or the service ends; others go on.
func TestWhoWaitsForASlowServiceHearsItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, f *flood, a *Node, slow *Service)
		want []error // one of them
	}{
		"given up":              {func(_ *testing.T, f *flood, _ *Node, _ *Service) { f.stop() }, []error{context.Canceled}},
		"the sender is closed":  {func(t *testing.T, _ *flood, a *Node, _ *Service) { check(t, a.Close()) }, []error{ErrClosed}},
		"the service is closed": {func(t *testing.T, _ *flood, _ *Node, slow *Service) { check(t, slow.Close()) }, []error{ErrNoService}},
		"its node is closed": {func(t *testing.T, _ *flood, _ *Node, slow *Service) { check(t, slow.node.Close()) },
			[]error{ErrUnreachable, ErrLost}}, // the next may be sent when the service has ended, and the link has not
		"the sender shuts down": {func(t *testing.T, _ *flood, a *Node, slow *Service) { shutDown(t, a, slow) }, []error{ErrClosed, nil}},
		"its node is shut down": {func(t *testing.T, _ *flood, _ *Node, slow *Service) { shutDown(t, slow.node, slow) }, []error{ErrNoService}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDirectory()
			a, b := newNode(t, d, Config{}), newNode(t, d, Config{Window: 8})
			slow := register(t, b, "slow")
			f := newFlood(t, a, b, slow.ID(), 1000)
			c.end(t, f, a, slow)
			err := f.end()
			if !slices.ContainsFunc(c.want, func(want error) bool { return errors.Is(err, want) }) {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

// shutDown ends a node well, while what a service has is received.
func shutDown(t *testing.T, n *Node, slow *Service) {
	t.Helper()
	var receiver sync.WaitGroup
	receiver.Go(func() {
		for m, err := range slow.Messages(context.Background()) {
			if err != nil {
				return
			}
			m.Release()
		}
	})
	check(t, n.Shutdown(patient(t)))
	_ = slow.Close() // its node may be closed
	receiver.Wait()
}

// What waits for a slow service follows it to another process, also if the one that had it does not know of that.
func TestWhatWaitsFollowsASlowService(t *testing.T) {
	d := newDirectory()
	a, b, c := newNode(t, d, Config{}), newNode(t, d, Config{Window: 8}), newNode(t, d, Config{})
	f := newFlood(t, a, b, register(t, b, "slow").ID(), 100)
	d.mu.Lock()
	delete(d.holds, f.to) // or b would be told
	d.mu.Unlock()
	next := register(t, c, "slow")
	records, err := d.Find(patient(t), f.to)
	check(t, err)
	d.Tell(find.Change{What: find.Moved, Record: records[0]})
	m, err := next.Receive(patient(t))
	check(t, err)
	first, err := strconv.Atoi(string(m.Bytes()))
	check(t, err)
	m.Release()
	receiveFrom(t, next, first+1, 100)
	check(t, f.end())
}

// A call that is given up before a slow service takes it was not sent, and does not come later.
func TestACallThatASlowServiceNeverTook(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{Window: 8})
	slow := register(t, b, "slow")
	newFlood(t, a, b, slow.ID(), 100).stop()
	ctx, cancel := context.WithCancel(patient(t))
	var caller sync.WaitGroup
	caller.Go(func() {
		if _, err := a.Call(ctx, slow.ID()); !errors.Is(err, link.ErrNotSent) || !errors.Is(err, context.Canceled) {
			t.Errorf("the call: %v", err)
		}
	})
	until(t, a, "the call waits", func() bool { return a.office.hub.Waiting() == 1 })
	cancel()
	caller.Wait()
	check(t, a.on(func() {
		if n := a.office.hub.Waiting(); n != 0 {
			t.Errorf("%d wait", n)
		}
	}))
}

// Who sends with Drop does not wait for a slow service; what is for others is not dropped.
func TestDropsAreForTheSlowServiceAlone(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{Window: 8})
	slow, lively := register(t, b, "slow"), register(t, b, "lively")
	newFlood(t, a, b, slow.ID(), 100)
	for _, to := range []*Service{slow, lively} {
		check(t, a.Post(patient(t), Request{To: to.ID(), Drop: true, Items: [][]byte{[]byte("0")}}))
	}
	receiveFrom(t, lively, 0, 1)
	if s, err := a.Stats(); err != nil || s.Dropped != 1 {
		t.Errorf("%d were dropped, %v", s.Dropped, err)
	}
}

// A group has its messages wait for members that receive nothing, and what else goes to their process does not.
func TestASlowGroupHoldsUpNoOther(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{Window: 8})
	member, err := b.Join(patient(t), "all")
	check(t, err)
	defer func() { check(t, member.Close()) }()
	echo(t, b, "lively")
	f := newFlood(t, a, b, member.ID(), 100)
	for range 100 {
		ask(t, a, "lively", "still there?")
	}
	receiveFrom(t, member, 0, 100)
	check(t, f.end())
}
