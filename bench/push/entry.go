package push

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft/bench/contest"
	"github.com/weft-fabric/weft/bench/delivery"
)

// entry is somebody who takes part in rounds.
type entry struct {
	delivery.Contestant
	told    *delivery.Pushed // where a push leaves what it has told; nil: it is none
	rounds  int              // that it takes part in; 0: all
	samples []delivery.Sample
	pushed  []delivery.Pushed // one of each sample, of a push
	failed  error             // why it takes part no longer
}

func pushEntry(p delivery.Push) *entry {
	told := &delivery.Pushed{}
	return &entry{Contestant: p.Contestant(told), told: told}
}

// deliver takes one sample. Others may fail once: it is not they who are tested.
func (b *bench) deliver(f *delivery.Field, load delivery.Load, e *entry, when string) {
	s, err := f.Deliver(b.ctx, e.Contestant, load)
	if err != nil && e.told == nil && b.ctx.Err() == nil {
		b.record.Note("%s: %s is tried again, because of: %v", when, e.Name, err)
		s, err = f.Deliver(b.ctx, e.Contestant, load)
	}
	switch {
	case b.ctx.Err() != nil:
		e.failed = context.Cause(b.ctx)
	case err != nil:
		e.failed = err
		b.say("%s: %v", when, err)
	default:
		e.samples = append(e.samples, s)
		if e.told != nil {
			e.pushed = append(e.pushed, *e.told)
			b.tellTroubles(e, when)
		}
		b.say("%s: %s, %.3f s, with start-up %.2f s, CPU %.2f of %.2f s", when, e.Name, s.Seconds, s.Whole, s.CPU, s.AllCPU)
	}
}

// tellTroubles says what happened on the way of a push.
func (b *bench) tellTroubles(e *entry, when string) {
	r := e.told.Report
	for _, h := range r.Hosts {
		if h.Demoted || h.Text != "" {
			b.say("%s: %s: %s was served last: %v; %s", when, e.Name, h.Host, h.Demoted, h.Text)
		}
	}
	if r.Repairs > 0 {
		b.say("%s: %s: %d repairs; held up by %s", when, e.Name, r.Repairs, r.Bottleneck)
	}
}

// measure is one number of an entry's round.
type measure func(e *entry, round int) float64

func seconds(e *entry, round int) float64 { return e.samples[round].Seconds }
func whole(e *entry, round int) float64   { return e.samples[round].Whole }

// again is how long the second push took, when there was nothing to do.
func again(e *entry, round int) float64 { return e.pushed[round].Again.Elapsed.Seconds() }

// withoutHost is when all hosts but one were done.
func withoutHost(address string) measure {
	return func(e *entry, round int) float64 { return e.pushed[round].Last(address).Seconds() }
}

// duel is a row: two entries, or one by two measures.
type duel struct {
	what, peer string
	bound      float64 // at most; 0: none
	by, than   measure // than nil: by
}

// row compares the samples of the same rounds.
func (d duel) row(ours, theirs *entry) contest.Result {
	c := contest.Contest{What: d.what, Peer: d.peer, Unit: "s", Bound: d.bound, AtMost: d.bound > 0}
	if d.than == nil {
		d.than = d.by
	}
	var pairs []contest.Pair
	for i := range min(len(ours.samples), len(theirs.samples)) {
		pairs = append(pairs, contest.Pair{Peer: d.than(theirs, i), Ours: d.by(ours, i)})
	}
	return judged(c, pairs, ours, theirs)
}

// judged is the row of pairs, or of why there are none.
func judged(c contest.Contest, pairs []contest.Pair, entries ...*entry) contest.Result {
	row := contest.Result{What: c.What, Peer: c.Peer, Unit: "×", Bound: c.Bound, AtMost: c.AtMost}
	if len(pairs) > 0 {
		row = c.Judge(pairs)
	}
	for _, e := range entries {
		for _, s := range e.samples {
			row.Others = max(row.Others, s.Others)
		}
		if e.failed != nil {
			row.Failed = fmt.Sprintf("%s: %v", e.Name, e.failed)
		}
	}
	if len(pairs) == 0 && row.Failed == "" {
		row.Failed = "there are no samples"
	}
	return row
}
