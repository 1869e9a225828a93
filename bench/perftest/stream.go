package perftest

import (
	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs"
)

// measureBandwidth keeps the pairs full. Each has a message before that, so that there is one to compare.
func (w *worker) measureBandwidth(t *tally) error {
	for _, p := range w.pairs {
		if err := w.postFirst(p, t); err != nil {
			return err
		}
	}
	if err := w.stream(t, w.warmUp()); err != nil {
		return err
	}
	t.messages, t.start = 0, clock.Real.Now()
	if err := w.stream(t, w.budget()); err != nil {
		return err
	}
	t.end = clock.Real.Now()
	return nil
}

// stream posts to all pairs until the budget is spent, at least a message, and waits until everything has ended.
func (w *worker) stream(t *tally, b budget) error {
	window := w.end.plan.window(w.run)
	for next := 0; ; next++ {
		if next == len(w.pairs) {
			if _, err := w.takeOrIdle(); err != nil {
				return err
			}
			next = 0
		}
		if err := w.fillWindow(w.pairs[next], window, t, &b); err != nil {
			return err
		}
		if b.over() {
			return w.finishStream(t)
		}
	}
}

// postFirst posts a message that is reported.
func (w *worker) postFirst(p *pair, t *tally) error {
	if w.signals.abort.Load() {
		return errAborted
	}
	if err := w.post(p, 0); err != nil {
		return err
	}
	t.all++
	return p.queue.Flush()
}

// fillWindow posts whole lists until the window of p is full.
func (w *worker) fillWindow(p *pair, window int, t *tally, b *budget) error {
	list := min(w.end.plan.List, window)
	for w.end.plan.Depth-p.queue.Room()+list <= window && b.left != 0 {
		n := list
		if b.left > 0 {
			n = int(min(b.left, int64(n)))
		}
		for range n {
			if err := w.postStream(p, window); err != nil {
				return err
			}
		}
		if err := p.queue.Flush(); err != nil {
			return err
		}
		w.count(t, b, n)
	}
	return nil
}

// postStream posts a message. One in so many is reported, and makes room.
func (w *worker) postStream(p *pair, window int) error {
	flags := verbs.Quiet
	if p.quiet++; p.quiet >= min(w.end.plan.QuietEvery, window) {
		flags, p.quiet = 0, 0
	}
	return w.post(p, flags)
}

func (w *worker) count(t *tally, b *budget, n int) {
	t.messages += int64(n)
	t.all += int64(n)
	b.left -= int64(n)
}

// finishStream waits for what is outstanding. If the last messages were Quiet, another one is needed that is not.
func (w *worker) finishStream(t *tally) error {
	for _, p := range w.pairs {
		if p.quiet == 0 {
			continue
		}
		if err := w.makeRoom(p); err != nil {
			return err
		}
		p.quiet = 0
		if err := w.post(p, 0); err != nil {
			return err
		}
		t.messages++
		t.all++
	}
	return w.drain()
}
