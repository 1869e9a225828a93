package perftest

import "github.com/weft-fabric/weft/verbs"

// respond is what a worker of the server does in a run, until the client has said farewell on every pair.
func (w *worker) respond() error {
	switch {
	case w.run.Measure == Latency && w.run.Operation == Write:
		return w.echoMemory()
	case w.run.Measure == Latency && w.run.Operation.twoSided():
		return w.echo()
	}
	return w.attend()
}

// echoMemory answers every Write that appears in memory with another. The client takes the pairs in turn.
func (w *worker) echoMemory() error {
	for next := 0; w.farewells < len(w.pairs); {
		p := w.pairs[next]
		if !p.sees(p.rounds + 1) {
			if err := w.watch(); err != nil {
				return err
			}
			continue
		}
		w.looks = 0
		if err := w.writeMark(p); err != nil {
			return err
		}
		if w.signals.abort.Load() {
			return errAborted
		}
		if next++; next == len(w.pairs) {
			next = 0
		}
	}
	return nil
}

// echo answers every message with another. The client has one under way at a time.
func (w *worker) echo() error {
	for w.farewells < len(w.pairs) {
		n, err := w.takeOrIdle()
		if err != nil {
			return err
		}
		if w.signals.abort.Load() {
			return errAborted
		}
		if p := w.sender(n); p != nil {
			if err := w.sendQuiet(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// sender is the pair that a message has come by, among the last n completions, or nil.
func (w *worker) sender(n int) *pair {
	for i := range w.got[:n] {
		if op := w.got[i].Op; op == verbs.OpReceive || op == verbs.OpReceiveWriteImm {
			return w.pairs[w.got[i].Tag]
		}
	}
	return nil
}

// attend takes messages if there are any. Otherwise the target does nothing, and it is the client who works.
func (w *worker) attend() error {
	for w.farewells < len(w.pairs) {
		if _, err := w.takeOrIdle(); err != nil {
			return err
		}
		if w.signals.abort.Load() {
			return errAborted
		}
	}
	return nil
}
