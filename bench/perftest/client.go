package perftest

import (
	"context"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/internal/units"
)

// Client measures what a plan says.
type Client struct {
	Side
	Plan   Plan
	Cut    func(plan Plan, most units.Size) // is told if a device takes no longer messages, and what is left; nil: nobody is
	Begin  func(index int, run Run)         // is told when a run begins; nil: nobody is
	Report func(Result)                     // is given each result when it is there; required
}

// Run carries the plan out with a server. When ctx is done it ends the present run early, reports it as partial, and
// returns ctx's error.
func (c *Client) Run(ctx context.Context) error {
	if err := c.Plan.Validate(); err != nil {
		return err
	}
	sig := &signals{}
	late, end := watchContext(ctx, sig, farewellTime)
	defer end()
	theirs, err := talk{c.Exchange}.round(late, "plan", c.limits(&c.Plan))
	if err != nil {
		return both(ctx.Err(), err)
	}
	c.cut(theirs)
	e, err := c.join(late, &c.Plan, sig)
	if err != nil {
		return both(ctx.Err(), err)
	}
	err = c.runs(late, e, sig)
	if err == nil {
		err = ctx.Err()
	}
	return both(err, e.close())
}

// cut leaves out what a device does not take.
func (c *Client) cut(theirs note) {
	before := len(c.Plan.Sizes)
	most := c.Plan.cut(c.limits(nil), theirs)
	if len(c.Plan.Sizes) < before && c.Cut != nil {
		c.Cut(c.Plan, most)
	}
}

func (c *Client) runs(ctx context.Context, e *end, sig *signals) error {
	runs := c.Plan.Runs()
	for i, run := range runs {
		if c.Begin != nil {
			c.Begin(i, run)
		}
		result, last, err := c.run(ctx, e, sig, i, run)
		if err != nil {
			return fmt.Errorf("%v: %w", run, err)
		}
		if result.Messages > 0 {
			c.Report(result)
		}
		if last {
			return nil
		}
	}
	return nil
}

// run carries out one run. Last says that it was the last, because the plan is done or was interrupted.
func (c *Client) run(ctx context.Context, e *end, sig *signals, index int, run Run) (r Result, last bool, err error) {
	for _, w := range e.workers {
		w.prepare(run, c.Plan.Wait, c.Served, sig)
	}
	err = prepareClient(e, index, run, sig)
	if _, told := (talk{c.Exchange}).round(ctx, "ready", note{Failed: text(err)}); err != nil || told != nil {
		return r, true, why(err, told)
	}
	tallies := newTallies(len(e.workers), run)
	before := processTime()
	err = c.each(e, sig, func(i int, w *worker) error { return w.measure(&tallies[i]) })
	used := processTime() - before
	if err == nil && run.Operation == Read && run.Measure == Bandwidth {
		err = compareAll(e, index, run, sig, (*pair).out)
	}
	last = sig.stop.Load() || index == len(c.Plan.Runs())-1
	theirs, failed := talk{c.Exchange}.round(ctx, "done", note{Failed: text(err), Last: last})
	if err != nil || failed != nil {
		return r, true, why(err, failed)
	}
	r, err = c.result(run, tallies, used, theirs)
	r.Partial = sig.stop.Load()
	return r, last, err
}

// measure is what a worker of the client does in a run.
func (w *worker) measure(t *tally) error {
	measure := w.measureLatency
	if w.run.Measure == Bandwidth {
		measure = w.measureBandwidth
	}
	if err := measure(t); err != nil {
		return err
	}
	return w.farewell()
}

func newTallies(n int, run Run) []tally {
	tallies := make([]tally, n)
	for i := range tallies {
		if run.Measure == Latency {
			tallies[i].histogram = NewHistogram()
		}
	}
	return tallies
}

// result joins what the threads have measured and what the server has found.
func (c *Client) result(run Run, tallies []tally, used time.Duration, theirs note) (Result, error) {
	r := Result{Run: run}
	var all int64
	start, end := clock.Never, clock.Time(0)
	for i := range tallies {
		r.Messages += tallies[i].messages
		all += tallies[i].all
		start, end = min(start, tallies[i].start), max(end, tallies[i].end)
	}
	r.Seconds = end.Sub(start).Seconds()
	if r.CPU = (CPU{Client: float64(used) / float64(all), Server: float64(theirs.CPU) / float64(all)}); c.Together {
		r.CPU = CPU{Both: r.CPU.Client}
	}
	if run.Measure == Latency {
		h, batch := merge(tallies)
		r.Latency = NewSpread(h, run, batch)
		return r, nil
	}
	r.Rate = rate(run, r.Messages, r.Seconds)
	r.Verified = true
	return r, verify(run, all, theirs)
}

// merge joins the histograms of several threads. Their batches may differ, so samples are brought to the largest.
func merge(tallies []tally) (*hdrhistogram.Histogram, int) {
	batch := 1
	for i := range tallies {
		batch = max(batch, tallies[i].batch)
	}
	if len(tallies) == 1 {
		return tallies[0].histogram, batch
	}
	all := NewHistogram()
	for i := range tallies {
		t := &tallies[i]
		for _, bar := range t.histogram.Distribution() {
			if bar.Count > 0 {
				value := (bar.From + bar.To) / 2 * int64(batch) / int64(max(1, t.batch))
				_ = all.RecordValues(min(value, longestSample), bar.Count) // it fails only for what is too large
			}
		}
	}
	return all, batch
}
