package presence

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestStopUnsubscribes(t *testing.T) {
	server, client := openUsual(t), openUsual(t)
	a, b := NewName(), NewName()
	server.Register(a)
	server.Register(b)
	first, second, other := newBell(), newBell(), newBell()
	one := client.Watch(a, server.at(), first.ring)
	two := client.Watch(a, server.at(), second.ring)
	three := client.Watch(b, server.at(), other.ring)
	until(t, "both names watched", func() bool { return server.watchers(a)+server.watchers(b) == 2 })
	three.Stop()
	until(t, "one name watched", func() bool { return server.watchers(b) == 0 })
	one.Stop()
	one.Stop()
	server.End(a)
	second.wait(t)
	two.Stop()
	until(t, "hung up", func() bool { return server.visitors() == 0 })
	if first.rang() || other.rang() {
		t.Error("who stopped was told")
	}
}

func TestLastStopHangsUp(t *testing.T) {
	server, client := openUsual(t), openUsual(t)
	n := NewName()
	server.Register(n)
	for range 20 {
		watch := client.Watch(n, server.at(), onGone(func() { t.Error("it is not gone") }))
		until(t, "watched", func() bool { return server.watchers(n) == 1 })
		watch.Stop()
		until(t, "hung up", func() bool { return server.visitors() == 0 })
	}
	b := newBell()
	client.Watch(n, server.at(), b.ring)
	server.End(n)
	b.wait(t)
}

// Stop from gone itself returns; so does watching another one there.
func TestStopFromGone(t *testing.T) {
	server, client := openUsual(t), openUsual(t)
	n := NewName()
	server.Register(n)
	inner, done := newBell(), newBell()
	var watch *Watch
	made := make(chan struct{})
	watch = client.Watch(n, server.at(), onGone(func() {
		<-made
		watch.Stop()
		client.Watch(n, server.at(), inner.ring)
		done.ring(Gone)
	}))
	close(made)
	server.End(n)
	done.wait(t)
	inner.wait(t)
}

// Stop from elsewhere waits for a gone that runs.
func TestStopWaitsForGone(t *testing.T) {
	server, client := openUsual(t), openUsual(t)
	entered, leave := newBell(), newBell()
	var left atomic.Bool
	watch := client.Watch(NewName(), server.at(), func(Word) {
		entered.ring(Gone)
		<-leave
		left.Store(true)
	})
	entered.wait(t)
	stopped := newBell()
	var stopping sync.WaitGroup
	stopping.Go(func() {
		watch.Stop()
		if !left.Load() {
			t.Error("Stop returned while gone ran")
		}
		stopped.ring(Gone)
	})
	for range 100 {
		if stopped.rang() {
			break // with the error above
		}
		time.Sleep(time.Millisecond)
	}
	leave.ring(Gone)
	stopped.wait(t)
	stopping.Wait()
}

// Ends, stops and losses at the same moment: told at most once, and never after Stop.
func TestStopRacesWithEnd(t *testing.T) {
	server, client := openUsual(t), openUsual(t)
	var all sync.WaitGroup
	for range 500 {
		n := NewName()
		server.Register(n)
		var calls atomic.Int32
		var stopped atomic.Bool
		watch := client.Watch(n, server.at(), func(w Word) {
			if w == Gone && calls.Add(1) > 1 || stopped.Load() {
				t.Error("told twice, or after Stop")
			}
		})
		all.Go(func() { server.End(n) })
		all.Go(func() { watch.Stop(); stopped.Store(true) })
	}
	all.Wait()
	until(t, "hung up", func() bool { return server.visitors() == 0 && client.openLines() == 0 })
}
