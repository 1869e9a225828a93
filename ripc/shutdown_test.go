package ripc

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/ripc/find"
)

// Who registers a name twice is told so, and the first goes on.
func TestANameIsTakenOnceInAProcess(t *testing.T) {
	d := newDirectory()
	a, b := newNode(t, d, Config{}), newNode(t, d, Config{})
	s := echo(t, a, "echo")
	for range 2 {
		if _, err := a.Register(patient(t), "echo"); !errors.Is(err, find.ErrTaken) {
			t.Errorf("%v", err)
		}
	}
	m, err := b.Call(patient(t), s.ID(), []byte("hello"))
	check(t, err)
	m.Release()
}

// serveOne has a service whose handler begins, and goes on when it is told to.
func serveOne(t *testing.T, n *Node, then Handler) (begun, goOn chan struct{}) {
	s, err := n.Register(patient(t), "slow")
	check(t, err)
	begun, goOn = make(chan struct{}), make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		err := s.Serve(context.Background(), 1, func(ctx context.Context, m *Message) error {
			close(begun)
			<-goOn
			return then(ctx, m)
		})
		if !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
	t.Cleanup(done.Wait)
	return begun, goOn
}

// A handler may make a call of its own while the node is shut down, which is not held up by that for ever.
func TestAHandlerCallsDuringShutdown(t *testing.T) {
	d := newDirectory()
	server, client, third := newNode(t, d, Config{}), newNode(t, d, Config{}), newNode(t, d, Config{})
	other := echo(t, third, "other")
	begun, goOn := serveOne(t, server, func(ctx context.Context, m *Message) error {
		answer, err := server.Call(ctx, other.ID(), []byte("hello"))
		if err == nil {
			answer.Release()
		}
		return err
	})
	var all sync.WaitGroup
	all.Go(func() {
		m, err := client.Call(patient(t), Name("slow"))
		check(t, err)
		m.Release()
	})
	<-begun
	all.Go(func() { check(t, server.Shutdown(patient(t))) })
	for isLeaving := false; !isLeaving; time.Sleep(time.Millisecond) {
		check(t, server.on(func() { isLeaving = server.office.isLeaving }))
	}
	close(goOn)
	all.Wait()
}

// A call of a process to itself is waited for, also when something else has made a new link meanwhile.
func TestShutdownWaitsForCallsToItself(t *testing.T) {
	n := newNode(t, newDirectory(), Config{})
	begun, goOn := serveOne(t, n, func(context.Context, *Message) error { return nil })
	release := sync.OnceFunc(func() { close(goOn) })
	defer release()
	var all sync.WaitGroup
	all.Go(func() {
		m, err := n.Call(patient(t), Name("slow"))
		check(t, err)
		m.Release()
	})
	<-begun
	all.Go(func() { check(t, n.Shutdown(patient(t))) })
	awaitSelf := func(what func(self *peer) bool) {
		for is := false; !is; time.Sleep(time.Millisecond) {
			check(t, n.on(func() { is = what(n.office.peers[n.id]) }))
		}
	}
	awaitSelf(func(self *peer) bool { return n.office.isLeaving && self.link == nil })
	check(t, n.Post(patient(t), Request{To: Name("slow"), Drop: true})) // whatever becomes of it, it needs a link
	awaitSelf(func(self *peer) bool { return self == nil || self.link == nil && len(self.left) == 0 })
	check(t, n.on(func() {
		if n.office.isQuiet(nil) {
			t.Error("it is quiet while a handler works")
		}
	}))
	release()
	all.Wait()
}

// A shutdown that was cut off says so.
func TestAShutdownThatIsCutOff(t *testing.T) {
	d := newDirectory()
	server, client := newNode(t, d, Config{}), newNode(t, d, Config{})
	begun, goOn := serveOne(t, server, func(context.Context, *Message) error { return nil })
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := client.Call(patient(t), Name("slow")); !errors.Is(err, ErrLost) {
			t.Errorf("the caller: %v", err)
		}
	})
	<-begun
	ctx, cancel := context.WithCancel(patient(t))
	cancel()
	if err := server.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the shutdown: %v", err)
	}
	close(goOn)
	all.Wait()
}

// Close ends all links while it runs the loop, also those that are being left: who waits for something on one of them is told there.
func TestCloseEndsLinksThatAreBeingLeft(t *testing.T) {
	d := newDirectory()
	server, client := newNode(t, d, Config{}), newNode(t, d, Config{})
	begun, goOn := serveOne(t, server, func(context.Context, *Message) error { return nil })
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := client.Call(patient(t), Name("slow")); err == nil {
			t.Error("it was answered by nobody")
		}
	})
	<-begun
	check(t, server.on(func() {
		p := server.office.peers[client.ID()]
		left := p.link
		p.part()
		left.Leave()
		server.office.close()
		if !left.HasEnded() {
			t.Error("the link that is being left has not ended")
		}
	}))
	check(t, server.Close())
	close(goOn)
	check(t, client.Close())
	all.Wait()
}
