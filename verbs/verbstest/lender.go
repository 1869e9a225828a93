package verbstest

import (
	"fmt"

	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/verbs"
)

// This file is two workers that lend and borrow as fast as they can: nobody waits for a Bind or a Revoke.

// Where things lie in the memory of either. The message is the remote span, and the number of the round.
const (
	loanMessage = 32
	loanWord    = 64
	loanMemory  = 128
)

// Lender lends a word in each round, and sends the remote span behind the Bind. When the answer of the Borrower comes, the
// number of the round must be in the word; then it is taken back, and lent again behind that. Result: ID.
type Lender struct {
	Pair   int
	Memory int // of loanMemory bytes
	Rounds uint64
}

// Borrower writes the number of each round to the word that was lent for it, at once, and answers. Result: ID.
type Borrower struct {
	Pair   int
	Memory int // of loanMemory bytes
}

// partner is what both have.
type partner struct {
	port   loop.Port
	pair   *verbs.QueuePair
	memory *verbs.Memory
	state  streamStatus
}

func (p *partner) join(a *agent, machine loop.Machine, pair, memory int) (err error) {
	if p.pair, err = a.pairs.get(pair); err != nil {
		return err
	}
	if p.memory, err = a.memories.get(memory); err != nil {
		return err
	}
	p.port, err = a.loop.Add(machine)
	return err
}

// note keeps the first failure. It reports whether everything has gone well.
func (p *partner) note(what string, err error) bool {
	if err != nil && p.state.Complaint == "" {
		p.state.Complaint = fmt.Sprintf("%s: %v", what, err)
	}
	return err == nil
}

// arrived reports whether a completion is a message.
func (p *partner) arrived(c *verbs.Completion) bool {
	if c.Status != verbs.OK && p.state.Failure == verbs.OK {
		p.state.Failure = c.Status
	}
	return c.Status == verbs.OK && c.Op == verbs.OpReceive
}

func (p *partner) refill() {}

func (p *partner) over() bool { return p.state.Failure != verbs.OK || p.state.Complaint != "" }

type lender struct {
	partner
	Lender
	window *verbs.Window
	due    bool // a round begins when there is room
}

func (c Lender) carryOut(a *agent) (Result, error) {
	s := &lender{Lender: c, due: true}
	if err := s.join(a, s, c.Pair, c.Memory); err != nil {
		return Result{}, err
	}
	var err error
	if s.window, err = s.pair.NewWindow(); err != nil {
		return Result{}, err
	}
	id := a.streams.put(s)
	s.refill()
	return Result{ID: id}, nil
}

// refill begins the round that is due: take back, lend, tell.
func (s *lender) refill() {
	if !s.due || s.over() || s.state.Rounds == s.Rounds || s.pair.Room() < 3 {
		return
	}
	s.due = false
	tag := s.port.Tag(s.state.Rounds)
	if s.state.Rounds > 0 && !s.note("revoke", s.window.Revoke(tag, verbs.Quiet)) {
		return
	}
	remote, err := s.window.Bind(tag, s.memory.Span(loanWord, 8), verbs.RemoteWrite, verbs.Quiet)
	if !s.note("bind", err) || !s.note("receive", s.pair.Receive(tag, verbs.Span{})) {
		return
	}
	for i, word := range [...]uint64{remote.Address, remote.Length, remote.Key, s.state.Rounds + 1} {
		s.memory.Store64(8*i, word)
	}
	s.note("send", s.pair.Send(tag, s.memory.Span(0, loanMessage), 0))
}

// Step looks at the word when the answer comes.
func (s *lender) Step(c *verbs.Completion) {
	if !s.arrived(c) {
		return
	}
	s.state.Rounds++
	if got := s.memory.Load64(loanWord); got != s.state.Rounds {
		s.note("round", fmt.Errorf("%d was answered, and %d is in the word that was lent", s.state.Rounds, got))
	}
	s.due = true
	s.refill()
}

func (s *lender) status() streamStatus {
	state := s.state
	state.Ended = s.over() || state.Rounds == s.Rounds
	return state
}

func (s *lender) stop() { s.Rounds = s.state.Rounds + 1 }

type borrower struct{ partner }

func (c Borrower) carryOut(a *agent) (Result, error) {
	s := &borrower{}
	if err := s.join(a, s, c.Pair, c.Memory); err != nil {
		return Result{}, err
	}
	s.receive()
	return Result{ID: a.streams.put(s)}, nil
}

func (s *borrower) receive() {
	s.note("receive", s.pair.Receive(s.port.Tag(0), s.memory.Span(0, loanMessage)))
}

// Step uses what was lent in the very step in which it hears of it.
func (s *borrower) Step(c *verbs.Completion) {
	if !s.arrived(c) {
		return
	}
	word := func(i int) uint64 { return s.memory.Load64(8 * i) }
	remote := verbs.RemoteSpan{Address: word(0), Length: word(1), Key: word(2)}
	s.memory.Store64(loanWord, word(3))
	s.receive()
	s.state.Rounds++
	tag := s.port.Tag(s.state.Rounds)
	if s.note("write", s.pair.Write(tag, s.memory.Span(loanWord, 8), remote, verbs.Quiet)) {
		s.note("answer", s.pair.Send(tag, verbs.Span{}, verbs.Quiet))
	}
}

func (s *borrower) status() streamStatus {
	state := s.state
	state.Ended = s.over()
	return state
}

func (s *borrower) stop() {}
