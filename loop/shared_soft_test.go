package loop_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
)

// caller is a machine of many callers: each has its own slot in the memory, and its own event. A message's first byte says
// whose it is; the peer sends every message back.
type caller struct {
	port   loop.Port
	pair   *verbs.QueuePair
	memory *verbs.Memory
	answer bool
	events []loop.Event
	err    error
}

const callerSlot = 8

func (c *caller) Step(done *verbs.Completion) {
	if c.err = errors.Join(c.err, verbs.CompletionError(done)); c.err != nil || done.Op != verbs.OpReceive {
		return
	}
	from := int(done.Tag)
	who := c.memory.Bytes()[from]
	if c.answer {
		c.keep(c.pair.Send(c.port.Tag(0), c.memory.Span(from, callerSlot), verbs.Quiet|verbs.Inline))
	} else {
		c.events[who].Set()
	}
	c.receive(from)
}

func (c *caller) keep(err error) { c.err = errors.Join(c.err, err) }

func (c *caller) receive(at int) {
	c.keep(c.pair.Receive(c.port.Tag(uint64(at)), c.memory.Span(at, callerSlot)))
}

// ask sends caller i's message.
func (c *caller) ask(i int) {
	at := (callers + i) * callerSlot
	c.memory.Bytes()[at] = byte(i)
	c.events[i].Reset()
	c.keep(c.pair.Send(c.port.Tag(0), c.memory.Span(at, callerSlot), verbs.Quiet|verbs.Inline))
}

const callers = 64 // at most

// host is what callers stand on.
type host struct {
	device *verbs.Device
	domain *verbs.Domain
	queue  *verbs.CompletionQueue
	loop   *loop.Loop
	mine   []*caller
}

func newHost(config soft.Config, waiting loop.Waiting) *host {
	return newHostWith(config, loop.Config{Waiting: waiting})
}

func newHostWith(config soft.Config, turning loop.Config) *host {
	nic, err := soft.New(config)
	check(err)
	h := &host{}
	h.device, err = verbs.Open(nic)
	check(err)
	h.domain, err = h.device.NewDomain()
	check(err)
	h.queue, err = h.device.NewCompletionQueue(1024)
	check(err)
	turning.Completions = h.queue
	h.loop, err = loop.New(turning)
	check(err)
	return h
}

func (h *host) newCaller(answer bool) *caller {
	c := &caller{answer: answer, events: make([]loop.Event, callers)}
	var err error
	c.memory, err = h.domain.Alloc(2*callers*callerSlot, 0)
	check(err)
	c.pair, err = h.domain.NewQueuePair(verbs.QueueConfig{Completions: h.queue, SendDepth: 2 * callers, ReceiveDepth: callers,
		MaxInline: callerSlot})
	check(err)
	c.port, err = h.loop.Add(c)
	check(err)
	for i := range callers {
		c.receive(i * callerSlot)
	}
	h.mine = append(h.mine, c)
	return c
}

func (h *host) close() {
	check(h.loop.Close())
	for _, c := range h.mine {
		check(c.pair.Close())
		check(c.memory.Close())
		check(c.err)
	}
	check(h.queue.Close())
	check(h.domain.Close())
	check(h.device.Close())
}

// meet connects callers of two hosts, or of one. The second sends back what it gets.
func meet(a, b *host) (asks *caller) {
	asks, answers := a.newCaller(false), b.newCaller(true)
	join(a, b, asks, answers)
	return asks
}

func join(a, b *host, here, there *caller) {
	check(here.pair.Connect(here.port.Tag(0), there.pair.Address()))
	check(there.pair.Connect(there.port.Tag(0), here.pair.Address()))
	for here.pair.State() != verbs.Ready || there.pair.State() != verbs.Ready {
		turn(a)
		turn(b)
	}
}

func turn(h *host) {
	_, err := h.loop.Turn()
	check(err)
}

// Many goroutines call through one loop, on every lane and with every way of waiting.
func TestManyGoroutinesShareALoop(t *testing.T) {
	for _, lane := range []soft.Lanes{soft.InProcess, soft.SharedMemory, soft.TCP} {
		for name, waiting := range map[string]loop.Waiting{"polling": loop.Polling(), "sleeping": loop.Sleeping(), "hybrid": {}} {
			t.Run(lane.String()+"/"+name, func(t *testing.T) {
				here, there := newHost(soft.Config{Lanes: lane}, waiting), newHost(soft.Config{Lanes: lane}, waiting)
				defer here.close()
				defer there.close()
				asks := meet(here, there)
				check(there.loop.Start())
				shared, err := loop.NewShared(here.loop)
				check(err)
				var all sync.WaitGroup
				for i := range 8 {
					all.Go(func() { callAgainAndAgain(t, shared, asks, i, 200) })
				}
				all.Wait()
				check(shared.Close())
			})
		}
	}
}

