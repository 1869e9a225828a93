package loop_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

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

// station is a caller with everything that it stands on.
type station struct {
	caller
	domain *verbs.Domain
	device *verbs.Device
	queue  *verbs.CompletionQueue
	loop   *loop.Loop
}

func newStation(config soft.Config, waiting loop.Waiting, answer bool) *station {
	nic, err := soft.New(config)
	check(err)
	s := &station{caller: caller{answer: answer, events: make([]loop.Event, callers)}}
	s.device, err = verbs.Open(nic)
	check(err)
	s.domain, err = s.device.NewDomain()
	check(err)
	s.queue, err = s.device.NewCompletionQueue(1024)
	check(err)
	s.memory, err = s.domain.Alloc(2*callers*callerSlot, 0)
	check(err)
	s.pair, err = s.domain.NewQueuePair(verbs.QueueConfig{Completions: s.queue, SendDepth: 2 * callers, ReceiveDepth: callers,
		MaxInline: callerSlot})
	check(err)
	s.loop, err = loop.New(loop.Config{Completions: s.queue, Waiting: waiting})
	check(err)
	s.port, err = s.loop.Add(&s.caller)
	check(err)
	for i := range callers {
		s.receive(i * callerSlot)
	}
	return s
}

func (s *station) close() {
	check(s.loop.Close())
	check(s.pair.Close())
	check(s.memory.Close())
	check(s.queue.Close())
	check(s.domain.Close())
	check(s.device.Close())
	check(s.err)
}

// stations makes two that are connected. The second answers, in a goroutine of its own.
func stations(waiting loop.Waiting) (asks, answers *station) {
	asks, answers = newStation(soft.Config{}, waiting, false), newStation(soft.Config{}, waiting, true)
	check(asks.pair.Connect(asks.port.Tag(0), answers.pair.Address()))
	check(answers.pair.Connect(answers.port.Tag(0), asks.pair.Address()))
	for asks.pair.State() != verbs.Ready || answers.pair.State() != verbs.Ready {
		_, err := asks.loop.Turn()
		check(err)
		_, err = answers.loop.Turn()
		check(err)
	}
	return asks, answers
}

// Many goroutines call through one loop, with every way of waiting.
func TestManyGoroutinesShareALoop(t *testing.T) {
	for name, waiting := range map[string]loop.Waiting{"polling": loop.Polling(), "sleeping": loop.Sleeping(), "hybrid": {}} {
		t.Run(name, func(t *testing.T) {
			asks, answers := stations(waiting)
			defer asks.close()
			defer answers.close()
			check(answers.loop.Start())
			shared, err := loop.NewShared(asks.loop)
			check(err)
			var all sync.WaitGroup
			for i := range 16 {
				all.Go(func() { callAgainAndAgain(t, shared, asks, i, 500) })
			}
			all.Wait()
			check(shared.Close())
		})
	}
}

func callAgainAndAgain(t *testing.T, shared *loop.Shared, asks *station, i, rounds int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for range rounds {
		if err := shared.Do(func() { asks.ask(i) }); err != nil {
			t.Error(err)
			return
		}
		if err := shared.Await(ctx, &asks.events[i]); err != nil {
			t.Errorf("caller %d: %v", i, err)
			return
		}
	}
}

// The same ping-pong in three ways. By hand is the limit: nobody waits, everybody looks.
func BenchmarkShared(b *testing.B) {
	b.Run("byHand", func(b *testing.B) {
		asks, answers := stations(loop.Polling())
		defer asks.close()
		defer answers.close()
		for b.Loop() {
			asks.ask(0)
			for !asks.events[0].IsSet() {
				_, err := asks.loop.Turn()
				check(err)
				_, err = answers.loop.Turn()
				check(err)
			}
		}
	})
	b.Run("shared", func(b *testing.B) {
		asks, answers := stations(loop.Waiting{})
		defer asks.close()
		defer answers.close()
		check(answers.loop.Start())
		benchmarkCalls(b, asks, 1)
	})
	b.Run("shared8", func(b *testing.B) {
		asks, answers := stations(loop.Waiting{})
		defer asks.close()
		defer answers.close()
		check(answers.loop.Start())
		benchmarkCalls(b, asks, 8)
	})
}

func benchmarkCalls(b *testing.B, asks *station, goroutines int) {
	shared, err := loop.NewShared(asks.loop)
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
