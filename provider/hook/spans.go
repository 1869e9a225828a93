package hook

import (
	"time"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/verbs/driver"
)

// Span is one request from its post to its completion. A moment that the trace does not show (the record was
// overwritten, a Quiet request ended well, a request is still under way) is clock.Never.
type Span struct {
	Tag       driver.Tag
	Queue     uint32
	Bytes     uint32
	Op        driver.Op
	Status    driver.Status // only where Done
	Called    clock.Time
	Returned  clock.Time
	Completed clock.Time
}

// Done reports whether the completion was seen.
func (s *Span) Done() bool { return s.Completed != clock.Never }

// Whole reports whether all three moments are known.
func (s *Span) Whole() bool { return s.Done() && s.Called != clock.Never && s.Returned != clock.Never }

// Posting returns how long the call took that posted it. The requests of one list share it. The span must be whole.
func (s *Span) Posting() time.Duration { return s.Returned.Sub(s.Called) }

// Latency returns the time from the call to the completion. The span must be whole.
func (s *Span) Latency() time.Duration { return s.Completed.Sub(s.Called) }

// Spans pairs the records, in the order in which the requests were first seen.
func (t *Tracer) Spans() []Span {
	records := t.Records()
	p := pairing{open: map[spanKey][]int{}, spans: make([]Span, 0, len(records)/3+1)}
	for i := range records {
		p.add(&records[i])
	}
	return p.spans
}

// spanKey is what the records of one request have in common. Requests of one key, if there are several at a time,
// complete in the order they were posted.
type spanKey struct {
	queue   uint32
	tag     driver.Tag
	receive bool
	quiet   bool // a Quiet request may leave no completion, so it must not stand in the way of others
}

// pairing is the state of one pass over the records.
type pairing struct {
	spans []Span
	open  map[spanKey][]int // spans that lack a later stage, oldest first
}

// add puts a record where it belongs.
func (p *pairing) add(r *Record) {
	key := spanKey{r.Queue, r.Tag, r.Op.IsReceive(), r.Flags.Has(driver.Quiet)}
	switch r.Stage {
	case Called:
		p.begin(key, r).Called = r.At
	case Returned:
		p.returned(key, r).Returned = r.At
	case Completed:
		s := p.completed(key, r)
		s.Completed, s.Op, s.Status = r.At, r.Op, r.Status
		if r.Status == driver.OK { // otherwise the completion has no length
			s.Bytes = r.Bytes
		}
	}
}

// begin opens a span of which no moment is known yet.
func (p *pairing) begin(key spanKey, r *Record) *Span {
	never := clock.Never
	p.spans = append(p.spans, Span{r.Tag, r.Queue, r.Bytes, r.Op, r.Status, never, never, never})
	p.open[key] = append(p.open[key], len(p.spans)-1)
	return &p.spans[len(p.spans)-1]
}

// returned finds the youngest span: the call that returns is the last that was made.
func (p *pairing) returned(key spanKey, r *Record) *Span {
	if open := p.open[key]; len(open) > 0 {
		return &p.spans[open[len(open)-1]]
	}
	return p.begin(key, r)
}

// completed finds the oldest span and closes it. What is not found under its own key was a Quiet request that failed,
// or a shared receive, whose queue pair was not known when it was posted.
func (p *pairing) completed(key spanKey, r *Record) *Span {
	quiet, shared := key, key
	quiet.quiet, shared.queue = true, 0
	for _, k := range [...]spanKey{key, quiet, shared} {
		if k == quiet && r.Status == driver.OK {
			continue
		}
		if open := p.open[k]; len(open) > 0 {
			p.open[k] = open[1:]
			s := &p.spans[open[0]]
			s.Queue = r.Queue
			return s
		}
	}
	s := p.begin(key, r)
	open := p.open[key]
	p.open[key] = open[:len(open)-1]
	return s
}
