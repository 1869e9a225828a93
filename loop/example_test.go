package loop_test

import (
	"context"
	"fmt"
	"log"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/provider/sim"
	"github.com/weft-fabric/weft/provider/soft"
	"github.com/weft-fabric/weft/verbs"
	"github.com/weft-fabric/weft/verbs/driver"
)

// pinger sends rounds of messages and waits for the answer of each. It is a machine: it knows what it has posted, and is
// told what has ended; it has no goroutine, no lock and no clock.
type pinger struct {
	port   loop.Port
	pair   *verbs.QueuePair
	memory *verbs.Memory
	rounds uint64 // still to do, the one under way included
	answer bool   // this side answers, the other asks
	err    error
}

const (
	tagConnect = iota
	tagSend
	tagReceive
)

// Step dispatches: each kind of end has one method.
func (p *pinger) Step(c *verbs.Completion) {
	if err := verbs.CompletionError(c); err != nil {
		p.err, p.rounds = err, 0
		return
	}
	switch c.Tag {
	case tagConnect:
		p.stepConnected()
	case tagReceive:
		p.stepReceived()
	}
}

func (p *pinger) stepConnected() {
	if !p.answer {
		p.send()
	}
}

// stepReceived counts a round, and goes on with the next one.
func (p *pinger) stepReceived() {
	p.rounds--
	p.receive()
	if p.answer || p.rounds > 0 {
		p.send()
	}
}

func (p *pinger) send() {
	p.keep(p.pair.Send(p.port.Tag(tagSend), p.memory.Span(0, 8), verbs.Quiet))
}

func (p *pinger) receive() {
	p.keep(p.pair.Receive(p.port.Tag(tagReceive), p.memory.Span(8, 8)))
}

func (p *pinger) keep(err error) {
	if p.err == nil {
		p.err = err
	}
}

// player is a pinger with everything that it stands on.
type player struct {
	pinger
	device *verbs.Device
	domain *verbs.Domain
	queue  *verbs.CompletionQueue
	loop   *loop.Loop
}

func newPlayer(provider driver.Device, rounds uint64, answer bool) *player {
	p := &player{pinger: pinger{rounds: rounds, answer: answer}}
	var err error
	p.device, err = verbs.Open(provider)
	check(err)
	p.domain, err = p.device.NewDomain()
	check(err)
	p.queue, err = p.device.NewCompletionQueue(256)
	check(err)
	p.memory, err = p.domain.Alloc(64, 0)
	check(err)
	p.pair, err = p.domain.NewQueuePair(verbs.QueueConfig{Completions: p.queue})
	check(err)
	p.loop, err = loop.New(loop.Config{Completions: p.queue})
	check(err)
	p.port, err = p.loop.Add(&p.pinger)
	check(err)
	p.receive()
	return p
}

// connect starts the game: each end connects to the other, and the completions do the rest.
func connect(a, b *player) {
	check(a.pair.Connect(a.port.Tag(tagConnect), b.pair.Address()))
	check(b.pair.Connect(b.port.Tag(tagConnect), a.pair.Address()))
}

