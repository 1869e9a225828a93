package main

import (
	"errors"
	"runtime"

	"github.com/weft-fabric/weft/verbs"
)

// farJobs are the jobs of the side that is asked.
var farJobs = map[string]job{
	"be there":            farBeThere,
	"be written to":       farBeWrittenTo,
	"answer by write":     farAnswerWrite,
	"answer by immediate": farAnswerImmediate,
}

// What a number in a message of an endless job says.
const (
	immMark    = 1 // what follows is measured
	immGoodbye = 2 // the job is done
)

// farBeThere sleeps until it is told goodbye, and keeps receives posted for whoever needs one. It counts allocations
// from the mark on, for each message that it was told of.
func farBeThere(s *side) (outcome, error) {
	if err := s.postReceives(); err != nil {
		return outcome{}, err
	}
	heard, before := 0, mallocs()
	for {
		imm, err := s.hear()
		if err != nil {
			return outcome{}, err
		}
		switch heard++; imm {
		case immMark:
			heard, before = 0, mallocs()
		case immGoodbye:
			return outcome{Allocations: float64(mallocs()-before) / float64(heard)}, nil
		}
	}
}

// farBeWrittenTo is there too, and looks afterwards whether everything has arrived.
func farBeWrittenTo(s *side) (outcome, error) {
	found, err := farBeThere(s)
	if err != nil {
		return found, err
	}
	return found, check(s.memory.Bytes()[data:])
}

func farAnswerWrite(s *side) (outcome, error) {
	for turn := range uint64(s.order.Warm + s.order.Count) {
		s.awaitWord(turn + 1)
		if err := s.writeWord(turn + 1); err != nil {
			return outcome{}, err
		}
	}
	return outcome{}, nil
}

func farAnswerImmediate(s *side) (outcome, error) {
	if err := s.postReceives(); err != nil {
		return outcome{}, err
	}
	for range s.order.Warm + s.order.Count {
		if _, err := s.hear(); err != nil {
			return outcome{}, err
		}
		if err := s.tell(0); err != nil {
			return outcome{}, err
		}
	}
	return outcome{}, nil
}

// postReceives fills the receive queue.
func (s *side) postReceives() error {
	for s.pairs[0].ReceiveRoom() > 0 {
		if err := s.pairs[0].Receive(2, s.memory.Span(received, 4096)); err != nil {
			return err
		}
	}
	return s.pairs[0].Flush()
}

// tell writes eight bytes with a number that the other side is told.
func (s *side) tell(imm uint32) error {
	q := s.pairs[0]
	for q.Room() == 0 {
		if _, err := s.collect(s.order.Spin); err != nil {
			return err
		}
	}
	if err := q.WriteImm(1, s.memory.Span(outgoing, 8), s.peer.Sub(incoming, 8), imm, verbs.Quiet); err != nil {
		return err
	}
	return q.Flush()
}

// hear waits for the next message, and posts a receive for another one.
func (s *side) hear() (imm uint32, err error) {
	for {
		got, err := s.collect(s.order.Spin)
		if err != nil {
			return 0, err
		}
		if len(got) == 1 {
			return got[0].Imm, s.pairs[0].Receive(2, s.memory.Span(received, 4096))
		}
	}
}

// goodbye tells the other side that the job is done, unless it failed.
func (s *side) goodbye(failed error) error {
	if failed != nil {
		return failed
	}
	return errors.Join(s.tell(immGoodbye), s.pairs[0].Flush())
}

// mallocs counts the objects that this process has ever allocated.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
