package verbstest

import (
	"fmt"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/verbs"
	"github.com/weft-fabric/weft/verbs/driver"
)

// This file is what lives at an end: it owns the verbs objects, carries commands out and keeps completions.

// agent does at one end what a test commands. It is a Machine, which collects completions, and a Scanner, which looks
// after each turn whether what a test waits for has come. Everything in it belongs to its loop.
type agent struct {
	name    string
	another func() (driver.Device, error) // a device that is foreign to this end's
	device  *verbs.Device
	queue   *verbs.CompletionQueue
	loop    *loop.Loop
	port    loop.Port

	domains  table[*verbs.Domain] // the first is the end's own
	memories table[*verbs.Memory]
	pairs    table[*verbs.QueuePair]
	windows  table[*verbs.Window]
	pools    table[*verbs.SharedReceives]
	streams  table[worker]
	watches  table[looker]

	ended     []verbs.Completion // and not yet taken, in the order they came
	waiting   []waiting
	turns     uint64
	snapshots map[int]snapshot       // by the number of the memory
	armed     map[verbs.Tag]Snapshot // what to take when the completion with the tag comes
	bytes     table[[]byte]          // of each memory; those mapped here outlive it
	mapped    []ownPages             // to unmap in the end
}

// waiting is an Until whose condition did not hold yet.
type waiting struct {
	Until
	reply func(Result, error)
}

// newAgent opens an end on a device, and owns the device from then on.
func newAgent(name string, open func() (driver.Device, error), config EndConfig) (*agent, error) {
	inner, err := open()
	if err != nil {
		return nil, fmt.Errorf("%s: open device: %w", name, err)
	}
	a := &agent{name: name, another: open, snapshots: map[int]snapshot{}, armed: map[verbs.Tag]Snapshot{}}
	if a.device, err = verbs.Open(inner); err != nil {
		return nil, err
	}
	depth := config.Completions
	if depth == 0 {
		depth = defaultDepth(a.device.Limits())
	}
	if a.queue, err = a.device.NewCompletionQueue(depth); err != nil {
		return nil, err
	}
	domain, err := a.device.NewDomain()
	if err != nil {
		return nil, err
	}
	a.domains.put(domain)
	a.loop, err = loop.New(loop.Config{Completions: a.queue, Waiting: config.Waiting.policy(), ScanEvery: config.ScanEvery})
	if err != nil {
		return nil, err
	}
	a.port, err = a.loop.Add(a)
	return a, err
}

// begin carries out a command on the loop, and replies when it is done.
func (a *agent) begin(c Command, reply func(Result, error)) {
	if until, ok := c.(Until); ok && until.Condition != nil {
		a.waiting = append(a.waiting, waiting{until, reply})
		return
	}
	reply(c.carryOut(a))
}

// Step implements loop.Machine: it keeps the completion until a test takes it.
func (a *agent) Step(c *verbs.Completion) {
	revokes := c.Op == verbs.OpQueueAccess || c.Op == verbs.OpMemoryAccess || c.Op == verbs.OpRevoke
	if s, ok := a.armed[c.Tag]; ok && revokes {
		delete(a.armed, c.Tag)
		a.snapshot(s)
	}
	a.ended = append(a.ended, *c)
}

// Scan implements loop.Scanner: streams go on, watchers look, and whoever waits is answered.
func (a *agent) Scan() bool {
	a.turns++
	for _, s := range a.streams.items {
		s.refill()
	}
	for _, w := range a.watches.items {
		w.look()
	}
	a.answer()
	return false
}

// answer replies to those whose condition holds now.
func (a *agent) answer() {
	kept := a.waiting[:0]
	for _, w := range a.waiting {
		switch {
		case !w.Condition.holds(a):
			kept = append(kept, w)
		case w.Then != nil:
			w.reply(w.Then.carryOut(a))
		default:
			w.reply(Result{}, nil)
		}
	}
	a.waiting = kept
}

// close frees everything, children first. The loop must not be running.
func (a *agent) close() error {
	var failed error
	note := func(what string, err error) {
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s: close %s: %w", a.name, what, err)
		}
	}
	note("loop", a.loop.Close())
	for _, q := range a.pairs.items {
		note("queue pair", q.Close())
	}
	for _, s := range a.pools.items {
		note("shared receives", s.Close())
	}
	for _, m := range a.memories.items {
		note("memory", m.Close())
	}
	for _, d := range a.domains.items {
		note("domain", d.Close())
	}
	note("completion queue", a.queue.Close())
	note("device", a.device.Close())
	for _, pages := range a.mapped {
		note("pages", pages.close())
	}
	return failed
}

// table numbers the objects of one kind, from 1.
type table[T any] struct{ items []T }

func (t *table[T]) put(item T) int {
	t.items = append(t.items, item)
	return len(t.items)
}

func (t *table[T]) get(id int) (item T, err error) {
	if id < 1 || id > len(t.items) {
		return item, fmt.Errorf("verbstest: there is no %T with number %d", item, id)
	}
	return t.items[id-1], nil
}

func (a *agent) domain(id int) (*verbs.Domain, error) { return a.domains.get(max(id, 1)) }