func (p *player) close() {
	check(p.loop.Close())
	check(p.pair.Close())
	check(p.memory.Close())
	check(p.queue.Close())
	check(p.domain.Close())
	check(p.device.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func newSoft() driver.Device {
	device, err := soft.New(soft.Config{})
	check(err)
	return device
}

// A machine on a loop. Two loops play ping-pong on the software NIC: one has a goroutine of its own, the other is driven
// by this one, turn by turn.
func Example_machine() {
	asks, answers := newPlayer(newSoft(), 1000, false), newPlayer(newSoft(), 1000, true)
	defer asks.close()
	defer answers.close()
	connect(asks, answers)

	check(answers.loop.Start())
	for asks.rounds > 0 && asks.err == nil {
		_, err := asks.loop.Turn()
		check(err)
	}
	fmt.Println("rounds left:", asks.rounds, "error:", asks.err)
	// Output: rounds left: 0 error: <nil>
}

// The same machine in the simulator. Nothing is changed but the device: virtual time steps both loops, and a thousand
// rounds between two hosts take as long as the model of the network says, every time.
func Example_simulated() {
	fabric, err := sim.New(sim.Config{Seed: 1})
	check(err)
	a, err := fabric.NewDevice(sim.NodeConfig{Name: "asks"})
	check(err)
	b, err := fabric.NewDevice(sim.NodeConfig{Name: "answers"})
	check(err)
	asks, answers := newPlayer(a, 1000, false), newPlayer(b, 1000, true)
	defer asks.close()
	defer answers.close()
	connect(asks, answers)

	check(fabric.RunUntil(func() bool { return asks.rounds == 0 }, fabric.Now().Add(time.Second)))
	took := fabric.Now()
	fmt.Println("rounds left:", asks.rounds, "error:", asks.err)
	fmt.Println("between one and ten virtual milliseconds:", took > 1e6 && took < 1e7)
	// Output:
	// rounds left: 0 error: <nil>
	// between one and ten virtual milliseconds: true
}

// Blocking verbs, for programs that are no state machines. Waiting drives the loop in the calling goroutine.
func Example_blocking() {
	owner, user := newPlayer(newSoft(), 0, true), newPlayer(newSoft(), 0, true)
	defer owner.close()
	defer user.close()
	b, err := loop.NewBlocking(user.loop)
	check(err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	check(owner.pair.Connect(owner.port.Tag(tagConnect), user.pair.Address()))
	check(b.Connect(ctx, user.pair, owner.pair.Address()))
	_, err = b.FetchAdd(ctx, user.pair, loop.Word{Memory: user.memory}, owner.memory.Remote(0, 8), 1)
	fmt.Println(err) // nobody granted it
	// Output: FetchAdd on queue pair 1: RemoteInvalid: refused by the target
}

// reader is a machine with many readers: each reads through the same queue pair, and has its own place in the memory.
type reader struct {
	port   loop.Port
	pair   *verbs.QueuePair
	memory *verbs.Memory
	ended  [4]loop.Event
}

func (r *reader) Step(c *verbs.Completion) { r.ended[c.Tag].Set() }

// read fetches a word for reader i, and returns when it is there. Any goroutine may call it.
func (r *reader) read(shared *loop.Shared, i int, from verbs.RemoteSpan) uint64 {
	check(shared.Do(func() {
		r.ended[i].Reset()
		check(r.pair.Read(r.port.Tag(uint64(i)), r.memory.Span(8*i, 8), from, 0))
	}))
	check(shared.Await(context.Background(), &r.ended[i]))
	return r.memory.Load64(8 * i)
}

// Many goroutines on one loop, which has none of its own: whoever waits for an answer runs it.
func ExampleShared() {
	owner, user := newPlayer(newSoft(), 0, true), newPlayer(newSoft(), 0, true)
	defer owner.close()
	defer user.close()
	words, err := owner.domain.Alloc(32, verbs.RemoteRead)
	check(err)
	defer func() { check(words.Close()) }()
	ownerVerbs, err := loop.NewBlocking(owner.loop)
	check(err)
	check(ownerVerbs.SetAccess(context.Background(), owner.pair, verbs.RemoteRead))
	check(owner.pair.Connect(owner.port.Tag(tagConnect), user.pair.Address()))
	userVerbs, err := loop.NewBlocking(user.loop)
	check(err)
	check(userVerbs.Connect(context.Background(), user.pair, owner.pair.Address()))

	r := &reader{pair: user.pair, memory: user.memory}
	r.port, err = user.loop.Add(r)
	check(err)

	shared, err := loop.NewShared(user.loop)
	check(err)
	var all sync.WaitGroup
	var sum atomic.Uint64
	for i := range r.ended {
		words.Store64(8*i, uint64(i+1))
		all.Go(func() { sum.Add(r.read(shared, i, words.Remote(8*i, 8))) })
	}
	all.Wait()
	check(shared.Close())
	fmt.Println("sum:", sum.Load())
	// Output: sum: 10
}
