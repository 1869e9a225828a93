package verbstest

import (
	"fmt"
	"testing"

	"github.com/weft-fabric/weft/verbs"
)

// This file is about writers that stop in the middle of an operation, at a place that the provider names.

// RunPaused runs, for each step at which a provider can stop its process inside an operation, what must hold then, as
// subtests. Labs need the capability Pauses; a step goes into EndConfig.Pause as it is. Signals at random moments hardly
// ever hit the few instructions that matter: here each of them is hit.
func RunPaused(t *testing.T, lab func(TB) Lab, steps []string) {
	for _, step := range steps {
		for _, test := range pauseTests {
			named := Test{test.Name, test.Contract, test.Needs | Pauses, func(t *T) { test.run(t, step) }}
			t.Run(step+"/"+test.Name, func(t *testing.T) { run(t, lab, named) })
		}
	}
}

// pauseTest is one promise about a writer that stopped at a step.
type pauseTest struct {
	Name     string
	Contract string
	Needs    Capability
	run      func(t *T, step string)
}

var pauseTests = []pauseTest{
	{"GoesOn", "A writer that stopped inside an operation and goes on has lost nothing.", LastWordLast, testPauseGoesOn},
	{"RevokedAtTheQueuePair", "SetAccess completes; when the writer goes on nothing lands, and it is refused.", 0,
		testPauseRevokeQueue},
	{"RevokedAtTheMemory", "SetAccess completes; when the writer goes on nothing lands, and it is refused.", MemoryAccess,
		testPauseRevokeMemory},
	{"RevokedByClose", "Close returns; when the writer goes on, what lies in the same place is not touched.", 0,
		testPauseClose},
	{"Killed", "A writer that dies there harms nobody else, and its memory can be used and closed.", LastWordLast,
		testPauseKilled},
}

// pausing is a writer that stops by itself at a step.
type pausing struct {
	*guest
	begun *pending // the stream
}

// pausing opens a writer that shall stop at a step.
func (c *crowd) pausing(step string) *pausing {
	c.t.Helper()
	return &pausing{guest: c.guest("writer", crowdSlot, EndConfig{Pause: step})}
}

// pause starts the writer's stream, and waits until it has stopped.
func (p *pausing) pause() {
	p.crowd.t.Helper()
	p.begun = p.node.begin(p.toHub())
	p.node.signal(AwaitPause)
	p.crowd.undisturbed()
}

// goesOn continues the writer and returns its stream.
func (p *pausing) goesOn() *flow {
	p.crowd.t.Helper()
	p.node.signal(ContinueEnd)
	return &flow{p.node, p.begun.result().ID}
}

// A writer that stopped inside an operation and goes on has lost nothing.
func testPauseGoesOn(t *T, step string) {
	p := t.crowd().pausing(step)
	watcher := p.watched()
	p.pause()
	flow := p.goesOn()
	flow.reaches(flow.state().Rounds + 50)
	flow.stop()
	if s := flow.state(); s.Failure != verbs.OK {
		t.Fatalf("the stream ended %v", s.Failure)
	}
	watcher.stop()
}

// pausedRevocation lets revoke take the permission of a paused writer away, lets it go on, and checks that what a guest may
// write to stays as it was.
func (t *T) pausedRevocation(step string, revoke func(p *pausing)) {
	t.Helper()
	p := t.crowd().pausing(step)
	p.fill()
	p.pause()
	revoke(p)
	before := p.target()
	p.crowd.undisturbed()
	flow := p.goesOn()
	p.wasRefused(flow)
	if p.target() != before {
		t.Fatalf("the writer lost its access while it was paused, went on, and wrote")
	}
}

func testPauseRevokeQueue(t *T, step string) {
	t.pausedRevocation(step, func(p *pausing) { p.at.setAccess(0, Snapshot{}) })
}

func testPauseRevokeMemory(t *T, step string) {
	t.pausedRevocation(step, func(p *pausing) { p.there.setAccess(0, Snapshot{}) })
}

func testPauseClose(t *T, step string) {
	t.pausedRevocation(step, func(p *pausing) { p.replaceTarget() })
}

// A writer that dies there harms nobody else: the shared receives go on, also if the dead had one in its hands, and its
// memory can be revoked, used by another and closed.
func testPauseKilled(t *T, step string) {
	c := t.crowd()
	p := c.pausing(step)
	watcher := p.watched()
	p.pause()
	p.node.signal(KillEnd)
	p.isGone()
	watcher.stop()
	if t.can.Has&MemoryAccess != 0 {
		p.there.setAccess(0, Snapshot{})
		p.there.setAccess(verbs.RemoteAll, Snapshot{})
	}
	p.at.reset()
	other := c.guest("other", p.slot, EndConfig{})
	flow := other.node.stream(other.everything(other.q, other.m, p.there))
	flow.reaches(20)
	flow.stop()
	c.undisturbed()
	p.there.close()
}

// pending is a command that was begun and is answered when the end can.
type pending struct {
	node   *node
	what   string
	done   chan struct{}
	answer Result
	err    error
}

// begin lets a goroutine wait for the answer to a command: the end may stop before it has answered. The goroutine ends
// when the answer comes, or when the end dies; finish waits for all of them.
func (n *node) begin(c Command) *pending {
	p := &pending{node: n, what: fmt.Sprintf("%T", c), done: make(chan struct{})}
	go p.runCommand(c)
	n.t.pending = append(n.t.pending, p)
	return p
}

// runCommand asks the end. It is stopped by the answer, or by the end's death.
func (p *pending) runCommand(c Command) {
	defer close(p.done)
	p.answer, p.err = p.node.end.Do(c)
}

// result waits for the answer.
func (p *pending) result() Result {
	p.node.t.Helper()
	<-p.done
	if p.err != nil {
		p.node.t.Fatalf("%s: %s: %v", p.node.name, p.what, p.err)
	}
	return p.answer
}
