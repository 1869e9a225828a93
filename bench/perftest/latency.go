package perftest

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs"
)

// tally is what a worker of the client has measured in a run.
type tally struct {
	messages  int64 // without those of the warm-up
	all       int64 // with them
	start     clock.Time
	end       clock.Time
	histogram *hdrhistogram.Histogram // of a Latency run
	batch     int
}

// budget is how long a worker goes on.
type budget struct {
	left  int64 // messages; below zero: no limit
	until clock.Time
	stop  *signals
}

func (b *budget) spent(now clock.Time) bool {
	return b.left == 0 || now >= b.until || b.stop.stop.Load()
}

// over is spent, now. Some clocks are slow to read, so it is read only if it counts.
func (b *budget) over() bool {
	if b.until == clock.Never {
		return b.spent(0)
	}
	return b.spent(clock.Real.Now())
}

// warmUp is the budget before measuring: one message at least is sent.
func (w *worker) warmUp() budget {
	return budget{-1, clock.Real.Now().Add(w.end.plan.WarmUp), w.signals}
}

func (w *worker) budget() budget {
	if n := w.end.plan.Iterations; n > 0 {
		return budget{n, clock.Never, w.signals}
	}
	return budget{-1, clock.Real.Now().Add(w.end.plan.Duration), w.signals}
}

// measureLatency makes one message after the other, with the pairs in turn.
func (w *worker) measureLatency(t *tally) error {
	message := w.messageOf()
	t.batch = 1
	if err := w.messages(message, t, 1); err != nil {
		return err
	}
	if err := w.sample(message, t, w.warmUp()); err != nil {
		return err
	}
	t.batch = w.batch(t.histogram)
	t.histogram.Reset()
	t.messages = 0
	return w.sample(message, t, w.budget())
}

// sample takes samples of a batch each.
func (w *worker) sample(message func(*pair) error, t *tally, b budget) error {
	t.start = clock.Real.Now()
	before := t.start
	for !b.spent(before) {
		n := t.batch
		if b.left > 0 {
			n = int(min(b.left, int64(n)))
		}
		if err := w.messages(message, t, n); err != nil {
			return err
		}
		now := clock.Real.Now()
		took := int64(now.Sub(before)) * int64(t.batch) / int64(n)
		// It fails only for a value that is too large, which this is not.
		_ = t.histogram.RecordValue(min(max(1, took), longestSample))
		t.messages += int64(n)
		b.left -= int64(n)
		before = now
	}
	t.end = before
	return nil
}

func (w *worker) messages(message func(*pair) error, t *tally, n int) error {
	for range n {
		if err := message(w.pairs[t.all%int64(len(w.pairs))]); err != nil {
			return err
		}
		t.all++
	}
	return nil
}

// batch is how many messages a sample has: one, unless reading the clock would count.
func (w *worker) batch(warm *hdrhistogram.Histogram) int {
	const enough, most = int64(time.Microsecond), 64
	if w.end.plan.Batch > 0 {
		return w.end.plan.Batch
	}
	each := warm.ValueAtQuantile(50)
	if each == 0 {
		return 1 // there was no warm-up
	}
	batch := min(most, (enough+each-1)/each)
	if n := w.end.plan.Iterations; n > 0 {
		batch = min(batch, n)
	}
	return int(batch)
}

// messageOf returns what a message of the run is, from its start to its end.
func (w *worker) messageOf() func(*pair) error {
	switch {
	case w.run.Operation == Write:
		return w.pingMemory
	case w.run.Operation.twoSided():
		return w.ping
	}
	return w.roundTrip
}

// pingMemory writes, and polls memory for the answer.
func (w *worker) pingMemory(p *pair) error {
	if err := w.writeMark(p); err != nil {
		return err
	}
	for !p.sees(p.rounds) {
		if err := w.watch(); err != nil {
			return err
		}
	}
	w.looks = 0
	return nil
}

// writeMark writes the next message of a ping-pong. Its completion is of no interest: the answer says more.
func (w *worker) writeMark(p *pair) error {
	if err := w.makeRoom(p); err != nil {
		return err
	}
	p.mark()
	if err := w.post(p, verbs.Quiet); err != nil {
		return err
	}
	return p.queue.Flush()
}

// ping sends, and waits for the answer.
func (w *worker) ping(p *pair) error {
	if err := w.sendQuiet(p); err != nil {
		return err
	}
	for p.received < p.posted {
		if _, err := w.takeOrIdle(); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) sendQuiet(p *pair) error {
	if err := w.makeRoom(p); err != nil {
		return err
	}
	if err := w.post(p, verbs.Quiet); err != nil {
		return err
	}
	return p.queue.Flush()
}

// roundTrip posts, and waits for the completion.
func (w *worker) roundTrip(p *pair) error {
	if err := w.post(p, 0); err != nil {
		return err
	}
	for {
		n, err := w.takeOrIdle()
		if n > 0 || err != nil {
			return err
		}
	}
}
