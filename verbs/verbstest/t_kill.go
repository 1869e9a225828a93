package verbstest

// This file is about ends that die at any moment, in the middle of whatever they or their peers do.

var killTests = []Test{
	{"WriterDiesAtAnyMoment",
		"Whenever a writer dies: a flag is never there before what it stands for, nothing lands later, nobody else notices.",
		Kill | SharedReceives, testWriterDiesAnywhere},
	{"TargetDiesAtAnyMoment",
		"Whenever a target dies: its peer's requests all end, RetryExceeded or Flushed, and nobody else notices.",
		Kill | SharedReceives, testTargetDiesAnywhere},
}

// moments are after how many rounds something shall happen to a stream: early, late, and each time somewhere else.
func (t *T) moments(yield func(i int, rounds uint64) bool) {
	for i := range t.can.Moments {
		if !yield(i, uint64(i*i%67)) {
			return
		}
	}
}

// Whenever a writer dies: a flag is never there before what it stands for, nothing lands later, nobody else notices.
func testWriterDiesAnywhere(t *T) {
	c := t.crowd()
	for i, rounds := range t.moments {
		g := c.guest(name("writer", i), crowdSlot, EndConfig{})
		watcher, flow := g.watched(), g.node.stream(g.toHub())
		flow.reaches(rounds)
		g.node.signal(KillEnd)
		g.isGone()
		left := g.target()
		c.undisturbed()
		watcher.stop()
		if g.target() != left {
			t.Fatalf("writer %d has written after it was found dead", i)
		}
		g.at.reset()
		g.there.close()
	}
}

// Whenever a target dies: its peer's requests all end, and nobody else notices.
func testTargetDiesAnywhere(t *T) {
	c := t.crowd()
	for i, rounds := range t.moments {
		g := c.guest(name("target", i), crowdSlot, EndConfig{})
		g.node.sink(Sink{Pair: g.q.id, Memory: g.m.id, Size: crowdBytes, Window: crowdPool})
		flow := c.hub.stream(g.fromHub())
		flow.reaches(rounds)
		g.node.signal(KillEnd)
		t.endsByDeath(flow)
		g.isGone()
		g.at.reset()
	}
}
