package verbstest

import "github.com/weft-fabric/weft/verbs"

// This file is what tests do with everything that goes on by itself: streams, sinks, increments, watchers.

// flow is a stream, sink or increment at an end.
type flow struct {
	node *node
	id   int
}

func (n *node) stream(c Stream) *flow {
	n.t.Helper()
	return &flow{n, n.do(c).ID}
}

func (n *node) sink(c Sink) *flow {
	n.t.Helper()
	return &flow{n, n.do(c).ID}
}

func (n *node) increment(c Increment) *flow {
	n.t.Helper()
	return &flow{n, n.do(c).ID}
}

// state asks how far the flow is. A complaint fails the test.
func (f *flow) state() streamStatus {
	f.node.t.Helper()
	s := f.node.do(StreamState{Stream: f.id}).Stream
	if s.Complaint != "" {
		f.node.t.Fatalf("%s: %s", f.node.name, s.Complaint)
	}
	return s
}

// reaches waits until the flow has done n rounds, without failing.
func (f *flow) reaches(n uint64) {
	f.node.t.Helper()
	f.node.until(StreamAt{f.id, n})
	if s := f.state(); s.Failure != verbs.OK || s.Rounds < n {
		f.node.t.Fatalf("%s: the flow stopped after %d of %d rounds: %v", f.node.name, s.Rounds, n, s.Failure)
	}
}

// succeeds waits until the flow has ended, having done n rounds.
func (f *flow) succeeds(n uint64) {
	f.node.t.Helper()
	f.node.until(StreamEnded{f.id})
	if s := f.state(); s.Failure != verbs.OK || s.Rounds != n {
		f.node.t.Fatalf("%s: the flow ended after %d of %d rounds: %v", f.node.name, s.Rounds, n, s.Failure)
	}
}

// fails waits until the flow has ended because a request failed, and returns the first failure's status.
func (f *flow) fails() verbs.Status {
	f.node.t.Helper()
	f.node.until(StreamEnded{f.id})
	s := f.state()
	if s.Failure == verbs.OK {
		f.node.t.Fatalf("%s: the flow ended after %d rounds without a failure", f.node.name, s.Rounds)
	}
	return s.Failure
}

// failsWithin is fails for a flow whose requests should be refused by now: if so many more rounds succeed, nobody refuses
// them, and to wait for the end would be to wait for ever.
func (f *flow) failsWithin(rounds uint64) verbs.Status {
	f.node.t.Helper()
	f.node.until(StreamAt{f.id, f.state().Rounds + rounds})
	if s := f.state(); s.Failure == verbs.OK {
		f.node.t.Fatalf("%s: %d more rounds have succeeded", f.node.name, rounds)
	}
	return f.fails()
}

// stop ends the flow and waits for what is outstanding.
func (f *flow) stop() {
	f.node.t.Helper()
	f.node.do(StreamState{Stream: f.id, Stop: true})
	f.node.until(StreamEnded{f.id})
}

// watcher looks at words at an end. A nil one looks at nothing, and is content.
type watcher struct {
	node *node
	id   int
}

func (n *node) watch(c Watch) *watcher {
	n.t.Helper()
	return &watcher{n, n.do(c).ID}
}

func (n *node) watchSlots(c WatchSlots) *watcher {
	n.t.Helper()
	return &watcher{n, n.do(c).ID}
}

// content waits until the watcher has seen n changes, and fails if it has a complaint.
func (w *watcher) content(n uint64) {
	if w == nil {
		return
	}
	w.node.t.Helper()
	w.node.until(Watched{w.id, n})
	w.ask(WatchState{Watch: w.id})
}

// stop ends the watcher, and fails if it has a complaint.
func (w *watcher) stop() {
	if w == nil {
		return
	}
	w.node.t.Helper()
	w.ask(WatchState{Watch: w.id, Stop: true})
}

func (w *watcher) ask(c WatchState) {
	w.node.t.Helper()
	if r := w.node.do(c); len(r.Text) > 0 {
		w.node.t.Fatalf("%s: after %d changes: %s", w.node.name, r.Word, r.Text[0])
	}
}
