package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/verbs"
	"github.com/weft-fabric/weft/verbs/driver"
)

// node is one end of the demonstration.
type node struct {
	name   string
	device *verbs.Device
	domain *verbs.Domain
	queue  *verbs.CompletionQueue
	memory *verbs.Memory
	pair   *verbs.QueuePair
	loop   *loop.Loop
	verbs  *loop.Blocking
}

func openNode(name string, provider driver.Device) (n *node, err error) {
	n = &node{name: name}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open %s: %w", name, err), n.close())
		}
	}()
	if n.device, err = verbs.Open(provider); err != nil {
		return n, err
	}
	if n.domain, err = n.device.NewDomain(); err != nil {
		return n, err
	}
	if n.queue, err = n.device.NewCompletionQueue(256); err != nil {
		return n, err
	}
	if n.memory, err = n.domain.Alloc(4096, verbs.RemoteAll); err != nil {
		return n, err
	}
	n.pair, err = n.domain.NewQueuePair(verbs.QueueConfig{Completions: n.queue, Access: verbs.RemoteAll})
	if err != nil {
		return n, err
	}
	if n.loop, err = loop.New(loop.Config{Completions: n.queue}); err != nil {
		return n, err
	}
	n.verbs, err = loop.NewBlocking(n.loop)
	return n, err
}

// close closes what was opened, children first.
func (n *node) close() error {
	var failed error
	if n.loop != nil {
		failed = errors.Join(failed, n.loop.Close())
	}
	if n.pair != nil {
		failed = errors.Join(failed, n.pair.Close())
	}
	if n.memory != nil {
		failed = errors.Join(failed, n.memory.Close())
	}
	if n.queue != nil {
		failed = errors.Join(failed, n.queue.Close())
	}
	if n.domain != nil {
		failed = errors.Join(failed, n.domain.Close())
	}
	if n.device != nil {
		failed = errors.Join(failed, n.device.Close())
	}
	return failed
}

// say puts text at the beginning of the node's own memory, and returns the span of it.
func (n *node) say(text string) verbs.Span {
	copy(n.memory.Bytes(), text)
	return n.memory.Span(0, len(text))
}

// story is the demonstration: alice owns the memory, bob writes into it.
type story struct {
	out        *teller
	alice, bob *node
	clock      clock.Clock
}

const (
	mailbox     = 1024 // offset in alice's memory that bob may reach
	mailboxSize = 64
)

func tellStory(ctx context.Context, out *teller, open func(name string) (driver.Device, error)) (err error) {
	s := &story{out: out}
	if s.alice, err = meetNode("alice", open); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.alice.close()) }()
	if s.bob, err = meetNode("bob", open); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.bob.close()) }()
	s.clock = s.alice.device.Clock()
	for _, chapter := range []func(context.Context) error{s.meet, s.write, s.count, s.revoke, s.tryAgain, s.reconcile} {
		if err := chapter(ctx); err != nil {
			return err
		}
	}
	return nil
}

func meetNode(name string, open func(name string) (driver.Device, error)) (*node, error) {
	provider, err := open(name)
	if err != nil {
		return nil, err
	}
	return openNode(name, provider)
}

// timed runs one operation and says how it ended and how long it took. A refusal is part of the story, no error.
func (s *story) timed(who *node, what string, do func() error) error {
	start := s.clock.Now()
	err := do()
	took := s.clock.Now().Sub(start)
	var ended *verbs.OpError
	switch {
	case err == nil:
		s.out.tell(who.name, what, "OK", took)
	case errors.As(err, &ended):
		s.out.tell(who.name, what, ended.Status.String(), took)
	}
	return err
}

func (s *story) meet(ctx context.Context) error {
	s.out.tell("alice", "opens 4 KiB of memory, and lends bob 64 bytes of it", "", 0)
	return s.timed(s.bob, "connects with alice", func() error { return s.connect(ctx) })
}

// connect starts both ends, then waits for both: neither completes alone.
func (s *story) connect(ctx context.Context) error {
	alice, err := s.alice.verbs.Start(func(tag verbs.Tag) error {
		return s.alice.pair.Connect(tag, s.bob.pair.Address())
	})
	if err != nil {
		return err
	}
	if err := s.bob.verbs.Connect(ctx, s.bob.pair, s.alice.pair.Address()); err != nil {
		return err
	}
	_, err = s.alice.verbs.Wait(ctx, alice)
	return err
}

func (s *story) write(ctx context.Context) error {
	const text = "hello from bob"
	err := s.timed(s.bob, fmt.Sprintf("writes %q into her memory", text), func() error {
		return s.bob.verbs.Write(ctx, s.bob.pair, s.bob.say(text), s.alice.memory.Remote(mailbox, mailboxSize))
	})
	if err != nil {
		return err
	}
	s.out.tell("alice", fmt.Sprintf("finds %q, and did nothing for it", s.found()), "", 0)
	return nil
}

// found is what stands in alice's mailbox.
func (s *story) found() string {
	text, _, _ := bytes.Cut(s.alice.memory.Bytes()[mailbox:mailbox+mailboxSize], []byte{0})
	return string(text)
}

func (s *story) count(ctx context.Context) error {
	counter := s.alice.memory.Remote(2048, 8)
	return s.timed(s.bob, "adds 42 to a counter of hers, in one step", func() error {
		_, err := s.bob.verbs.FetchAdd(ctx, s.bob.pair, loop.Word{Memory: s.bob.memory, Offset: 512}, counter, 42)
		return err
	})
}

func (s *story) revoke(ctx context.Context) error {
	return s.timed(s.alice, "revokes: from now on nothing of his can land", func() error {
		return s.alice.verbs.SetAccess(ctx, s.alice.pair, 0)
	})
}

func (s *story) tryAgain(ctx context.Context) error {
	before := s.found()
	err := s.timed(s.bob, `writes "still there?"`, func() error {
		return s.bob.verbs.Write(ctx, s.bob.pair, s.bob.say("still there?"), s.alice.memory.Remote(mailbox, mailboxSize))
	})
	if !errors.Is(err, verbs.ErrRefused) {
		return fmt.Errorf("a write after the revocation was not refused: %w", err)
	}
	if s.found() != before {
		return fmt.Errorf("a refused write changed alice's memory to %q", s.found())
	}
	s.out.tell("alice", fmt.Sprintf("still finds %q; her end is %v, bob's is %v", before, s.alice.pair.State(),
		s.bob.pair.State()), "", 0)
	return nil
}

func (s *story) reconcile(ctx context.Context) error {
	for _, n := range []*node{s.alice, s.bob} {
		if err := s.timed(n, "resets the queue pair", func() error { return n.verbs.Reset(ctx, n.pair) }); err != nil {
			return err
		}
	}
	if err := s.timed(s.bob, "connects again", func() error { return s.connect(ctx) }); err != nil {
		return err
	}
	err := s.timed(s.alice, "grants remote writes", func() error {
		return s.alice.verbs.SetAccess(ctx, s.alice.pair, verbs.RemoteWrite)
	})
	if err != nil {
		return err
	}
	err = s.timed(s.bob, `writes "friends again"`, func() error {
		return s.bob.verbs.Write(ctx, s.bob.pair, s.bob.say("friends again\x00"), s.alice.memory.Remote(mailbox, mailboxSize))
	})
	if err == nil {
		s.out.tell("alice", fmt.Sprintf("finds %q", s.found()), "", 0)
	}
	return err
}
