package pingpong

import (
	"errors"
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft/clock"
	"github.com/weft-fabric/weft/loop"
	"github.com/weft-fabric/weft/verbs"
)

// player is one side of the game: a machine on a loop.
//
//	       Connect        begin          the last message has come,
//	apart ────────▶ ready ─────▶ playing ─────────────────────────▶ over
//	                                     the last Send has ended
//
// Whatever fails leads to over, with the reason.
type player struct {
	Game
	port   loop.Port
	pair   *verbs.QueuePair
	memory *verbs.Memory // room for an outgoing message, then for an incoming one
	state  state
	pause  func() // ends the loop's run, when the state has become ready or over
	err    error  // why it is over too early

	received, posted, ended int // messages
	before                  clock.Time
	started                 clock.Time
	trips                   *hdrhistogram.Histogram // round trips, in nanoseconds
}

type state uint8

const (
	apart state = iota
	ready
	playing
	over
)

// Tags.
const (
	tagConnect = iota
	tagSend
	tagReceive
	tagSilence // and above: how many messages had come when the timer was set
)

// receives is how many are posted: one message is under way at a time.
const receives = 16

// Step implements loop.Machine.
func (p *player) Step(c *verbs.Completion) {
	switch {
	case p.state == over:
	case c.Op == verbs.OpTimer:
		p.stepSilence(int(c.Tag) - tagSilence)
	case c.Status != verbs.OK:
		p.becomeOver(p.explain(c))
	case c.Tag == tagConnect:
		p.becomeReady()
	case c.Tag == tagSend:
		p.ended++
		p.lookForEnd()
	case c.Tag == tagReceive:
		p.stepReceived(c)
	}
}

func (p *player) becomeReady() {
	p.state = ready
	p.pause()
}

// becomePlaying begins the game. The client has the first move.
func (p *player) becomePlaying() {
	p.state = playing
	p.started = p.port.Loop().Now()
	p.before = p.started
	p.watchSilence()
	if p.Client {
		p.send()
	}
}

func (p *player) becomeOver(err error) {
	p.state, p.err = over, err
	p.pause()
}

// stepReceived counts a message, and answers it. The server's first one may come before it plays: its client is fast.
func (p *player) stepReceived(c *verbs.Completion) {
	switch {
	case c.Op != verbs.OpReceive:
		p.becomeOver(fmt.Errorf("a message came as %v: ibv_rc_pingpong sends none with a number", c.Op))
		return
	case int(c.Bytes) != p.Size:
		p.becomeOver(fmt.Errorf("a message of %d bytes came, not of %d: give both sides the same size", c.Bytes, p.Size))
		return
	}
	p.received++
	p.sample()
	p.receive()
	if p.posted < p.Rounds {
		p.send()
	}
	p.lookForEnd()
}

// sample records a round trip.
func (p *player) sample() {
	now := p.port.Loop().Now()
	if p.Client || p.received > 1 {
		// It fails only for a value that is too large, which this is not.
		_ = p.trips.RecordValue(min(max(1, int64(now.Sub(p.before))), p.trips.HighestTrackableValue()))
	}
	p.before = now
}

func (p *player) lookForEnd() {
	if p.received >= p.Rounds && p.ended >= p.Rounds {
		p.becomeOver(nil)
	}
}

func (p *player) send() {
	p.posted++
	p.must(p.pair.Send(p.port.Tag(tagSend), p.memory.Span(0, p.Size), 0))
}

func (p *player) receive() {
	p.must(p.pair.Receive(p.port.Tag(tagReceive), p.memory.Span(p.Size, p.Size)))
}

func (p *player) must(err error) {
	if err != nil && p.state != over {
		p.becomeOver(err)
	}
}

// watchSilence sets a timer that remembers how many messages have come.
func (p *player) watchSilence() { p.port.After(p.Silence, tagSilence+uint64(p.received)) }

// stepSilence ends the game if no message has come since the timer was set: who waits for one has nothing that could fail.
func (p *player) stepSilence(before int) {
	if p.received > before {
		p.watchSilence()
		return
	}
	p.becomeOver(p.silent())
}

func (p *player) silent() error {
	if p.received == 0 {
		return fmt.Errorf("no message has come for %v: does the peer's GID lead here, and is UDP port 4791 open?", p.Silence)
	}
	return fmt.Errorf("no message has come for %v, after %d of %d: give both sides the same number of iterations", p.Silence, p.received, p.Rounds)
}

// explain makes an error of a completion, with what is often the cause.
func (p *player) explain(c *verbs.Completion) error {
	err := verbs.CompletionError(c)
	gone := errors.Is(err, verbs.ErrPeerGone) || errors.Is(err, verbs.ErrFlushed)
	switch {
	case gone && p.received == 0:
		return fmt.Errorf("%w: does its GID belong to a port that is reached from here, and is UDP port 4791 open?", err)
	case gone:
		return fmt.Errorf("%w, after %d of %d messages: it has ended, or was given fewer iterations", err, p.received, p.Rounds)
	case c.Status == verbs.LocalLength, c.Status == verbs.RemoteInvalid:
		return fmt.Errorf("%w: give both sides the same size", err)
	}
	return err
}
