package main

import (
	"time"

	"github.com/weft-fabric/weft/verbs"
)

// job is what a connected side does.
type job func(s *side) (outcome, error)

// nearJobs are the jobs of the side that asks, and is timed.
var nearJobs = map[string]job{
	"write one by one":  nearOneByOne,
	"write in lists":    nearStream,
	"ping by write":     nearPingWrite,
	"ping by immediate": nearPingImmediate,
	"allocations":       nearAllocations,
}

// timed runs work for the messages that warm up, and then for those that count.
func (s *side) timed(work func(n int) error) (outcome, error) {
	if err := work(s.order.Warm); err != nil {
		return outcome{}, err
	}
	start := time.Now()
	err := work(s.order.Count)
	return outcome{Took: time.Since(start)}, err
}

// nearOneByOne posts a write and polls until it has ended, and then the next.
func nearOneByOne(s *side) (outcome, error) {
	from, to := s.wide()
	found, err := s.timed(func(n int) error { return writeOneByOne(s.end, from, to, n) })
	return found, s.goodbye(err)
}

// nearStream keeps the queue pair full with writes, handed over in lists, of which every so many reports its end.
func nearStream(s *side) (outcome, error) {
	from, to := s.wide()
	found, err := s.timed(func(n int) error { return s.stream(from, to, n) })
	return found, s.goodbye(err)
}

func (s *side) stream(from verbs.Span, to verbs.RemoteSpan, n int) error {
	o, q := &s.order, s.pairs[0]
	open := 0       // ends that are still to be reported
	left := o.Quiet // until the next that reports its end; a division would cost a tenth of a small write
	for posted := 0; posted < n; {
		for q.Room() < o.List {
			got, err := s.collect(o.Spin)
			if err != nil {
				return err
			}
			open -= len(got)
		}
		for range min(o.List, n-posted) {
			posted++
			left--
			flags := verbs.Quiet
			if left == 0 || posted == n {
				flags = 0
				open++
				left = o.Quiet
			}
			if err := q.Write(1, from, to, flags); err != nil {
				return err
			}
		}
		if err := q.Flush(); err != nil {
			return err
		}
	}
	return s.ends(open, o.Spin)
}

// nearPingWrite writes a number and looks at its own memory until the number comes back. Nobody is told anything: both
// sides look at memory.
func nearPingWrite(s *side) (outcome, error) {
	turn := uint64(0)
	return s.timed(func(n int) error {
		for range n {
			turn++
			if err := s.writeWord(turn); err != nil {
				return err
			}
			s.awaitWord(turn)
		}
		return nil
	})
}

// writeWord puts a number into the other side's memory. It reports no end, so now and then the queue is polled.
func (s *side) writeWord(value uint64) error {
	q := s.pairs[0]
	if q.Room() == 0 {
		if _, err := s.collect(never); err != nil {
			return err
		}
	}
	s.memory.Store64(outgoing, value)
	if err := q.Write(1, s.memory.Span(outgoing, 8), s.peer.Sub(incoming, 8), verbs.Quiet); err != nil {
		return err
	}
	return q.Flush()
}

// awaitWord looks at memory until the other side has put the number there.
func (s *side) awaitWord(value uint64) {
	for s.memory.Load64(incoming) != value {
	}
}

// nearPingImmediate writes with a number that the other side is told, and waits to be told one.
func nearPingImmediate(s *side) (outcome, error) {
	if err := s.postReceives(); err != nil {
		return outcome{}, err
	}
	return s.timed(func(n int) error {
		for range n {
			if err := s.tell(0); err != nil {
				return err
			}
			if _, err := s.hear(); err != nil {
				return err
			}
		}
		return nil
	})
}