// Goroutines play in pairs, and all of one side share a loop.
func TestTwoSharedLoopsPlayPingPong(t *testing.T) {
	const pairs, rounds = 4, 200
	for _, lane := range []soft.Lanes{soft.InProcess, soft.SharedMemory, soft.TCP} {
		for name, waiting := range map[string]loop.Waiting{"sleeping": loop.Sleeping(), "hybrid": {}} {
			t.Run(lane.String()+"/"+name, func(t *testing.T) {
				var sides [2]side
				for i := range sides {
					sides[i].host = newHost(soft.Config{Lanes: lane}, waiting)
					sides[i].caller = sides[i].newCaller(false)
				}
				join(sides[0].host, sides[1].host, sides[0].caller, sides[1].caller)
				for i := range sides {
					var err error
					sides[i].shared, err = loop.NewShared(sides[i].host.loop)
					check(err)
				}
				var all sync.WaitGroup
				for i := range pairs {
					all.Go(func() { sides[0].play(t, i, rounds, true) })
					all.Go(func() { sides[1].play(t, i, rounds, false) })
				}
				all.Wait()
				check(errors.Join(sides[0].shared.Close(), sides[1].shared.Close()))
				sides[0].host.close()
				sides[1].host.close()
			})
		}
	}
}

// side is one end of such games.
type side struct {
	*host
	*caller
	shared *loop.Shared
}

// play is player i: it hits the ball as often as the other one.
func (s *side) play(t *testing.T, i, rounds int, first bool) {
	hit := func() error { return s.shared.Do(func() { s.ask(i) }) }
	catch := func() error { return s.shared.Await(context.Background(), &s.events[i]) }
	for range rounds {
		moves := []func() error{catch, hit}
		if first {
			moves = []func() error{hit, catch}
		}
		for _, move := range moves {
			if err := move(); err != nil {
				t.Error(err)
				return
			}
		}
	}
}

// callAgainAndAgain asks, and waits with contexts that end early now and then: whoever waits again misses nothing.
func callAgainAndAgain(t *testing.T, shared *loop.Shared, asks *caller, i, rounds int) {
	for round := range rounds {
		if err := shared.Do(func() { asks.ask(i) }); err != nil {
			t.Error(err)
			return
		}
		err := context.DeadlineExceeded
		for patience := time.Duration(round%3) * 10 * time.Microsecond; errors.Is(err, context.DeadlineExceeded); patience *= 2 {
			ctx, cancel := context.WithTimeout(context.Background(), patience+time.Microsecond)
			err = shared.Await(ctx, &asks.events[i])
			cancel()
			if round%3 == 0 {
				err = shared.Await(context.Background(), &asks.events[i])
			}
		}
		if err != nil {
			t.Errorf("caller %d: %v", i, err)
			return
		}
	}
}

// A ping-pong by Shared, and the same by loops that are turned by hand. On one host the machine that answers is on the same
// loop: what differs is what Do and Await cost. With a peer it is on another, in another goroutine.
func BenchmarkShared(b *testing.B) {
	b.Run("oneHost/byHand", func(b *testing.B) {
		here := newHost(soft.Config{}, loop.Waiting{})
		defer here.close()
		benchmarkByHand(b, here, meet(here, here), 0)
	})
	b.Run("oneHost/shared", func(b *testing.B) {
		here := newHost(soft.Config{}, loop.Waiting{})
		defer here.close()
		benchmarkShared(b, here, meet(here, here), 1)
	})
	for _, way := range []struct {
		name    string
		waiting loop.Waiting
		spin    time.Duration
	}{{"polling", loop.Polling(), math.MaxInt64}, {"sleeping", loop.Sleeping(), 0}, {"hybrid", loop.Waiting{}, loop.DefaultSpin}} {
		b.Run("peer/byHand/"+way.name, func(b *testing.B) {
			here, asks := benchmarkPeers(b, way.waiting)
			benchmarkByHand(b, here, asks, way.spin)
		})
		for _, goroutines := range []int{1, 8} {
			b.Run(fmt.Sprintf("peer/shared/%s/%d", way.name, goroutines), func(b *testing.B) {
				here, asks := benchmarkPeers(b, way.waiting)
				benchmarkShared(b, here, asks, goroutines)
			})
		}
	}
}

// benchmarkPeers makes two hosts, of which the second runs by itself.
func benchmarkPeers(b *testing.B, waiting loop.Waiting) (*host, *caller) {
	here, there := newHost(soft.Config{}, waiting), newHost(soft.Config{}, waiting)
	asks := meet(here, there)
	check(there.loop.Start())
	b.Cleanup(here.close)
	b.Cleanup(there.close) // first: who runs would see the other go
	return here, asks
}

// benchmarkByHand asks, and waits as Run does.
func benchmarkByHand(b *testing.B, here *host, asks *caller, spin time.Duration) {
	for b.Loop() {
		asks.ask(0)
		for !asks.events[0].IsSet() {
			n, err := here.loop.Turn()
			check(err)
			if n == 0 {
				check(here.queue.WaitUntil(clock.Never, spin))
			}
		}
	}
}

func benchmarkShared(b *testing.B, here *host, asks *caller, goroutines int) {
	shared, err := loop.NewShared(here.loop)
	check(err)
	var all sync.WaitGroup
	for i := range goroutines {
		all.Go(func() {
			e, ask := &asks.events[i], func() { asks.ask(i) }
			for range b.N / goroutines {
				check(shared.Do(ask))
				check(shared.Await(context.Background(), e))
			}
		})
	}
	all.Wait()
	b.StopTimer()
	check(shared.Close())
}
