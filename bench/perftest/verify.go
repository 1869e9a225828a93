package perftest

import "fmt"

// prepareClient writes what a run will send, or clears where it will read to.
func prepareClient(e *end, index int, run Run, sig *signals) error {
	for _, p := range e.pairs {
		if sig.abort.Load() {
			return errAborted
		}
		clear(p.in(run))
		switch {
		case run.Measure == Latency:
		case run.Operation == Read || run.Operation.Atomic():
			clear(p.out(run))
		default:
			fill(p.out(run), seed(index, p.number))
		}
	}
	return nil
}

// prepareServer clears where a run will land, or writes what it will read.
func prepareServer(e *end, index int, run Run, sig *signals) error {
	for _, p := range e.pairs {
		if sig.abort.Load() {
			return errAborted
		}
		if run.Operation == Read {
			fill(p.in(run), seed(index, p.number))
		} else {
			clear(p.in(run))
		}
	}
	return nil
}

// compareAll compares the bytes of a run on all pairs with what they must be.
func compareAll(e *end, index int, run Run, sig *signals, of func(*pair, Run) []byte) error {
	for _, p := range e.pairs {
		if sig.abort.Load() {
			return errAborted
		}
		if err := compare(of(p, run), seed(index, p.number)); err != nil {
			return fmt.Errorf("the data is wrong: queue pair %d: %w", p.number, err)
		}
	}
	return nil
}

// sumWords adds up the words that atomics count in.
func sumWords(e *end) (sum uint64) {
	for _, p := range e.pairs {
		sum += p.memory.Load64(p.inAt)
	}
	return sum
}

// inspect is the server's part of verifying a bandwidth run.
func inspect(e *end, index int, run Run, sig *signals) (n note) {
	switch {
	case run.Measure == Latency || run.Operation == Read:
	case run.Operation.Atomic():
		n.Sum = sumWords(e)
	default:
		n.Wrong = text(compareAll(e, index, run, sig, (*pair).in))
	}
	return n
}

// verify is the client's: every atomic has added one.
func verify(run Run, messages int64, theirs note) error {
	if theirs.Wrong != "" {
		return fmt.Errorf("at the server %s", theirs.Wrong)
	}
	if run.Operation.Atomic() && theirs.Sum != uint64(messages) {
		return fmt.Errorf("the data is wrong: after %d operations the words add up to %d", messages, theirs.Sum)
	}
	return nil
}
